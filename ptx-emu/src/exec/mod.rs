//! Executes kernels: clusters in parallel on the host's threads, the warps of a block round-robin, the lanes of a warp
//! as vectors.
//!
//! `state` has the data, `memory`, `sync` and `tensor` the instructions, `schedule` decides what runs next.

mod memory;
mod print;
mod record;
mod schedule;
mod state;
mod sync;
mod tensor;

pub(crate) use record::Recording;
pub(crate) use schedule::run;
pub(crate) use state::Grid;
