//! A kernel with the operands that it is to work on.

use cust::stream::Stream;

use super::cublas::Cublas;
use super::operands::Gemm;
use super::prepared::Prepared;
use crate::Error;
use crate::backend::Baseline;

/// A kernel with the operands that it is to work on.
pub(super) enum Launch<'a> {
    /// All that a step launches, by the library.
    Step(&'a Prepared),
    Cublas(&'a Cublas, &'static Baseline, Gemm<'a>),
}

impl Launch<'_> {
    /// What an error says was being done.
    pub(super) fn what(&self) -> String {
        match self {
            Self::Step(prepared) => format!("run {}", prepared.step().slug),
            Self::Cublas(_, baseline, _) => format!("run {}", baseline.name),
        }
    }

    /// Queues the whole product in the stream; nothing where m or n is 0.
    pub(super) fn enqueue(&self, stream: &Stream) -> Result<(), Error> {
        match self {
            Self::Step(prepared) => prepared.enqueue(stream),
            Self::Cublas(_, _, gemm) if gemm.problem.is_empty() => Ok(()),
            Self::Cublas(cublas, baseline, gemm) => cublas.gemm(baseline, gemm),
        }
    }
}
