//! Launches, and what a kernel says of itself.

use std::ffi::{c_char, c_int, c_uint, c_void};

use cudarc::driver::sys::{
    CUfunction, CUfunction_attribute as Attribute, CUlaunchConfig, CUmodule, CUresult, CUstream,
};
use ptx_emu::Launch;

use super::functions;
use super::pointers::{In, Out};
use crate::attribute;
use crate::capture::submit;
use crate::machine::in_context;
use crate::operation::Operation;
use crate::status::{Answer, unsupported};

/// Of `CUlaunchAttributeID`: what has no meaning for one launch after the other, and what has.
const IGNORED: [u32; 6] = [0, 1, 2, 3, 6, 8];
const CLUSTER_DIMENSION: u32 = 4;

/// Bytes of `CUlaunchAttribute`, and of what stands before its value.
const ATTRIBUTE_BYTES: usize = 72;
const BEFORE_VALUE: usize = 8;

/// Of the array `extra`: `CU_LAUNCH_PARAM_BUFFER_POINTER` and `CU_LAUNCH_PARAM_BUFFER_SIZE`.
const BUFFER_POINTER: usize = 1;
const BUFFER_SIZE: usize = 2;

/// The arguments in a buffer, where `extra` says so.
fn buffer(extra: In<*mut c_void>) -> Answer<Vec<u8>> {
    let words: Vec<usize> = extra.all(5)?.into_iter().map(<*mut c_void>::expose_provenance).collect();
    let mut buffer: Option<In<u8>> = None;
    let mut bytes = 0;
    for pair in words.chunks_exact(2) {
        match pair[0] {
            BUFFER_POINTER => buffer = Some(In::at(pair[1])),
            BUFFER_SIZE => bytes = In::<usize>::at(pair[1]).get()?,
            _ => break,
        }
    }
    buffer.ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)?.all(bytes)
}

/// A launch, with the arguments as they are now.
pub(super) fn prepare(
    function: CUfunction,
    sizes: Launch,
    parameters: In<*mut c_void>,
    extra: In<*mut c_void>,
) -> Answer<Operation> {
    let mut machine = in_context()?;
    let function = machine.function(function)?.clone();
    // Where there are parameters to be read, `extra` is null.
    let arguments = if extra.is_null() {
        // SAFETY: the program says that there is a pointer to each argument.
        unsafe { function.arguments(parameters.raw()) }?
    } else {
        function.arguments_of(&buffer(extra)?)?
    };
    function.launch(&machine, Launch { arguments, ..sizes }).map(Operation::Launch)
}

fn launch(
    function: CUfunction,
    sizes: Launch,
    stream: CUstream,
    parameters: In<*mut c_void>,
    extra: In<*mut c_void>,
) -> Answer {
    submit(stream, prepare(function, sizes, parameters, extra)?)
}

/// The cluster of a launch's attributes.
fn cluster(config: &CUlaunchConfig) -> Answer<[u32; 3]> {
    let mut cluster = [1; 3];
    for index in 0..config.numAttrs as usize {
        // What a program writes there may be newer than the enumeration: it is read as a number.
        let at = config.attrs.expose_provenance() + index * ATTRIBUTE_BYTES;
        match In::<u32>::at(at).get()? {
            CLUSTER_DIMENSION => cluster = In::<[u32; 3]>::at(at + BEFORE_VALUE).get()?,
            id if IGNORED.contains(&id) => {}
            id => return Err(unsupported(&format!("the launch attribute {id}"))),
        }
    }
    Ok(cluster)
}

functions! {
    fn cuLaunchKernel(
        function: CUfunction, x: c_uint, y: c_uint, z: c_uint, block_x: c_uint, block_y: c_uint, block_z: c_uint,
        shared_bytes: c_uint, stream: CUstream, parameters: In<*mut c_void>, extra: In<*mut c_void>,
    ) {
        let sizes = Launch::new([x, y, z], [block_x, block_y, block_z]);
        launch(function, Launch { dynamic_shared_bytes: shared_bytes, ..sizes }, stream, parameters, extra)
    }
    fn cuLaunchCooperativeKernel(
        function: CUfunction, x: c_uint, y: c_uint, z: c_uint, block_x: c_uint, block_y: c_uint, block_z: c_uint,
        shared_bytes: c_uint, stream: CUstream, parameters: In<*mut c_void>,
    ) {
        let sizes = Launch::new([x, y, z], [block_x, block_y, block_z]);
        launch(function, Launch { dynamic_shared_bytes: shared_bytes, ..sizes }, stream, parameters, In::at(0))
    }
    fn cuLaunchKernelEx(config: In<CUlaunchConfig>, function: CUfunction, parameters: In<*mut c_void>, extra: In<*mut c_void>) {
        let config = config.get()?;
        let grid = [config.gridDimX, config.gridDimY, config.gridDimZ];
        let sizes = Launch::new(grid, [config.blockDimX, config.blockDimY, config.blockDimZ]);
        let sizes = Launch { dynamic_shared_bytes: config.sharedMemBytes, cluster: cluster(&config)?, ..sizes };
        launch(function, sizes, config.hStream, parameters, extra)
    }
    fn cuLaunchHostFunc(stream: CUstream, function: Option<unsafe extern "C" fn(*mut c_void)>, argument: *mut c_void) {
        let function = function.ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)?;
        submit(stream, Operation::Call { function, argument: argument.expose_provenance() })
    }
    fn cuFuncGetAttribute(value: Out<c_int>, attribute: c_int, function: CUfunction) {
        let mut machine = in_context()?;
        let device = machine.device;
        let found = attribute::of_kernel(device, machine.function(function)?, attribute);
        value.put(found.ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)?)
    }
    fn cuFuncSetAttribute(function: CUfunction, attribute: c_int, value: c_int) {
        let mut machine = in_context()?;
        let device = machine.device;
        let function = machine.function(function)?;
        let number = u32::try_from(value).map_err(|_| CUresult::CUDA_ERROR_INVALID_VALUE);
        if attribute == Attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES as c_int {
            let all = number?.saturating_add(function.kernel.shared_bytes());
            if all > attribute::shared_bytes_on_request(device) {
                return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
            }
            function.most_dynamic_shared_bytes = number?;
        } else if attribute == Attribute::CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED as c_int {
            function.may_have_large_clusters = value != 0;
        } else if attribute != Attribute::CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT as c_int {
            return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        Ok(())
    }
    fn cuFuncSetCacheConfig(function: CUfunction, _config: c_uint) {
        in_context()?.function(function).map(drop)
    }
    fn cuFuncSetSharedMemConfig(function: CUfunction, _config: c_uint) {
        in_context()?.function(function).map(drop)
    }
    fn cuFuncGetModule(module: Out<CUmodule>, function: CUfunction) {
        let handle = in_context()?.function(function)?.module;
        module.put(std::ptr::without_provenance_mut(handle))
    }
    fn cuFuncGetName(name: Out<*const c_char>, function: CUfunction) {
        let mut machine = in_context()?;
        name.put(machine.function(function)?.name.as_ptr())
    }
    fn cuFuncGetParamInfo(function: CUfunction, index: usize, offset: Out<usize>, bytes: Out<usize>) {
        let mut machine = in_context()?;
        let parameters = machine.function(function)?.kernel.params();
        let parameter = parameters.get(index).ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)?;
        bytes.put_if_asked(parameter.bytes as usize);
        offset.put(parameter.offset as usize)
    }
}
