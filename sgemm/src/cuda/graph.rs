//! Runs as a CUDA graph.

use std::ptr;

use cudarc::driver::CudaStream;
use cudarc::driver::sys::{self, CUgraphExec, CUstream, CUstream_flags, CUstreamCaptureMode};

use super::arguments::Arguments;
use super::driver::{checked, failed, with_context};
use super::group::Group;
use super::workspace::Workspace;
use crate::{Error, Scalar};

/// A captured run, of one problem or of a group: launches, with the addresses of the buffers that it borrows. It keeps its kernels
/// loaded.
pub struct Graph<'a, I, O = I> {
    executable: CUgraphExec,
    arguments: Vec<Arguments<'a, I, O>>,
    workspace: &'a mut Workspace,
    group: Group,
}

// SAFETY: the executable is a handle of the driver, which any thread may use, one at a time: launching takes `&mut self`.
unsafe impl<I: Scalar, O: Scalar> Send for Graph<'_, I, O> {}

impl<'a, I: Scalar, O: Scalar> Graph<'a, I, O> {
    /// Captures the run of arguments and a workspace that were checked.
    pub(super) fn new(
        group: Group,
        arguments: Vec<Arguments<'a, I, O>>,
        workspace: &'a mut Workspace,
    ) -> Result<Self, Error> {
        let mut graph = Self { executable: ptr::null_mut(), arguments, workspace, group };
        let context = graph.group.handle().context().cu_ctx();
        // SAFETY: the handle keeps the context.
        unsafe { with_context(context, || graph.record()) }??;
        Ok(graph)
    }

    fn record(&mut self) -> Result<(), Error> {
        let what = || "capture a CUDA graph".to_owned();
        let stream = Private::new()?;
        // The addresses; what orders the launches is asked for at each of them.
        let own = self.group.handle().context().default_stream();
        let (location, _) = self.workspace.bind(&own);
        let runs = self.group.gemms().iter().zip(&mut self.arguments);
        let bindings = runs.map(|(gemm, arguments)| {
            let operands = arguments.addresses(&own);
            operands.with_parts(&location.parts(gemm.plan(), operands.are_prepared))
        });
        let bindings: Vec<_> = bindings.collect();
        let mut graph = ptr::null_mut();
        // SAFETY: the stream is this function's own, and is not the default one, so that it may be captured. Capturing ends in any
        // case, and the graph is destroyed once it is instantiated. What it uses is borrowed or held by `self`.
        unsafe {
            let mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
            checked(sys::cuStreamBeginCapture_v2(stream.0, mode), what)?;
            // A graph may be launched after one that broke off: it clears the flags itself.
            let queued = self.group.run_raw(stream.0, &bindings);
            let ended = checked(sys::cuStreamEndCapture(stream.0, &raw mut graph), what);
            queued.and(ended)?;
            let status = sys::cuGraphInstantiateWithFlags(&raw mut self.executable, graph, 0);
            let destroyed = sys::cuGraphDestroy(graph);
            checked(status, what)?;
            checked(destroyed, what)
        }
    }

    /// Queues the run in the stream, in one piece. It allocates nothing.
    ///
    /// # Errors
    /// [`Error::WrongDevice`] where the stream is of another context, [`Error::Driver`] where the driver refuses.
    pub fn launch(&mut self, stream: &CudaStream) -> Result<(), Error> {
        self.group.handle().check_context("stream", stream.context())?;
        let what = || "launch a CUDA graph".to_owned();
        stream.context().bind_to_thread().map_err(|error| failed(what(), error))?;
        let Self { executable, arguments, workspace, .. } = self;
        let _used_parts = workspace.bind(stream);
        // SAFETY: the executable lives as long as `self`, which borrows the buffers that it uses; the bindings around this order it
        // after what other streams do to them, and other streams after it.
        let queue = || checked(unsafe { sys::cuGraphLaunch(*executable, stream.cu_stream()) }, what);
        if let [only] = arguments.as_mut_slice() {
            let _used = only.bind(stream);
            return queue();
        }
        // A list of all guards would be allocated. Without: the stream waits for the others before, and the others for it after.
        for each in arguments.iter_mut() {
            each.addresses(stream);
        }
        queue()?;
        arguments.iter_mut().for_each(|each| drop(each.bind(stream)));
        Ok(())
    }
}

impl<I, O> Drop for Graph<'_, I, O> {
    fn drop(&mut self) {
        if !self.executable.is_null() {
            // SAFETY: made by `record`, and used no more; where it still runs, the driver keeps it until then.
            let _ = unsafe { sys::cuGraphExecDestroy(self.executable) };
        }
    }
}

/// A stream for capturing, of the current context.
struct Private(CUstream);

impl Private {
    fn new() -> Result<Self, Error> {
        let mut stream = ptr::null_mut();
        let flags = CUstream_flags::CU_STREAM_NON_BLOCKING as u32;
        // SAFETY: `stream` is a place to write a pointer to.
        checked(unsafe { sys::cuStreamCreate(&raw mut stream, flags) }, || "create a stream".into())?;
        Ok(Self(stream))
    }
}

impl Drop for Private {
    fn drop(&mut self) {
        // SAFETY: created by `new`, and used no more.
        let _ = unsafe { sys::cuStreamDestroy_v2(self.0) };
    }
}
