//! Runs, verifies and times SGEMM kernels: C = alpha\*A\*B + beta\*C in fp32, row-major.
//!
//! A [`Problem`] gives sizes and factors, [`Operands`] are its matrices, a [`backend::Backend`] runs a [`Kernel`] on
//! them, a [`Verifier`] compares the result with f64, and [`measure`] and [`output`] make numbers and tables of it.
//!
//! ```
//! use host::backend::{BackendChoice, Opened, Options, open};
//! use host::{Kernel, Operands, Problem};
//!
//! let problem = Problem::new(100, 20, 30)?; // A is 100 x 30, B is 30 x 20, C is 100 x 20
//! let kernel = Kernel::Step(gpu_kernels::find("vectorized").expect("a step of the ladder"));
//!
//! let operands = Operands::random(&problem)?;
//! // A GPU, or the emulator where there is none.
//! let Opened { mut backend, .. } = open(BackendChoice::Auto, Options::default())?;
//! backend.upload(&operands)?;
//! backend.run(kernel, &problem)?;
//! let result = backend.download()?;
//! println!("C[0][0] = {}", result.c.get(0, 0));
//! # Ok::<(), host::Error>(())
//! ```

pub mod backend;
pub mod cli;
mod error;
pub mod measure;
pub mod output;
pub mod verify;

pub use backend::{BASELINES, Baseline, Kernel, PtxSource, Stop};
pub use error::Error;

pub use sgemm::AccuracyClass;
pub use verify::{Matrix, Operands, Problem, Verification, Verifier};
