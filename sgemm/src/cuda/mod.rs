//! The CUDA driver: modules loaded, plans launched on the caller's stream and memory.
//!
//! The caller owns the context, streams and memory, and says that they live long enough: what takes raw pointers and streams is
//! `unsafe`. The driver's library is loaded at run time, so that one binary runs on machines with and without it: call
//! [`open_driver`] first.
//!
//! ```no_run
//! # fn main() -> Result<(), sgemm::Error> {
//! use sgemm::cuda::{self, CUdeviceptr, CUstream, Modules, Prepared};
//! use sgemm::plan::Plan;
//! use sgemm::{Abc, ModuleSource, Problem};
//!
//! cuda::open_driver()?;
//! # let (step, operands, workspace, stream) = (&gpu_kernels::STEPS[0], Abc::default(), 0, std::ptr::null_mut());
//! let plan = Plan::new(step, &Problem::new(4096, 4096, 4096)?, 132)?;
//! // SAFETY: the context that is current outlives all of this.
//! let modules = unsafe { Modules::new(ModuleSource::BuiltIn) }?;
//! let operands: Abc<CUdeviceptr> = operands; // device memory that holds A, B and C
//! let workspace: CUdeviceptr = workspace; // `plan.workspace_bytes()` of device memory
//! let stream: CUstream = stream;
//! let prepared = Prepared::new(&modules, &plan, operands, workspace)?;
//! // SAFETY: all of these live until the stream has been waited for.
//! unsafe {
//!     prepared.initialise(stream)?;
//!     prepared.run(stream)?;
//! }
//! # Ok(())
//! # }
//! ```

mod driver;
mod launch;
mod module;
mod loaded;
mod tensor_map;

pub use cudarc::driver::sys::{CUdeviceptr, CUstream};
pub use driver::{CudaVersion, driver_is_present, driver_version, open_driver};
pub use launch::launch;
pub use module::{Function, Module, Modules};
pub use loaded::Loaded;
