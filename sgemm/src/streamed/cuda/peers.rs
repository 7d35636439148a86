//! GPUs that read each other's memory.

use cudarc::driver::sys::{self, CUcontext, CUresult};
use cudarc::driver::{CudaContext, CudaEvent, CudaStream};

use super::progress::Progress;
use crate::Error;
use crate::cuda::{CUdeviceptr, Handle, checked};
use crate::streamed::PeerCopy;

/// A GPU in a run, as the others see it.
pub(super) struct Peer<'a> {
    /// Where its memory begins.
    pub base: CUdeviceptr,
    pub context: CUcontext,
    /// Of each task that is waited for.
    pub events: &'a [Option<CudaEvent>],
    /// How far it has queued its tasks, but for downloads.
    pub progress: Progress,
}

// SAFETY: the context is only named in calls of the driver, which any thread may make.
unsafe impl Sync for Peer<'_> {}

impl Peer<'_> {
    /// Queues a copy from this GPU's memory to that of the stream's, which begins at `base`. Without access to each other's memory it goes
    /// through the host.
    ///
    /// # Errors
    /// [`Error::Driver`] where the driver refuses.
    ///
    /// # Safety
    /// The stream's context is current. Until the stream has come past this, the copy's [bytes](PeerCopy::span_bytes) from its source on
    /// are this GPU's memory and are not written, and those from its target on are the other's, which nothing else uses.
    pub unsafe fn queue(&self, copy: &PeerCopy, base: CUdeviceptr, stream: &CudaStream) -> Result<(), Error> {
        let (to, from, bytes) = (base + copy.target, self.base + copy.source, copy.span_bytes() as usize);
        let context = stream.context().cu_ctx();
        // SAFETY: upheld by the caller.
        let status = unsafe {
            if context == self.context {
                sys::cuMemcpyDtoDAsync_v2(to, from, bytes, stream.cu_stream())
            } else {
                sys::cuMemcpyPeerAsync(to, context, from, self.context, bytes, stream.cu_stream())
            }
        };
        checked(status, || "copy a panel from another GPU".into())
    }
}

/// Lets all of these GPUs access each other's memory; says whether they can.
pub(super) fn connect(handles: &[Handle]) -> bool {
    let contexts = || handles.iter().map(Handle::context);
    // All of them, also where one has failed.
    let pairs = contexts().flat_map(|from| contexts().map(move |to| connect_pair(from, to)));
    pairs.collect::<Vec<_>>().into_iter().all(|can| can)
}

fn connect_pair(from: &CudaContext, to: &CudaContext) -> bool {
    if from.cu_ctx() == to.cu_ctx() {
        return true;
    }
    let mut can = 0;
    // SAFETY: `can` is a place for the answer.
    let asked = unsafe { sys::cuDeviceCanAccessPeer(&raw mut can, from.cu_device(), to.cu_device()) };
    if asked != CUresult::CUDA_SUCCESS || can == 0 || from.bind_to_thread().is_err() {
        return false;
    }
    // SAFETY: the context is current, and the other one is held by its handle.
    let status = unsafe { sys::cuCtxEnablePeerAccess(to.cu_ctx(), 0) };
    matches!(status, CUresult::CUDA_SUCCESS | CUresult::CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED)
}
