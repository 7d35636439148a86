//! Modules: PTX text.

use std::ffi::{c_uint, c_void};
use std::fs;

use cudarc::driver::sys::{CUdeviceptr, CUfunction, CUmodule, CUresult};

use super::functions;
use super::pointers::{Image, In, Out, Text};
use crate::code::{Code, Function};
use crate::machine::in_context;
use crate::status::{Answer, say};

/// Of `CUjit_option`: where a message goes, and how long it may be.
const ERROR_LOG_BUFFER: c_uint = 5;
const ERROR_LOG_BUFFER_BYTES: c_uint = 6;

/// Loads PTX; the error has what is wrong with it.
fn load(text: &str) -> Result<CUmodule, (CUresult, String)> {
    let mut machine = in_context().map_err(|status| (status, String::new()))?;
    let module = ptx_emu::Module::load(text, &mut machine.memory);
    let module = module.map_err(|error| (CUresult::CUDA_ERROR_INVALID_PTX, error.to_string()))?;
    Ok(machine.modules.insert(Code { module, functions: Default::default() }))
}

/// The same for calls that can say no more than a status.
fn load_or_say(text: &str, module: Out<CUmodule>) -> Answer {
    let loaded = load(text).map_err(|(status, reason)| {
        say(&reason);
        status
    });
    module.put(loaded?)
}

/// The same with options of the compiler, which say where a message goes; so many of them.
pub(super) fn load_logged(
    module: Out<CUmodule>,
    image: Image,
    count: usize,
    options: In<c_uint>,
    values: In<*mut c_void>,
) -> Answer {
    let (status, reason) = match image.text().map_err(|status| (status, String::new())).and_then(|text| load(&text)) {
        Ok(loaded) => return module.put(loaded),
        Err(error) => error,
    };
    let (options, values) = (options.all(count)?, values.all(count)?);
    let value = |option| options.iter().position(|known| *known == option).map(|index| values[index]);
    match (value(ERROR_LOG_BUFFER), value(ERROR_LOG_BUFFER_BYTES)) {
        (Some(buffer), Some(bytes)) if bytes.addr() > 0 => {
            Out::at(buffer.expose_provenance()).put_all(reason.bytes().take(bytes.addr() - 1).chain([0]))?;
        }
        _ => say(&reason),
    }
    Err(status)
}

/// The names of a module's kernels.
pub(super) fn names(module: CUmodule) -> Answer<Vec<String>> {
    Ok(in_context()?.modules.get(module)?.module.kernels().map(str::to_owned).collect())
}

pub(super) fn get_function(module: CUmodule, name: &str) -> Answer<CUfunction> {
    let mut guard = in_context()?;
    let machine = &mut *guard;
    let code = machine.modules.get_mut(module)?;
    if let Some(known) = code.functions.get(name) {
        return Ok(std::ptr::without_provenance_mut(*known));
    }
    let kernel = code.module.kernel(name).map_err(|error| match error {
        ptx_emu::Error::NoKernel { .. } => CUresult::CUDA_ERROR_NOT_FOUND,
        error => {
            say(&format!("{name}: {error}"));
            CUresult::CUDA_ERROR_NOT_SUPPORTED
        }
    })?;
    let function: CUfunction = machine.functions.insert(Function::new(module.addr(), kernel)?);
    code.functions.insert(name.to_owned(), function.addr());
    Ok(function)
}

functions! {
    fn cuModuleLoadData(module: Out<CUmodule>, image: Image) {
        load_or_say(&image.text()?, module)
    }
    fn cuModuleLoadDataEx(module: Out<CUmodule>, image: Image, count: c_uint, options: In<c_uint>, values: In<*mut c_void>) {
        load_logged(module, image, count as usize, options, values)
    }
    fn cuModuleLoad(module: Out<CUmodule>, path: Text) {
        let bytes = fs::read(path.get()?).map_err(|_| CUresult::CUDA_ERROR_FILE_NOT_FOUND)?;
        let text = String::from_utf8(bytes).map_err(|_| CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU)?;
        load_or_say(text.trim_end_matches('\0'), module)
    }
    fn cuModuleUnload(module: CUmodule) {
        let mut machine = in_context()?;
        let code = machine.modules.remove(module)?;
        code.module.unload(&mut machine.memory);
        for function in code.functions.into_values() {
            machine.functions.remove(std::ptr::without_provenance_mut::<c_void>(function))?;
        }
        Ok(())
    }
    fn cuModuleGetFunction(function: Out<CUfunction>, module: CUmodule, name: Text) {
        function.put(get_function(module, &name.get()?)?)
    }
    fn cuModuleGetFunctionCount(count: Out<c_uint>, module: CUmodule) {
        count.put(in_context()?.modules.get(module)?.module.kernels().count() as c_uint)
    }
    fn cuModuleGetGlobal_v2(address: Out<CUdeviceptr>, bytes: Out<usize>, module: CUmodule, name: Text) {
        let machine = in_context()?;
        let variable = machine.modules.get(module)?.module.variable(&name.get()?);
        let variable = variable.ok_or(CUresult::CUDA_ERROR_NOT_FOUND)?;
        address.put_if_asked(variable.address);
        bytes.put_if_asked(variable.bytes as usize);
        Ok(())
    }
}
