//! Runs kernels: blocks spread over the processor's cores, the warps of a block in turn, the lanes of a warp at once.

mod access;
mod atomic;
mod barrier;
mod block;
mod bounds;
mod bulk;
mod cluster;
mod copy;
mod data;
mod descriptor;
mod footprint;
mod fragment;
mod grid;
mod in_flight;
mod matrix;
mod mbarrier;
mod meet;
mod patterns;
mod poll;
mod report;
mod stuck;
mod tensor;
mod transfer;
mod warp;
mod wgmma;
mod workers;

pub(crate) use grid::{ClassCounts, Grid, run};
