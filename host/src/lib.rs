//! Runs, verifies and times SGEMM kernels: C = alpha\*A\*B + beta\*C in fp32, row-major.
//!
//! A [`Problem`] gives sizes and factors, [`Operands`] are its matrices, a [`backend::Backend`] runs a [`Kernel`] on
//! them, a [`Verifier`] compares the result with f64, and [`mod@bench`] and [`report`] make numbers and tables of it.
//!
//! ```no_run
//! use host::backend::{BackendChoice, open};
//! use host::{Kernel, Operands, Problem, PtxSource};
//!
//! let problem = Problem::new(1000, 200, 300)?; // A is 1000 x 300, B is 300 x 200, C is 1000 x 200
//! let kernel = Kernel::Step(gpu_kernels::find("vectorized").expect("a step of the ladder"));
//!
//! let mut operands = Operands::random(&problem)?;
//! let mut gpu = open(BackendChoice::Auto, 0, PtxSource::BuiltIn)?;
//! gpu.upload(&operands)?;
//! gpu.run(kernel, &problem)?;
//! gpu.download(&mut operands)?;
//! println!("C[0][0] = {}", operands.c.get(0, 0));
//! # Ok::<(), host::Error>(())
//! ```

pub mod backend;
pub mod bench;
mod error;
mod freivalds;
pub mod kernels;
pub mod matrix;
mod memory;
mod operands;
pub mod peak;
mod problem;
pub mod ptx;
pub mod reference;
pub mod report;
pub mod verify;

pub use backend::Kernel;
pub use error::Error;
pub use matrix::Matrix;
pub use operands::Operands;
pub use problem::Problem;
pub use ptx::PtxSource;
pub use verify::{Verification, Verifier};
