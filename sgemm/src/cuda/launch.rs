//! Launching kernels: the only place where one is.

use std::ffi::c_void;
use std::ptr;

use cudarc::driver::sys::{
    self, CUfunction, CUlaunchAttribute, CUlaunchAttributeID, CUlaunchAttributeValue, CUlaunchConfig, CUstream,
};

use super::driver::checked;
use super::module::Function;
use crate::Error;
use crate::plan::{Argument, LaunchShape};

/// The most arguments of a launch: they lie on the stack, since a launch allocates nothing.
const MAX_ARGUMENTS: usize = 32;

/// Queues a kernel in the stream. `what` completes the sentence "cannot ..." of an error.
///
/// # Errors
/// [`Error::Driver`] where the driver refuses the launch, or there are more than 32 arguments.
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
    // SAFETY: upheld by the caller; the module is borrowed.
    unsafe { launch_raw(function.raw(), shape, arguments, stream, what) }
}

/// As [`launch`], of a function whose module the caller keeps.
///
/// # Safety
/// As of [`launch`], and the function's module is loaded.
pub(super) unsafe fn launch_raw(
    function: CUfunction,
    shape: &LaunchShape,
    arguments: impl IntoIterator<Item = Argument>,
    stream: CUstream,
    what: impl FnOnce() -> String,
) -> Result<(), Error> {
    let mut values = [0_u64; MAX_ARGUMENTS];
    let mut places = values.iter_mut();
    for argument in arguments {
        let Some(place) = places.next() else {
            return Err(Error::Driver { what: what(), code: format!("more than {MAX_ARGUMENTS} arguments") });
        };
        // CUDA's machines are little-endian: where a value has 8 bytes, its first 4 are those of a 32-bit one.
        *place = match argument {
            Argument::U32(value) => value.into(),
            Argument::F32(value) => value.to_bits().into(),
            Argument::U64(value) | Argument::Address(value) => value,
        };
    }
    let mut pointers = values.each_mut().map(|value| ptr::from_mut(value).cast::<c_void>());
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
    // SAFETY: the function belongs to a module that is loaded, the stream is alive, and there are at least as many pointers to
    // arguments as the function has parameters, all upheld by the caller; each points to 8 bytes of `values`, and the driver copies
    // what they point to before it returns.
    let status = unsafe { sys::cuLaunchKernelEx(&raw const config, function, pointers.as_mut_ptr(), ptr::null_mut()) };
    checked(status, what)
}
