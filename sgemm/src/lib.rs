//! SGEMM on NVIDIA GPUs, C = alpha\*A\*B + beta\*C, by kernels that are written in Rust and compiled to PTX.
//!
//! A [`Problem`] gives sizes, layouts and factors. [`select`] chooses a kernel for it on a [`Device`], under the guarantee of an
//! [`AccuracyClass`]. A [`plan::Plan`] says what is launched and which memory that takes; it needs no GPU. [`cuda`] runs it on the
//! caller's stream and memory, out of the PTX of [`modules`].
//!
//! ```
//! use sgemm::plan::Plan;
//! use sgemm::select::{Table, choose};
//! use sgemm::{AccuracyClass, Device, Problem};
//!
//! let device = Device::new("NVIDIA H200", (9, 0), 132);
//! let problem = Product::new(4096, 4096, 4096)?.with_scalars(1.0, 0.5); // A, B and C are row-major matrices of f32
//! let choice = choose(Table::of(&device.name), &device, &problem, AccuracyClass::Fp32Strict).expect("a kernel meets it");
//! let plan = Plan::new(choice.step, &problem, device.sm_count)?;
//! println!("{} takes {} bytes of workspace", choice.step.slug, plan.workspace_bytes());
//! # Ok::<(), sgemm::Error>(())
//! ```
//!
//! # Accuracy classes
//! The default is IEEE single precision. Everything faster is asked for, per problem.
//! - `fp32-strict`: f32 products and sums on the CUDA cores.
//! - `fp32`: also three MMAs of a hi/lo split, which loses at most 2^-23 \|x\| of each element x. Better than SGEMM for long dense
//!   sums, worse for short sums, sparse rows and an identity.
//! - `tf32`: TF32 products, f32 sums.
//! - `f16`, `bf16`: matrices of 16-bit elements, f32 sums.
//!
//! # On a GPU
//! The phases are those of CUTLASS: plan, [`Plan::workspace_bytes`](plan::Plan::workspace_bytes),
//! [`Prepared::initialise`](cuda::Prepared::initialise), [`Prepared::run`](cuda::Prepared::run). The last one neither allocates nor
//! synchronises. The driver is loaded at run time: where there is none, [`cuda::open_driver`] returns [`Error::NoDriver`].

mod accuracy;
pub mod cuda;
mod device;
#[cfg(feature = "emulator")]
pub mod emulator;
mod error;
pub mod modules;
pub mod plan;
mod problem;
mod product;
mod scalar;
pub mod select;

pub use accuracy::AccuracyClass;
pub use device::Device;
pub use error::Error;
pub use gpu_kernels;
pub use gpu_kernels::{Activation, BiasPer, Element};
pub use modules::ModuleSource;
pub use problem::{Epilogue, Layout, Problem, Scalars};
pub use product::{Abc, Matrix, Product};
pub use scalar::Scalar;
