//! Captures of streams, and the graphs that they become.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::thread::ThreadId;

use cudarc::driver::sys::{CUresult, CUstream};

use crate::handles::fresh;
use crate::machine::{Machine, in_context, machine};
use crate::operation::Operation;
use crate::status::Answer;

/// What a capture permits beside it: `CUstreamCaptureMode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// No thread calls anything unsafe.
    Global,
    /// This one does not.
    ThreadLocal,
    /// Anything.
    Relaxed,
}

impl Mode {
    pub fn of(number: u32) -> Answer<Self> {
        match number {
            0 => Ok(Self::Global),
            1 => Ok(Self::ThreadLocal),
            2 => Ok(Self::Relaxed),
            _ => Err(CUresult::CUDA_ERROR_INVALID_VALUE),
        }
    }
}

/// A capture under way.
#[derive(Debug)]
pub struct Capture {
    origin: usize,
    mode: Mode,
    thread: ThreadId,
    nodes: Vec<Node>,
    pub is_valid: bool,
}

impl Capture {
    /// Whether calls that may wait are not permitted in this thread.
    pub fn forbids(&self, thread: ThreadId) -> bool {
        match self.mode {
            Mode::Global => true,
            Mode::ThreadLocal => thread == self.thread,
            Mode::Relaxed => false,
        }
    }
}

/// An operation of a graph, by a number of its own.
#[derive(Debug, Clone)]
pub struct Node {
    pub number: usize,
    pub operation: Arc<Operation>,
}

/// A graph.
#[derive(Debug, Clone, Default)]
pub struct Graph {
    /// In the order in which they were added.
    pub nodes: Vec<Node>,
    /// Dependencies: the number of a node, and that of one which comes after it.
    pub edges: Vec<(usize, usize)>,
}

impl Graph {
    /// Whether a node of that number is in it.
    pub fn has(&self, number: usize) -> bool {
        self.nodes.iter().any(|node| node.number == number)
    }

    /// The graph with its nodes in an order that their dependencies allow, as much as possible the one in which they were added; nothing
    /// where these go around in a circle.
    pub fn ordered(&self) -> Option<Self> {
        let mut before: HashMap<usize, usize> = HashMap::new();
        let mut after: HashMap<usize, Vec<usize>> = HashMap::new();
        for (from, to) in &self.edges {
            *before.entry(*to).or_default() += 1;
            after.entry(*from).or_default().push(*to);
        }
        let places: HashMap<usize, usize> = self.nodes.iter().map(|node| node.number).zip(0..).collect();
        let is_first = |node: &&Node| !before.contains_key(&node.number);
        let mut ready: BTreeSet<usize> = self.nodes.iter().filter(is_first).map(|node| places[&node.number]).collect();
        let mut nodes = Vec::new();
        while let Some(place) = ready.pop_first() {
            let node = &self.nodes[place];
            for next in after.remove(&node.number).unwrap_or_default() {
                let left = before.entry(next).or_default();
                *left -= 1;
                if *left == 0 {
                    ready.insert(places[&next]);
                }
            }
            nodes.push(node.clone());
        }
        (nodes.len() == self.nodes.len()).then(|| Self { nodes, edges: self.edges.clone() })
    }
}

/// Begins a capture.
pub fn begin(stream: CUstream, mode: Mode) -> Answer {
    let mut guard = machine();
    let machine = &mut *guard;
    if stream.is_null() {
        return Err(CUresult::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    }
    if machine.stream(stream)?.capture.is_some() {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    let thread = std::thread::current().id();
    let capture = Capture { origin: stream.addr(), mode, thread, nodes: Vec::new(), is_valid: true };
    let handle: *mut Capture = machine.captures.insert(capture);
    machine.stream(stream)?.capture = Some(handle.addr());
    Ok(())
}

/// Ends it, in the stream that it began in: the graph.
pub fn end(stream: CUstream) -> Answer<Graph> {
    let mut guard = machine();
    let machine = &mut *guard;
    let number = machine.stream(stream)?.capture.ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)?;
    let handle = handle(number);
    if machine.captures.get(handle)?.origin != stream.addr() {
        return Err(CUresult::CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
    }
    let capture = machine.captures.remove(handle)?;
    machine
        .streams
        .values_mut()
        .filter(|stream| stream.capture == Some(number))
        .for_each(|stream| stream.capture = None);
    if capture.is_valid {
        let edges = capture.nodes.windows(2).map(|pair| (pair[0].number, pair[1].number)).collect();
        Ok(Graph { nodes: capture.nodes, edges })
    } else {
        Err(CUresult::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED)
    }
}

/// What a stream is given to do: recorded where it is captured, or done.
pub fn submit(stream: CUstream, operation: Operation) -> Answer {
    let mut guard = in_context()?;
    let machine = &mut *guard;
    let Some(number) = machine.stream(stream)?.capture else {
        drop(guard);
        return operation.run();
    };
    let capture = machine.captures.get_mut(handle(number))?;
    if !capture.is_valid {
        return Err(CUresult::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    }
    capture.nodes.push(Node { number: fresh(), operation: Arc::new(operation) });
    Ok(())
}

/// A stream waits for an event: it joins the capture that the event was recorded in.
pub fn wait(machine: &mut Machine, stream: CUstream, recorded_in: Option<usize>) -> Answer {
    let is_live = |number: &usize| machine.captures.get(handle(*number)).is_ok();
    let joined = recorded_in.filter(is_live);
    let stream = machine.stream(stream)?;
    match (stream.capture, joined) {
        (Some(own), Some(other)) if own != other => Err(CUresult::CUDA_ERROR_STREAM_CAPTURE_ISOLATION),
        (Some(_), None) => Err(CUresult::CUDA_ERROR_STREAM_CAPTURE_ISOLATION),
        (None, Some(_)) => {
            stream.capture = joined;
            Ok(())
        }
        _ => Ok(()),
    }
}

/// A capture's handle from its number.
pub fn handle(number: usize) -> *mut Capture {
    std::ptr::without_provenance_mut(number)
}
