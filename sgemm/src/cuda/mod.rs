//! The CUDA driver: modules loaded, plans launched on the caller's stream and memory.
//!
//! [`Handle`] plans problems and runs them on cudarc's slices, safely. Beneath it are pieces for those who own contexts, streams and
//! memory by other means: [`Modules`] and [`Loaded`], and [`Gemm::run_raw`], which take raw pointers and streams and are `unsafe`.
//!
//! The driver's library is loaded at run time, so that one binary runs on machines with and without it. Whoever makes no context by
//! cudarc calls [`open_driver`] first.

mod arguments;
mod driver;
mod gemm;
mod graph;
mod group;
mod handle;
mod launch;
mod loaded;
mod module;
mod prepared;
mod tensor_map;
mod workspace;

pub use arguments::Arguments;
pub use cudarc::driver::sys::{CUdeviceptr, CUstream};
pub use driver::{CudaVersion, driver_is_present, driver_version, open_driver};
#[cfg(feature = "distributed")]
pub(crate) use driver::{checked, failed};
pub use gemm::Gemm;
#[cfg(feature = "distributed")]
pub(crate) use gemm::is_capturing;
pub use graph::Graph;
pub use group::Group;
pub use handle::{Handle, open};
pub use launch::launch;
pub use loaded::Loaded;
pub use module::{Function, Module, Modules};
pub use prepared::PreparedOperand;
pub use workspace::Workspace;
