//! Runs PTX on the CPU.
#![forbid(unsafe_code)]

mod check;
mod coalesce;
mod counters;
pub mod device;
mod exec;
mod finding;
mod kernel;
mod lanes;
mod lower;
mod memory;
pub mod model;
pub mod occupancy;
mod ops;
mod program;
mod registers;
mod sample;
mod special;
pub mod syntax;
mod types;

pub use check::Checks;
pub use counters::{Class, Counters, GlobalCounters, LineCounters, SharedCounters};
pub use finding::{Finding, FindingKind, Thread};
pub use kernel::{Error, Kernel, Launch, MAX_SHARED_BYTES, MAX_THREADS, Module, Report};
pub use lower::LowerError;
pub use memory::{GlobalMemory, Pointer};
pub use program::ParamInfo;
pub use sample::{BlockIndex, Blocks, class_of};
pub use types::{Space, Type};
