//! Page-locked buffers, through which pageable memory goes to a device and back.

use std::ffi::c_void;
use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaEvent, CudaStream, result, sys};

use super::copy::{HostDevice, Way};
use super::host::Host;
use super::pool::{Latch, Lines, Pool};
use crate::Error;
use crate::cuda::{CUdeviceptr, failed};
use crate::streamed::Transfer;

/// Bytes of a buffer: enough that its copy takes much longer than what is around it.
const BUFFER_BYTES: usize = 16 << 20;

/// Buffers: some are filled while others are copied.
const BUFFERS: usize = 4;

/// A ring of buffers for one direction.
pub(super) struct Staging {
    buffers: Vec<Buffer>,
    /// The buffer that is used next, which is the one that has been used for longest.
    next: usize,
    pool: Arc<Pool>,
    latch: Arc<Latch>,
}

/// Page-locked memory.
struct Buffer {
    start: *mut c_void,
    /// After the last copy between it and the device.
    copied: CudaEvent,
    /// What it holds for the host.
    pending: Option<Transfer>,
    context: Arc<CudaContext>,
}

// SAFETY: the memory is the buffer's alone, and any thread may use it.
unsafe impl Send for Buffer {}

impl Drop for Buffer {
    fn drop(&mut self) {
        if self.context.bind_to_thread().is_ok() {
            // SAFETY: `malloc_host` gave it, and every run waits for its copies before it returns. Nobody hears of a failure here.
            let _ = unsafe { result::free_host(self.start) };
        }
    }
}

impl Staging {
    pub fn new(context: &Arc<CudaContext>, pool: &Arc<Pool>) -> Result<Self, Error> {
        let what = |error| failed("allocate page-locked memory".into(), error);
        let buffer = |_| {
            // Host threads sleep while they wait for it.
            let copied = context.new_event(Some(sys::CUevent_flags::CU_EVENT_BLOCKING_SYNC)).map_err(what)?;
            // SAFETY: nothing is read there that was not written.
            let start = unsafe { result::malloc_host(BUFFER_BYTES, sys::CU_MEMHOSTALLOC_PORTABLE) }.map_err(what)?;
            Ok(Buffer { start, copied, pending: None, context: Arc::clone(context) })
        };
        let buffers = (0..BUFFERS).map(buffer).collect::<Result<_, Error>>()?;
        Ok(Self { buffers, next: 0, pool: Arc::clone(pool), latch: Arc::default() })
    }

    /// Forgets what a run that failed has left.
    pub fn reset(&mut self) {
        self.buffers.iter_mut().for_each(|buffer| buffer.pending = None);
    }

    /// Copies lines to the buffers, as these become free, and queues their copies to the device, whose memory begins at `base`.
    ///
    /// # Safety
    /// The stream's context is current. The lines can be read on the host, and the device's memory be written until the stream has come
    /// past this.
    pub unsafe fn upload(
        &mut self,
        transfer: &Transfer,
        host: &Host,
        base: CUdeviceptr,
        stream: &CudaStream,
    ) -> Result<(), Error> {
        for piece in transfer.pieces(BUFFER_BYTES as u64) {
            let buffer = &mut self.buffers[self.next];
            self.next = (self.next + 1) % BUFFERS;
            buffer.copied.synchronize().map_err(wait)?;
            let lines = lines(&piece, host, buffer).reversed();
            // SAFETY: the lines can be read, upheld by the caller; the buffer is large enough for a piece, and no copy uses it any more.
            unsafe { self.pool.copy(&lines, &self.latch) };
            // SAFETY: as above, and the buffer is not written before the event that is recorded here.
            unsafe { staged(&piece, buffer, base).queue(Way::ToDevice, stream.cu_stream()) }?;
            buffer.copied.record(stream).map_err(wait)?;
        }
        Ok(())
    }

    /// Queues copies of lines from the device to the buffers. Where none is free, what has been in one for longest is copied to the host
    /// first.
    ///
    /// # Safety
    /// As of [`Self::upload`], with reading and writing exchanged; and the lines on the host may be written until [`Self::drain`] says
    /// that there is nothing left.
    pub unsafe fn download(
        &mut self,
        transfer: &Transfer,
        host: &Host,
        base: CUdeviceptr,
        stream: &CudaStream,
    ) -> Result<(), Error> {
        for piece in transfer.pieces(BUFFER_BYTES as u64) {
            // SAFETY: upheld by the caller, then as now.
            unsafe { self.empty(self.next, host) }?;
            let buffer = &mut self.buffers[self.next];
            self.next = (self.next + 1) % BUFFERS;
            // SAFETY: upheld by the caller; the buffer is large enough for a piece, and is not read before the event recorded here.
            unsafe { staged(&piece, buffer, base).queue(Way::ToHost, stream.cu_stream()) }?;
            buffer.copied.record(stream).map_err(wait)?;
            buffer.pending = Some(piece);
        }
        Ok(())
    }

    /// Copies what has been in a buffer for longest to the host, as soon as it is there; says whether there was anything.
    ///
    /// # Safety
    /// As of [`Self::download`], which brought it.
    pub unsafe fn drain(&mut self, host: &Host) -> Result<bool, Error> {
        let mut in_order = (0..BUFFERS).map(|index| (self.next + index) % BUFFERS);
        let Some(oldest) = in_order.find(|index| self.buffers[*index].pending.is_some()) else { return Ok(false) };
        // SAFETY: upheld by the caller.
        unsafe { self.empty(oldest, host) }?;
        Ok(true)
    }

    /// # Safety
    /// As of [`Self::drain`].
    unsafe fn empty(&mut self, index: usize, host: &Host) -> Result<(), Error> {
        let buffer = &mut self.buffers[index];
        let Some(piece) = buffer.pending.take() else { return Ok(()) };
        buffer.copied.synchronize().map_err(wait)?;
        // SAFETY: the copy from the device has ended; the host's lines may be written, upheld by the caller.
        unsafe { self.pool.copy(&lines(&piece, host, buffer), &self.latch) };
        Ok(())
    }
}

/// From a buffer to the host.
fn lines(piece: &Transfer, host: &Host, buffer: &Buffer) -> Lines {
    Lines {
        from: buffer.start.cast(),
        from_pitch: piece.bytes as usize,
        to: host.at(piece.matrix, piece.host),
        to_pitch: piece.host_pitch as usize,
        bytes: piece.bytes as usize,
        lines: piece.lines as usize,
    }
}

/// Between a buffer, in which lines have no gaps, and the device.
fn staged(piece: &Transfer, buffer: &Buffer, base: CUdeviceptr) -> HostDevice {
    HostDevice {
        host: buffer.start.cast(),
        host_pitch: piece.bytes,
        device: base + piece.device,
        device_pitch: piece.device_pitch,
        bytes: piece.bytes,
        lines: piece.lines,
    }
}

fn wait(error: cudarc::driver::DriverError) -> Error {
    failed("copy a panel".into(), error)
}
