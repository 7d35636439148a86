//! Libraries: modules that no context is named for. Here both are the same, and so are their kernels and functions.

use std::ffi::{c_char, c_int, c_uint, c_void};

use cudarc::driver::sys::{CUdevice, CUdeviceptr, CUfunction, CUkernel, CUlibrary, CUmodule, CUresult};

use super::module::{get_function, load_logged, names};
use super::pointers::{Image, In, Out, Text};
use super::{execution, functions, module};
use crate::machine::in_context;
use crate::status::Answer;

/// What another function of the interface answered.
fn as_answered(status: CUresult) -> Answer {
    if status == CUresult::CUDA_SUCCESS { Ok(()) } else { Err(status) }
}

fn module_of(library: CUlibrary) -> CUmodule {
    library.cast()
}

fn function_of(kernel: CUkernel) -> CUfunction {
    kernel.cast()
}

functions! {
    fn cuLibraryLoadData(
        library: Out<CUlibrary>, image: Image, options: In<c_uint>, values: In<*mut c_void>, count: c_uint,
        _library_options: In<c_uint>, _library_values: In<*mut c_void>, _library_count: c_uint,
    ) {
        load_logged(library.cast(), image, count as usize, options, values)
    }
    fn cuLibraryLoadFromFile(
        library: Out<CUlibrary>, path: Text, _options: In<c_uint>, _values: In<*mut c_void>, _count: c_uint,
        _library_options: In<c_uint>, _library_values: In<*mut c_void>, _library_count: c_uint,
    ) {
        as_answered(module::cuModuleLoad(library.cast(), path))
    }
    fn cuLibraryUnload(library: CUlibrary) {
        as_answered(module::cuModuleUnload(module_of(library)))
    }
    fn cuLibraryGetModule(module: Out<CUmodule>, library: CUlibrary) {
        in_context()?.modules.get(library)?;
        module.put(module_of(library))
    }
    fn cuLibraryGetGlobal(address: Out<CUdeviceptr>, bytes: Out<usize>, library: CUlibrary, name: Text) {
        as_answered(module::cuModuleGetGlobal_v2(address, bytes, module_of(library), name))
    }
    fn cuLibraryGetKernel(kernel: Out<CUkernel>, library: CUlibrary, name: Text) {
        kernel.put(get_function(module_of(library), &name.get()?)?.cast())
    }
    fn cuLibraryGetKernelCount(count: Out<c_uint>, library: CUlibrary) {
        as_answered(module::cuModuleGetFunctionCount(count, module_of(library)))
    }
    fn cuLibraryEnumerateKernels(kernels: Out<CUkernel>, count: c_uint, library: CUlibrary) {
        let names = names(module_of(library))?;
        let all = names.iter().take(count as usize).map(|name| get_function(module_of(library), name));
        kernels.put_all(all.collect::<Answer<Vec<_>>>()?.into_iter().map(<*mut _>::cast))
    }
    fn cuKernelGetFunction(function: Out<CUfunction>, kernel: CUkernel) {
        in_context()?.function(function_of(kernel))?;
        function.put(function_of(kernel))
    }
    fn cuKernelGetLibrary(library: Out<CUlibrary>, kernel: CUkernel) {
        as_answered(execution::cuFuncGetModule(library.cast(), function_of(kernel)))
    }
    fn cuKernelGetName(name: Out<*const c_char>, kernel: CUkernel) {
        as_answered(execution::cuFuncGetName(name, function_of(kernel)))
    }
    fn cuKernelGetParamInfo(kernel: CUkernel, index: usize, offset: Out<usize>, bytes: Out<usize>) {
        as_answered(execution::cuFuncGetParamInfo(function_of(kernel), index, offset, bytes))
    }
    fn cuKernelGetParamCount(kernel: CUkernel, count: Out<usize>) {
        count.put(in_context()?.function(function_of(kernel))?.kernel.params().len())
    }
    fn cuKernelGetAttribute(value: Out<c_int>, attribute: c_int, kernel: CUkernel, device: CUdevice) {
        in_context()?.check_device(device)?;
        as_answered(execution::cuFuncGetAttribute(value, attribute, function_of(kernel)))
    }
    fn cuKernelSetAttribute(attribute: c_int, value: c_int, kernel: CUkernel, device: CUdevice) {
        in_context()?.check_device(device)?;
        as_answered(execution::cuFuncSetAttribute(function_of(kernel), attribute, value))
    }
    fn cuKernelSetCacheConfig(kernel: CUkernel, config: c_uint, device: CUdevice) {
        in_context()?.check_device(device)?;
        as_answered(execution::cuFuncSetCacheConfig(function_of(kernel), config))
    }
}
