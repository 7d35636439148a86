//! Copies between the host's page-locked memory and a device's.

use cudarc::driver::sys::{self, CUDA_MEMCPY2D, CUdeviceptr, CUmemorytype, CUstream};

use crate::Error;
use crate::cuda::checked;
use crate::streamed::task::are_contiguous;

/// Lines on their way between host and device.
#[derive(Debug, Clone, Copy)]
pub(super) struct HostDevice {
    pub host: *mut u8,
    pub host_pitch: u64,
    pub device: CUdeviceptr,
    pub device_pitch: u64,
    pub bytes: u64,
    pub lines: u64,
}

/// Which way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    ToDevice,
    ToHost,
}

/// Bytes between lines that a copy in two dimensions takes: every device's `CU_DEVICE_ATTRIBUTE_MAX_PITCH`.
const MAX_PITCH: u64 = (1 << 31) - 1;

impl HostDevice {
    /// Queues the copy.
    ///
    /// # Errors
    /// [`Error::Driver`] where the driver refuses.
    ///
    /// # Safety
    /// The stream's context is current. All lines can be read, and written where they go, until the stream has come past this; those of
    /// the host are page-locked.
    pub unsafe fn queue(self, way: Way, stream: CUstream) -> Result<(), Error> {
        let pitch = self.host_pitch.max(self.device_pitch);
        // SAFETY: upheld by the caller: these are the same lines.
        unsafe {
            if are_contiguous(self.lines, self.bytes, [self.host_pitch, self.device_pitch]) {
                self.queue_line(way, 0, self.bytes * self.lines, stream)
            } else if pitch <= MAX_PITCH {
                self.queue_plane(way, stream)
            } else {
                (0..self.lines).try_for_each(|line| self.queue_line(way, line, self.bytes, stream))
            }
        }
    }

    /// Queues so many contiguous bytes from a line on.
    ///
    /// # Safety
    /// As of [`Self::queue`].
    unsafe fn queue_line(self, way: Way, line: u64, bytes: u64, stream: CUstream) -> Result<(), Error> {
        let host = self.host.wrapping_add((line * self.host_pitch) as usize);
        let device = self.device + line * self.device_pitch;
        // SAFETY: upheld by the caller.
        let status = unsafe {
            match way {
                Way::ToDevice => sys::cuMemcpyHtoDAsync_v2(device, host.cast(), bytes as usize, stream),
                Way::ToHost => sys::cuMemcpyDtoHAsync_v2(host.cast(), device, bytes as usize, stream),
            }
        };
        checked(status, || "copy a panel".into())
    }

    /// Queues all lines at once.
    ///
    /// # Safety
    /// As of [`Self::queue`].
    unsafe fn queue_plane(self, way: Way, stream: CUstream) -> Result<(), Error> {
        let (host, device) = (CUmemorytype::CU_MEMORYTYPE_HOST, CUmemorytype::CU_MEMORYTYPE_DEVICE);
        let is_up = way == Way::ToDevice;
        let [host_pitch, device_pitch] = [self.host_pitch, self.device_pitch].map(|pitch| pitch as usize);
        // What is not used of the two sides is ignored.
        let copy = CUDA_MEMCPY2D {
            srcXInBytes: 0,
            srcY: 0,
            srcMemoryType: if is_up { host } else { device },
            srcHost: self.host.cast(),
            srcDevice: self.device,
            srcArray: std::ptr::null_mut(),
            srcPitch: if is_up { host_pitch } else { device_pitch },
            dstXInBytes: 0,
            dstY: 0,
            dstMemoryType: if is_up { device } else { host },
            dstHost: self.host.cast(),
            dstDevice: self.device,
            dstArray: std::ptr::null_mut(),
            dstPitch: if is_up { device_pitch } else { host_pitch },
            WidthInBytes: self.bytes as usize,
            Height: self.lines as usize,
        };
        // SAFETY: upheld by the caller; the description is read before the call returns.
        checked(unsafe { sys::cuMemcpy2DAsync_v2(&raw const copy, stream) }, || "copy a panel".into())
    }
}
