//! Runs, verifies and times SGEMM kernels: C = alpha\*A\*B + beta\*C in fp32, row-major.
//!
//! A [`Problem`] gives sizes and factors, [`Operands`] are its matrices, a [`backend::Backend`] runs a [`Kernel`] on
//! them, a [`Verifier`] compares the result with f64, and [`mod@bench`] and [`report`] make numbers and tables of it.

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
