//! Several launches as one: recorded once, as a CUDA graph, and handed to the device in one piece after that.

use std::ptr;

use cudarc::driver::sys::{self, CUgraphExec, CUstreamCaptureMode};
use cust::stream::Stream;

use super::failure::Context as _;
use super::raw;
use crate::Error;

/// A graph that can be launched.
pub(super) struct Graph(CUgraphExec);

impl Graph {
    /// Records what `enqueue` queues in the stream; nothing of it runs. What is recorded keeps the addresses of kernels and
    /// memory: it must not be launched once these are gone.
    pub(super) fn record(stream: &Stream, enqueue: impl FnOnce() -> Result<(), Error>) -> Result<Self, Error> {
        let what = || "record a CUDA graph";
        let raw_stream = raw::stream(stream);
        let (mut graph, mut executable) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: the stream is alive, and one that may record, since it is not the default one. Recording ends in any case.
        // The graph is destroyed once, and before that only if there is one.
        unsafe {
            let mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
            sys::cuStreamBeginCapture_v2(raw_stream, mode).result().context(what())?;
            let queued = enqueue();
            let ended = sys::cuStreamEndCapture(raw_stream, &raw mut graph).result().context(what());
            // Why the recording broke off says more than that it did.
            queued.and(ended)?;
            let status = sys::cuGraphInstantiateWithFlags(&raw mut executable, graph, 0);
            let destroyed = sys::cuGraphDestroy(graph);
            status.result().and(destroyed.result()).context(what())?;
        }
        Ok(Self(executable))
    }

    /// Queues all of it in the stream.
    pub(super) fn launch(&self, stream: &Stream) -> Result<(), Error> {
        // SAFETY: the graph is destroyed when this is dropped; what it uses is still there, as `record` asks for.
        let status = unsafe { sys::cuGraphLaunch(self.0, raw::stream(stream)) };
        status.result().context("launch a CUDA graph")
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        // SAFETY: it was made by `record`, and nothing uses it from here on; where it still runs, the driver waits.
        let _ = unsafe { sys::cuGraphExecDestroy(self.0) };
    }
}
