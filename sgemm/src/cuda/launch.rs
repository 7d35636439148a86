//! Launching kernels: the only place where one is.

use std::ffi::c_void;
use std::ptr;

use cudarc::driver::sys::{
    self, CUfunction, CUlaunchAttribute, CUlaunchAttributeID, CUlaunchAttributeValue, CUlaunchConfig, CUstream,
    CUtensorMap,
};

use super::driver::checked;
use super::module::Function;
use super::tensor_map::encode;
use crate::Error;
use crate::plan::{Argument, LaunchShape};

/// The most arguments of a launch: their addresses lie on the stack.
const MAX_ARGUMENTS: usize = 32;

/// An argument as a kernel takes it.
#[derive(Debug, Clone, Copy)]
pub(super) enum Parameter {
    /// CUDA's machines are little-endian: where a value has 8 bytes, its first 4 are those of a 32-bit one.
    Word(u64),
    TensorMap(CUtensorMap),
}

impl Parameter {
    pub(super) fn new(argument: Argument) -> Result<Self, Error> {
        Ok(match argument {
            Argument::U32(value) => Self::Word(value.into()),
            Argument::F32(value) => Self::Word(value.to_bits().into()),
            Argument::U64(value) | Argument::Address(value) => Self::Word(value),
            Argument::TensorMap(map) => Self::TensorMap(encode(&map)?),
        })
    }

    fn address(&self) -> *mut c_void {
        match self {
            Self::Word(value) => ptr::from_ref(value).cast_mut().cast(),
            Self::TensorMap(map) => ptr::from_ref(map).cast_mut().cast(),
        }
    }
}

/// Queues a kernel in the stream. `what` completes the sentence "cannot ..." of an error.
///
/// # Errors
/// [`Error::Driver`] where the driver refuses the launch or a tensor map, or there are more than 32 arguments.
///
/// # Safety
/// The function's context is current and the stream is one of it, or null. The kernel has just these parameters, and keeps within
/// the memory that they point to; that memory and the function's module live until the kernel has ended.
pub unsafe fn launch(
    function: Function<'_>,
    shape: &LaunchShape,
    arguments: impl IntoIterator<Item = Argument>,
    stream: CUstream,
    what: impl FnOnce() -> String,
) -> Result<(), Error> {
    let parameters = arguments.into_iter().map(Parameter::new).collect::<Result<Vec<_>, _>>()?;
    // SAFETY: upheld by the caller; the module is borrowed.
    unsafe { launch_raw(function.raw(), shape, &parameters, stream, what) }
}

/// As [`launch`], of a function whose module the caller keeps. It allocates nothing.
///
/// # Safety
/// As of [`launch`], and the function's module is loaded.
pub(super) unsafe fn launch_raw(
    function: CUfunction,
    shape: &LaunchShape,
    parameters: &[Parameter],
    stream: CUstream,
    what: impl FnOnce() -> String,
) -> Result<(), Error> {
    let mut addresses = [ptr::null_mut(); MAX_ARGUMENTS];
    let Some(places) = addresses.get_mut(..parameters.len()) else {
        return Err(Error::Driver { what: what(), code: format!("more than {MAX_ARGUMENTS} arguments") });
    };
    for (place, parameter) in places.iter_mut().zip(parameters) {
        *place = parameter.address();
    }
    let LaunchShape { grid, block, cluster, dynamic_smem_bytes } = *shape;
    let mut value = CUlaunchAttributeValue { pad: [0; 64] };
    let [x, y, z] = cluster;
    value.clusterDim = sys::CUlaunchAttributeValue_union__bindgen_ty_1 { x, y, z };
    let id = CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    let mut attribute = CUlaunchAttribute { id, pad: [0; 4], value };
    let config = CUlaunchConfig {
        gridDimX: grid[0],
        gridDimY: grid[1],
        gridDimZ: grid[2],
        blockDimX: block[0],
        blockDimY: block[1],
        blockDimZ: block[2],
        sharedMemBytes: dynamic_smem_bytes,
        hStream: stream,
        attrs: &raw mut attribute,
        // Devices without clusters do not know the attribute.
        numAttrs: (cluster != [1; 3]).into(),
    };
    // SAFETY: the function belongs to a module that is loaded, the stream is alive, and `parameters` are those of the function, all
    // upheld by the caller. The driver reads what the addresses point to, and has copied it when it returns.
    let status = unsafe { sys::cuLaunchKernelEx(&raw const config, function, addresses.as_mut_ptr(), ptr::null_mut()) };
    checked(status, what)
}
