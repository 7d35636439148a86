//! Runs, verifies and times SGEMM kernels: C = alpha\*A\*B + beta\*C in fp32, row-major.
//!
//! A [`Problem`] gives sizes and factors, [`Operands`] are its matrices, a [`backend::Backend`] runs a [`Kernel`] on
//! them, a [`Verifier`] compares the result with f64, and [`mod@bench`] and [`report`] make numbers and tables of it.
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

pub mod accuracy;
pub mod backend;
mod baseline;
pub mod bench;
mod choose;
pub mod element;
mod error;
pub mod explain;
mod freivalds;
pub mod kernels;
pub mod matrix;
mod memory;
mod operands;
pub mod peak;
mod problem;
mod promise;
pub mod ptx;
pub mod reference;
pub mod report;
pub mod sizes;
mod stop;
pub mod tune;
pub mod tuned;
pub mod verify;

pub use backend::Kernel;
pub use baseline::{BASELINES, Baseline};
pub use error::Error;
pub use matrix::Matrix;
pub use operands::Operands;
pub use problem::Problem;
pub use promise::Promise;
pub use ptx::PtxSource;
pub use stop::Stop;
pub use verify::{Verification, Verifier};
