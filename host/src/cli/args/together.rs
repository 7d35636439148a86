//! Options of a product over several GPUs.

use std::path::PathBuf;

use clap::Args;
use sgemm::distributed::{Chunks, Grid};

use crate::cli::values::{chunks, grid};

/// How several GPUs multiply together.
#[derive(Debug, Args)]
#[command(next_help_heading = "Several GPUs")]
pub struct Together {
    /// Multiply over so many GPUs of this machine together, each with its part of the matrices. Not needed where torchrun, mpirun or
    /// srun start the program, once for each GPU
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub gpus: Option<u16>,
    /// How the GPUs are arranged: RxC along m and n, or RxCxL with L layers along k [default: as is predicted to be the fastest]
    #[arg(long, value_name = "RxC", value_parser = grid)]
    pub grid: Option<Grid>,
    /// Deal the matrices out in blocks of N x N elements, block-cyclically as ScaLAPACK does, instead of in one panel for each GPU
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(gpu_kernels::MAX_SIZE)))]
    pub block: Option<u32>,
    /// Gather the parts of A in M pieces along m, and those of B in N along n [default: as is predicted to be the fastest]
    #[arg(long, value_name = "MxN", value_parser = chunks)]
    pub chunks: Option<Chunks>,
    /// How long GPUs wait for each other beyond the predicted time, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=86_400))]
    pub deadline: u32,
    /// Draw to this file, as SVG, when each GPU computed and communicated in the last run. --json gets it as a record, too
    #[arg(long, value_name = "FILE")]
    pub timeline: Option<PathBuf>,
}
