//! The state of launches, clusters, blocks and warps. Nothing here executes an instruction.

mod barrier;
mod block;
mod bulk;
mod cluster;
mod copies;
mod footprint;
mod grid;
mod in_flight;
mod mma_queue;
mod naming;
mod patterns;
mod poll;
mod report;
mod special;
mod stack;
mod warp;

pub(crate) use barrier::{Arrival, BARRIERS};
pub(crate) use block::{Block, Fault, Site};
pub(crate) use bulk::{BulkCopy, CHUNK_BYTES, End, PendingBulk};
pub(crate) use cluster::{Cluster, Visit};
pub(crate) use copies::PendingCopy;
pub(crate) use grid::Grid;
pub(crate) use in_flight::{Flight, RegisterState};
pub(crate) use mma_queue::PendingMma;
pub(crate) use poll::Round;
pub(crate) use report::Origin;
pub(crate) use warp::{SPIN_LIMIT, Split, Wait, Warp};
