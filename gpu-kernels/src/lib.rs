//! The SGEMM ladder: one file per step under `steps/`, and [`STEPS`], the registry, the only list of them.
//!
//! For the GPU this crate is compiled to PTX by `cuda_builder`; on the host it is an ordinary library, out of which
//! the launcher reads the very constants that the kernels were built from.
#![no_std]
#![cfg_attr(target_arch = "nvptx64", feature(abi_ptx))]

mod f32x4;
mod gemm;
pub mod step;
pub mod steps;

pub use step::{KERNEL_ARGUMENTS, MAX_SIZE, Precision, Step, Target, Tile};
pub use steps::STEPS;

/// The step of that slug.
#[must_use]
pub fn find(slug: &str) -> Option<&'static Step> {
    STEPS.iter().find(|step| step.slug == slug)
}

/// The targets that the steps need, the baseline first: one PTX module each.
pub fn targets() -> impl Iterator<Item = Target> {
    Target::ALL.into_iter().filter(|target| STEPS.iter().any(|step| step.target == *target))
}
