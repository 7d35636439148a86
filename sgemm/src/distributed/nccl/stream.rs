//! Streams of the driver's, beside those of cudarc: a context whose streams cudarc counts would order all its slices by events.

use std::ptr;
use std::sync::Arc;

use cudarc::driver::sys::{self, CUstream, CUstream_flags};
use cudarc::driver::{CudaContext, CudaEvent};

use crate::Error;
use crate::cuda::{checked, failed};

/// A stream that does not wait for the default one.
#[derive(Debug)]
pub struct Stream {
    raw: CUstream,
    context: Arc<CudaContext>,
}

// SAFETY: a handle of the driver, which any thread may use.
unsafe impl Send for Stream {}
// SAFETY: as above.
unsafe impl Sync for Stream {}

impl Stream {
    /// A new one. Where `is_urgent`, its kernels' blocks are placed before those of others.
    pub fn new(context: &Arc<CudaContext>, is_urgent: bool) -> Result<Self, Error> {
        let what = || "create a stream".to_owned();
        context.bind_to_thread().map_err(|error| failed(what(), error))?;
        let (mut least, mut greatest, mut raw) = (0, 0, ptr::null_mut());
        // SAFETY: places to write two ints and a pointer to; the context is current.
        unsafe {
            checked(sys::cuCtxGetStreamPriorityRange(&raw mut least, &raw mut greatest), what)?;
            let priority = if is_urgent { greatest } else { least };
            let flags = CUstream_flags::CU_STREAM_NON_BLOCKING as u32;
            checked(sys::cuStreamCreateWithPriority(&raw mut raw, flags, priority), what)?;
        }
        Ok(Self { raw, context: Arc::clone(context) })
    }

    /// For the driver and for NCCL, as long as this lives.
    pub fn raw(&self) -> CUstream {
        self.raw
    }

    /// The event is complete when the stream has done what is queued so far.
    pub fn record(&self, event: &CudaEvent) -> Result<(), Error> {
        // SAFETY: the stream is alive.
        unsafe { record(event, self.raw) }
    }

    /// What is queued from now on waits for the event.
    pub fn wait(&self, event: &CudaEvent) -> Result<(), Error> {
        // SAFETY: the stream is alive.
        unsafe { wait(self.raw, event) }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if self.context.bind_to_thread().is_ok() {
            // SAFETY: created by `new`, and used no more; what it still has to do is done first.
            let _ = unsafe { sys::cuStreamDestroy_v2(self.raw) };
        }
    }
}

/// [`Stream::record`] on any stream.
///
/// # Safety
/// The stream is alive, of the event's context.
pub unsafe fn record(event: &CudaEvent, stream: CUstream) -> Result<(), Error> {
    // SAFETY: upheld by the caller; the event is alive.
    checked(unsafe { sys::cuEventRecord(event.cu_event(), stream) }, || "record an event".into())
}

/// [`Stream::wait`] on any stream.
///
/// # Safety
/// The stream is alive, of the event's context.
pub unsafe fn wait(stream: CUstream, event: &CudaEvent) -> Result<(), Error> {
    // SAFETY: upheld by the caller; the event is alive.
    checked(unsafe { sys::cuStreamWaitEvent(stream, event.cu_event(), 0) }, || "wait for an event".into())
}

/// Whether what came before the event is done.
///
/// # Errors
/// [`Error::Driver`] where something on the device failed.
pub fn is_complete(event: &CudaEvent) -> Result<bool, Error> {
    use sys::CUresult::{CUDA_ERROR_NOT_READY, CUDA_SUCCESS};
    // SAFETY: the event is alive.
    match unsafe { sys::cuEventQuery(event.cu_event()) } {
        CUDA_SUCCESS => Ok(true),
        CUDA_ERROR_NOT_READY => Ok(false),
        status => checked(status, || "wait for the device".into()).map(|()| false),
    }
}
