//! What a step needs on the device for one problem, made before anything is timed.

use cust::memory::DeviceBuffer;
use cust::stream::Stream;
use gpu_kernels::Step;
use sgemm::cuda::{Loaded, Modules};
use sgemm::emulator::POISON;
use sgemm::plan::{Bindings, Buffer, Plan};

use super::failure::Context as _;
use super::graph::Graph;
use super::operands::{Gemm, check_memory};
use super::raw;
use crate::{Error, Problem};

/// A step on the uploaded operands, with its workspace.
pub(super) struct Prepared {
    problem: Problem,
    // The graph holds addresses of what stands after it.
    graph: Option<Graph>,
    gemm: Loaded,
    bindings: Bindings,
    workspace: Option<DeviceBuffer<u32>>,
}

impl Prepared {
    /// Allocates the workspace, poisons all of it, so that a kernel is found out that reads what it has not written, and has the
    /// library clear its flags. With `graphs`, what the step launches is recorded as one graph. What is prepared must not be
    /// launched once the operands are gone.
    pub(super) fn new(
        step: &'static Step,
        gemm: &Gemm,
        sm_count: u32,
        modules: &Modules,
        graphs: bool,
        stream: &Stream,
    ) -> Result<Self, Error> {
        let problem = gemm.problem;
        let loaded = Loaded::new(modules, Plan::new(step, &problem.gemm.into(), sm_count)?)?;
        let bytes = loaded.plan().workspace_bytes();
        check_memory([bytes])?;
        let what = || format!("allocate the workspace of {}", step.slug);
        let workspace = match bytes.div_ceil(4) as usize {
            0 => None,
            words => {
                // SAFETY: it is written in whole before anything reads it.
                let mut buffer = unsafe { DeviceBuffer::uninitialized(words) }.context(what())?;
                buffer.set_32(POISON).context(what())?;
                Some(buffer)
            }
        };
        let [a, b, c] = gemm.addresses();
        let addresses = loaded.plan().part_bytes().at(workspace.as_ref().map_or(0, raw::address));
        let addresses = addresses.with(Buffer::A, a).with(Buffer::B, b).with(Buffer::C, c);
        let bindings = Bindings::new(addresses, problem.alpha, problem.beta);
        let mut prepared = Self { problem, graph: None, gemm: loaded, bindings, workspace };
        // SAFETY: the stream is of the backend's context, as are the modules. The workspace has what the plan asks for. Nothing
        // else knows of it, and the stream is waited for here.
        unsafe { prepared.gemm.clear_flags(raw::stream(stream), &prepared.bindings) }?;
        stream.synchronize().context(format!("clear the flags of {}", step.slug))?;
        if graphs && !prepared.gemm.plan().launches().is_empty() {
            prepared.graph = Some(Graph::record(stream, || prepared.enqueue_step(stream))?);
        }
        Ok(prepared)
    }

    /// Poisons the workspace again, all but its flags: a launch that follows finds nothing there that one before it computed.
    pub(super) fn poison(&mut self) -> Result<(), Error> {
        let (bytes, what) = (*self.gemm.plan().part_bytes(), || format!("fill the workspace of {}", self.step().slug));
        let starts = bytes.at(0);
        for part in Buffer::PARTS.into_iter().filter(|part| *part != Buffer::Flags && bytes[*part] > 0) {
            let words = (starts[part] / 4) as usize..(starts[part] + bytes[part]).div_ceil(4) as usize;
            if let Some(workspace) = &self.workspace {
                workspace.index(words).set_32(POISON).context(what())?;
            }
        }
        Ok(())
    }

    /// Whether it is for this step and problem.
    pub(super) fn is_for(&self, step: &Step, problem: &Problem) -> bool {
        self.step() == step && self.problem == *problem
    }

    /// What it runs.
    pub(super) fn step(&self) -> &'static Step {
        self.gemm.plan().step()
    }

    /// Queues the whole product in the stream, by the graph if there is one; nothing where m or n is 0.
    pub(super) fn enqueue(&self, stream: &Stream) -> Result<(), Error> {
        match &self.graph {
            // It was recorded for what is prepared here, and goes with it.
            Some(graph) => graph.launch(stream),
            None => self.enqueue_step(stream),
        }
    }

    fn enqueue_step(&self, stream: &Stream) -> Result<(), Error> {
        // SAFETY: `new` cleared the flags and waited for that. `Gemm` vouched for the operands when this was made, and the
        // backend drops this before it drops them. Freeing the memory or unloading the module waits for the kernels.
        Ok(unsafe { self.gemm.run(raw::stream(stream), &self.bindings) }?)
    }
}
