//! A plan's run on raw addresses.

use std::sync::Arc;

use libtest_mimic::Failed;
use sgemm::cuda::Gemm;
use sgemm::cudarc::driver::{CudaSlice, CudaStream, DevicePtr};
use sgemm::plan::{Bindings, Buffer, Plan};

/// The memory of a product in place, of f32: operands, and a workspace that may hold anything.
pub struct Memory {
    pub a: CudaSlice<f32>,
    pub b: CudaSlice<f32>,
    pub c: CudaSlice<f32>,
    workspace: CudaSlice<u8>,
}

impl Memory {
    /// Of those elements, and zeros in C.
    pub fn new(stream: &Arc<CudaStream>, plan: &Plan, a: &[f32], b: &[f32]) -> Result<Self, Failed> {
        let [_, _, c, ..] = plan.problem().extents()?;
        let workspace = vec![0xA5; usize::try_from(plan.workspace_bytes())?.max(1)];
        Ok(Self {
            a: stream.clone_htod(a)?,
            b: stream.clone_htod(b)?,
            c: stream.alloc_zeros(c)?,
            workspace: stream.clone_htod(&workspace)?,
        })
    }

    /// The addresses, for C = A\*B.
    pub fn bindings(&self, plan: &Plan) -> Bindings {
        let stream = self.c.stream();
        let at = |(address, _): (u64, _)| address;
        let parts = plan.part_bytes().at(at(self.workspace.device_ptr(stream)));
        let [a, b, c] = [&self.a, &self.b, &self.c].map(|slice| at(slice.device_ptr(stream)));
        Bindings::new(parts.with(Buffer::A, a).with(Buffer::B, b).with(Buffer::C, c), 1.0, 0.0)
    }
}

/// C = A\*B in the stream that the memory was allocated in.
pub struct RawRun {
    gemm: Gemm,
    memory: Memory,
    bindings: Bindings,
}

impl RawRun {
    pub fn new(stream: &Arc<CudaStream>, gemm: &Gemm, a: &[f32], b: &[f32]) -> Result<Self, Failed> {
        let memory = Memory::new(stream, gemm.plan(), a, b)?;
        let bindings = memory.bindings(gemm.plan());
        Ok(Self { gemm: gemm.clone(), memory, bindings })
    }

    pub fn run(&mut self) -> Result<(), Failed> {
        let stream = self.memory.c.stream();
        stream.context().bind_to_thread()?;
        // SAFETY: the context is current. The memory was made for this plan in this stream, is used in no other, and is freed in the
        // order of this one.
        Ok(unsafe { self.gemm.run_raw(stream.cu_stream(), &self.bindings) }?)
    }
}
