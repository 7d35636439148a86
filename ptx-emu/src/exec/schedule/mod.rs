//! The schedulers: clusters over host threads, blocks of a cluster, warps of a block, diverged lanes of a warp.

mod block;
mod cluster;
mod grid;
mod worker;
mod workers;

pub(crate) use grid::run;
