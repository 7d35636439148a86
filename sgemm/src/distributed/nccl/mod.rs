//! Products over several GPUs, one process for each, by NCCL.
//!
//! A [`Communicator`] joins the processes: those of a launcher, those that were handed an [`Id`], or those of an existing `ncclComm_t`.
//! [`Communicator::plan`] makes a [`DistributedGemm`], which queues the tasks of a [`Plan`](super::Plan) in three streams of its own.
//!
//! NCCL is loaded at run time, as `libnccl.so.2`: 2.19 or later, 2.28 for copy engines. Where there is none, [`Error::NoNccl`](crate::Error::NoNccl) says so.
//!
//! NCCL has no watchdog: a rank that has died may never be reported to those that wait for it. So every wait here has a deadline, after
//! which communicators are aborted and an error names this rank and what it waited for. What the device does then may still hang:
//! the process ends.

mod agreement;
mod comm;
mod communicator;
mod copy;
#[cfg(test)]
mod fake;
mod gemm;
mod library;
mod memory;
mod probe;
mod run;
mod stream;
mod sys;
mod timeline;
mod wait;

pub use communicator::{Communicator, GRACE, Id, Reduction};
pub use gemm::DistributedGemm;

/// The most blocks of NCCL's kernels where a collective takes them instead of copy engines, and so SMs that products leave to it. On four
/// H200, AllGather reaches half of its bandwidth with 8 of them.
const MAX_CTAS: u32 = 16;
