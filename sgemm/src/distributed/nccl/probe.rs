//! Whether a collective takes copy engines, or a kernel after all: NCCL says nothing where it falls back.
//!
//! A collective that is captured in a CUDA graph leaves there what it would have queued: copies and stream memory operations where copy
//! engines do it (`ncclCeAllGather` in NCCL's `ce_coll.cc`), a kernel otherwise. NCCL chooses between the two without regard to the capture
//! (`taskAppend` in `enqueue.cc`). The graph is never launched. This neither depends on the wording of a log nor on a profiler.

use std::ptr;
use std::sync::Arc;

use cudarc::driver::CudaContext;
use cudarc::driver::sys::{self, CUgraph, CUgraphNodeType, CUstreamCaptureMode};

use super::comm::{Comm, Message};
use super::communicator::{Communicator, bind};
use super::library::COPY_ENGINES;
use super::memory::Memory;
use super::stream::{Stream, is_complete};
use super::sys::UINT8;
use crate::Error;
use crate::cuda::{checked, failed};
use crate::distributed::grid::{Axis, Grid};
use crate::distributed::patience::Patience;

const WHAT: &str = "AllGather that shows whether copy engines are used";

impl Communicator {
    /// Whether an AllGather of so many bytes a rank along an axis of a grid takes copy engines, between symmetric windows. All ranks call it
    /// with the same; it gathers once. Where the axis has one rank, nothing is gathered, and it does not.
    ///
    /// # Errors
    /// [`Error::Ranks`]; [`Error::Driver`] where the device has no room; [`Error::Collective`] where another rank does not come.
    pub fn uses_copy_engines(&self, grid: Grid, axis: Axis, bytes: u64) -> Result<bool, Error> {
        if grid.ranks() != self.ranks() {
            return Err(Error::Ranks { ranks: grid.ranks(), given: self.ranks() });
        }
        if grid.along(axis) < 2 || bytes == 0 {
            return Ok(false);
        }
        let context = self.handle().context();
        let comm = self.along(grid, axis)?;
        let windows = [bytes, bytes.saturating_mul(grid.along(axis) as u64)].map(|bytes| {
            let mut memory = Memory::shared(context, self.library(), bytes)?;
            memory.register(&comm, self.patience())?;
            Ok::<_, Error>(memory)
        });
        let [send, receive] = windows;
        let (mut send, mut receive) = (send?, receive?);
        let count = usize::try_from(bytes).unwrap_or(usize::MAX);
        let message = Message { send: send.address(), receive: receive.address(), count, element: UINT8 };
        let stream = Stream::new(context, true)?;
        bind(context)?;
        // SAFETY: as many bytes were allocated, of this rank and of all; they are left to the process where something may still use them.
        let found = unsafe { uses_copy_engines(&comm, &stream, context, message, self.patience()) };
        found.inspect_err(|_| self.give_up([&mut send, &mut receive]))
    }
}

/// Whether that AllGather takes copy engines. All ranks of the communicator call it.
///
/// # Safety
/// As of [`Comm::all_gather`]; where it succeeds, the stream has come past this. The context is current, and nobody else uses the
/// stream.
pub unsafe fn uses_copy_engines(
    comm: &Comm,
    stream: &Stream,
    context: &Arc<CudaContext>,
    message: Message,
    patience: Patience,
) -> Result<bool, Error> {
    if comm.library().version < COPY_ENGINES {
        return Ok(false);
    }
    // The first one sets up what the others use, by calls that a capture does not allow.
    // SAFETY: upheld by the caller.
    unsafe { comm.all_gather(message, stream.raw(), || WHAT.into(), patience) }?;
    let event = context.new_event(None).map_err(|error| failed("create an event".into(), error))?;
    stream.record(&event)?;
    while !is_complete(&event)? {
        comm.check(|| WHAT.into())?;
        if !patience.pause() {
            return Err(patience.over(comm.rank(), WHAT.into()));
        }
    }
    // SAFETY: upheld by the caller.
    let graph = unsafe { captured(comm, stream, message, patience) }?;
    let kinds = graph.kinds()?;
    let is = |kind: CUgraphNodeType| kinds.contains(&(kind as u32));
    use CUgraphNodeType::{CU_GRAPH_NODE_TYPE_GRAPH, CU_GRAPH_NODE_TYPE_KERNEL, CU_GRAPH_NODE_TYPE_MEMCPY};
    Ok(is(CU_GRAPH_NODE_TYPE_MEMCPY) && !is(CU_GRAPH_NODE_TYPE_KERNEL) && !is(CU_GRAPH_NODE_TYPE_GRAPH))
}

/// The AllGather as a graph.
///
/// # Safety
/// As of [`uses_copy_engines`].
unsafe fn captured(comm: &Comm, stream: &Stream, message: Message, patience: Patience) -> Result<Graph, Error> {
    let what = || "capture an AllGather".to_owned();
    let mut graph = Graph(ptr::null_mut());
    // NCCL queues from a thread of its own, and may call what other modes forbid.
    let mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
    // SAFETY: the stream is alive, used by nobody else, and no default one, so that it may be captured. Capturing ends in any case. The
    // rest is upheld by the caller.
    unsafe {
        checked(sys::cuStreamBeginCapture_v2(stream.raw(), mode), what)?;
        let queued = comm.all_gather(message, stream.raw(), || WHAT.into(), patience);
        let ended = checked(sys::cuStreamEndCapture(stream.raw(), &raw mut graph.0), what);
        queued.and(ended)?;
    }
    Ok(graph)
}

/// A graph that ends with this value.
struct Graph(CUgraph);

impl Graph {
    /// The kinds of its nodes, as numbers: drivers have more of them than bindings know.
    fn kinds(&self) -> Result<Vec<u32>, Error> {
        let what = || "look at a captured AllGather".to_owned();
        let mut count = 0;
        // SAFETY: the graph is alive, and `count` a place to write to. Without a place for nodes, it is their number.
        checked(unsafe { sys::cuGraphGetNodes(self.0, ptr::null_mut(), &raw mut count) }, what)?;
        let mut nodes = vec![ptr::null_mut(); count];
        // SAFETY: as above, with a place for `count` nodes.
        checked(unsafe { sys::cuGraphGetNodes(self.0, nodes.as_mut_ptr(), &raw mut count) }, what)?;
        nodes.truncate(count);
        let kind = |node| {
            let mut kind = 0_u32;
            // SAFETY: the node is one of the graph; an enumeration of C is an int, which `kind` is as long as.
            checked(unsafe { sys::cuGraphNodeGetType(node, (&raw mut kind).cast()) }, what)?;
            Ok(kind)
        };
        nodes.into_iter().map(kind).collect()
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        if !self.0.is_null() {
            // SAFETY: made by `captured`, and used no more.
            let _ = unsafe { sys::cuGraphDestroy(self.0) };
        }
    }
}
