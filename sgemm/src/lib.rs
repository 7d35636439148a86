//! The matrix products of NVIDIA GPUs, D = activation(alpha\*A\*B + beta\*C + bias), by kernels that are written in Rust and compiled
//! to PTX. It needs the NVIDIA driver at run time and nothing else: no toolkit, no build script.
//!
//! ```no_run
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use sgemm::Problem;
//! use sgemm::cuda::{Handle, open};
//!
//! let (context, m, n, k) = (open(0)?, 1000, 500, 200); // a context of cudarc
//! let stream = context.default_stream();
//! let (a, b) = (stream.clone_htod(&vec![1.0_f32; m * k])?, stream.clone_htod(&vec![2.0_f32; k * n])?);
//! let mut c = stream.alloc_zeros::<f32>(m * n)?;
//! // Once per context, and once per problem: kernels are chosen and loaded here.
//! let handle = Handle::new(&context)?;
//! let gemm = handle.plan(&Problem::new(m, n, k))?;
//! let mut workspace = handle.workspace(&stream, gemm.workspace_bytes())?;
//! // As often as wanted: it allocates nothing and waits for nothing.
//! gemm.run(&stream, 1.0, &a, &b, 0.0, &mut c, &mut workspace)?;
//! # Ok(())
//! # }
//! ```
//!
//! A [`Problem`] gives sizes, layouts, batches, elements, accuracy and epilogue. [`select::plan`] chooses a kernel for it on a
//! [`Device`], by what was measured there; a [`plan::Plan`] says what is launched and which memory that takes. It needs no GPU.
//! [`cuda`] runs it on the caller's stream and memory; with the feature `emulator`, the module `emulator` runs it on the host.
//!
//! # What a layout costs
//! Kernels read A and B row-major and write D row-major; a column-major D is the transpose of such a problem. Other layouts are
//! transposed in the workspace first, and operands whose address or rows are not aligned to 16 bytes are copied for kernels that load
//! with TMA. Bias and activation cost nothing with the kernels of Hopper, which have them in their epilogue. A D that is not C, and alpha
//! and beta in device memory, take a post-pass, with the sums in the workspace. [`plan::Plan::launches`] shows all of it.
//!
//! # Determinism
//! The same call gives the same bits. [`Determinism::PerElement`] makes them independent of m, n, the batch and the other rows, too.
//!
//! # Accuracy classes
//! The default is IEEE single precision. Other arithmetic is asked for, per problem: [`Problem::with_accuracy`].
//! - `fp32-strict`: f32 products and sums on the CUDA cores.
//! - `fp32`: also three MMAs of a hi/lo split, which loses at most 2^-23 \|x\| of each element x. Better than SGEMM for long dense
//!   sums, worse for short sums, sparse rows and an identity.
//! - `tf32`: TF32 products, f32 sums.
//! - `f16`, `bf16`: matrices of 16-bit elements, f32 sums.
//!
//! # Features
//! - `sm80`, `sm90`, `sm100`, all by default: the kernels for compute capability 8.0 and later, for 9.0 (Hopper: most of this crate's
//!   bytes), and for 10.0 and later (Blackwell). Where one is left out, plans do without its kernels; where none is left for a device,
//!   [`Error::NoModule`] names the feature.
//! - `f16`: `half::f16` and `half::bf16` as elements.
//! - `emulator`: the module of that name.
//! - `distributed`: the modules `distributed`, one product over several GPUs, and `streamed`, of matrices in the host's memory.
//!
//! # Without a GPU
//! The driver is loaded at run time: where there is none, [`cuda::open`] returns [`Error::NoDriver`]. Plans need no device, and with
//! the feature `emulator` they run without one.
#![cfg_attr(docsrs, feature(doc_cfg))]

mod accuracy;
pub mod cuda;
mod device;
#[cfg(feature = "distributed")]
pub mod distributed;
#[cfg(feature = "emulator")]
pub mod emulator;
mod error;
pub mod modules;
pub mod plan;
mod problem;
mod product;
mod scalar;
pub mod select;
#[cfg(feature = "distributed")]
pub mod streamed;

pub use accuracy::{AccuracyClass, LONGEST_TF32_SPLIT_K};
pub use cudarc;
pub use device::Device;
pub use error::Error;
pub use gpu_kernels;
pub use gpu_kernels::{Activation, BiasPer, Element};
pub use modules::ModuleSource;
pub use problem::{Determinism, Epilogue, Layout, Problem, Scalars};
pub use product::{Abc, Matrix, Product};
pub use scalar::Scalar;
