//! Copies within a device.

use std::ptr;

use cudarc::driver::sys::{self, CUDA_MEMCPY2D, CUDA_MEMCPY3D, CUdeviceptr, CUmemorytype};

use super::stream::Stream;
use crate::Error;
use crate::cuda::checked;
use crate::distributed::schedule::Buffer;
use crate::distributed::transfer::Transfer;
use crate::plan::Address;

/// Queues one call of a copy.
///
/// # Safety
/// What is copied, and where it goes, lies in memory of the device, which lives until the stream has come past this. The context is
/// current.
pub unsafe fn copy(transfer: &Transfer, base: impl Fn(Buffer) -> Address, stream: &Stream) -> Result<(), Error> {
    let [from, to] = [transfer.from, transfer.to].map(|place| place.address(&base));
    // SAFETY: upheld by the caller; the driver has read what describes the copy when it returns.
    let status = unsafe {
        match (transfer.rows, transfer.slices) {
            (1, 1) => sys::cuMemcpyDtoDAsync_v2(to, from, transfer.bytes as usize, stream.raw()),
            (_, 1) => sys::cuMemcpy2DAsync_v2(&rows(transfer, from, to), stream.raw()),
            _ => sys::cuMemcpy3DAsync_v2(&slices(transfer, from, to), stream.raw()),
        }
    };
    checked(status, || "copy on the device".into())
}

fn rows(transfer: &Transfer, from: CUdeviceptr, to: CUdeviceptr) -> CUDA_MEMCPY2D {
    let device = CUmemorytype::CU_MEMORYTYPE_DEVICE;
    CUDA_MEMCPY2D {
        srcXInBytes: 0,
        srcY: 0,
        srcMemoryType: device,
        srcHost: ptr::null(),
        srcDevice: from,
        srcArray: ptr::null_mut(),
        srcPitch: transfer.from_pitch as usize,
        dstXInBytes: 0,
        dstY: 0,
        dstMemoryType: device,
        dstHost: ptr::null_mut(),
        dstDevice: to,
        dstArray: ptr::null_mut(),
        dstPitch: transfer.to_pitch as usize,
        WidthInBytes: transfer.bytes as usize,
        Height: transfer.rows as usize,
    }
}

fn slices(transfer: &Transfer, from: CUdeviceptr, to: CUdeviceptr) -> CUDA_MEMCPY3D {
    let device = CUmemorytype::CU_MEMORYTYPE_DEVICE;
    CUDA_MEMCPY3D {
        srcXInBytes: 0,
        srcY: 0,
        srcZ: 0,
        srcLOD: 0,
        srcMemoryType: device,
        srcHost: ptr::null(),
        srcDevice: from,
        srcArray: ptr::null_mut(),
        reserved0: ptr::null_mut(),
        srcPitch: transfer.from_pitch as usize,
        srcHeight: transfer.from_height as usize,
        dstXInBytes: 0,
        dstY: 0,
        dstZ: 0,
        dstLOD: 0,
        dstMemoryType: device,
        dstHost: ptr::null_mut(),
        dstDevice: to,
        dstArray: ptr::null_mut(),
        reserved1: ptr::null_mut(),
        dstPitch: transfer.to_pitch as usize,
        dstHeight: transfer.to_height as usize,
        WidthInBytes: transfer.bytes as usize,
        Height: transfer.rows as usize,
        Depth: transfer.slices as usize,
    }
}
