//! `cust`'s handles as the bindings of `sgemm` and cuBLAS have them: both name the driver's own types.

use cust::memory::{DeviceBuffer, DeviceCopy};
use cust::stream::Stream;
use sgemm::cuda::{CUdeviceptr, CUstream};

/// The stream's handle, good as long as the stream.
pub(super) fn stream(stream: &Stream) -> CUstream {
    stream.as_inner().cast()
}

/// Where a buffer begins.
pub(super) fn address<T: DeviceCopy>(buffer: &DeviceBuffer<T>) -> CUdeviceptr {
    buffer.as_device_ptr().as_raw()
}
