//! What runs on the operands of a case: a step's plan, or cuBLAS.

use cust::memory::DeviceBuffer;
use cust::stream::Stream;
use sgemm::cuda::Loaded;
use sgemm::plan::{Bindings, Buffer, Buffers};

use super::cublas::{ColumnMajor, Cublas};
use super::failure::Context as _;
use super::graph::Graph;
use super::raw;
use crate::Error;
use crate::backend::{Baseline, Case};

/// What runs, and its sequence of products once that is recorded.
pub(super) struct Contender {
    // It uses what stands after it.
    pub(super) graph: Option<Graph>,
    pub(super) runs: Runs,
}

/// What runs.
pub(super) enum Runs {
    /// A step, by the library.
    Step {
        loaded: Box<Loaded>,
        /// Where the parts of its workspace are.
        parts: Buffers<u64>,
        /// The flags of stream-K: other contenders use the rest of the workspace too, and these must stay zero.
        _flags: DeviceBuffer<u32>,
    },
    /// cuBLAS.
    Cublas(&'static Baseline),
}

impl Runs {
    /// A step whose workspace has its parts there; its flags have memory of their own.
    pub(super) fn step(loaded: Loaded, parts: Buffers<u64>) -> Result<Self, Error> {
        let words = loaded.plan().part_bytes()[Buffer::Flags].div_ceil(4) as usize;
        let flags = DeviceBuffer::zeroed(words.max(1)).context("allocate flags")?;
        let parts = parts.with(Buffer::Flags, raw::address(&flags));
        Ok(Self::Step { loaded: Box::new(loaded), parts, _flags: flags })
    }

    /// The step's slug, or the baseline's name.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Step { loaded, .. } => loaded.plan().step().slug,
            Self::Cublas(baseline) => baseline.name,
        }
    }

    /// Queues the case's product, all of its batch, on matrices at these addresses.
    ///
    /// # Safety
    /// The plan is one of the case. From the addresses on there are the case's A, B and C, and the parts of the workspace are where
    /// they were said to be. All of it lives until the product is done, and as long as a graph that recorded it is launched.
    pub(super) unsafe fn enqueue(
        &self,
        case: &Case,
        [a, b, c]: [u64; 3],
        stream: &Stream,
        cublas: Option<&Cublas>,
    ) -> Result<(), Error> {
        match self {
            Self::Step { loaded, parts, .. } => {
                let addresses = parts.with(Buffer::A, a).with(Buffer::B, b).with(Buffer::C, c).with(Buffer::D, c);
                // SAFETY: the caller vouches for operands and workspace; the flags were zeros, and each run leaves them so. The stream
                // is of the context of the modules.
                Ok(unsafe { loaded.run(raw::stream(stream), &Bindings::new(addresses, 1.0, 0.0)) }?)
            }
            Self::Cublas(baseline) => {
                let missing = || Error::NoCublas { reason: "it was not loaded".into() };
                // SAFETY: the caller vouches for the operands; no size of a case is 0.
                unsafe { cublas.ok_or_else(missing)?.queue(baseline, &ColumnMajor::of_case(case, [a, b, c])) }
            }
        }
    }
}
