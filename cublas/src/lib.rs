//! cuBLAS's products of f32 matrices, by `sgemm`: a library to preload before an unmodified program.
//!
//! It exports some of cuBLAS's names, and no others. Each call is looked at: one that `sgemm` computes as well is launched in the handle's
//! stream, and every other one goes, with its arguments untouched, to the cuBLAS that the program has loaded. `Reason` lists why.
//! Nothing happens before the first call, and nothing is read or printed but what the environment asks for.

mod abi;
mod algorithm;
mod call;
mod entry;
mod forked;
mod gpu;
mod log;
mod lt;
mod memory;
mod next;
mod reason;
mod route;
mod settings;
mod v2;

pub use lt::*;
pub use v2::*;
