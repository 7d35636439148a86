//! The SGEMM ladder: one file per step under `steps/`, and [`STEPS`], the registry, the only list of them.
//!
//! For the GPU this crate is compiled to PTX by `cuda_builder`; on the host it is an ordinary library, out of which
//! the launcher reads the very constants that the kernels were built from.
#![no_std]
#![cfg_attr(target_arch = "nvptx64", feature(abi_ptx, asm_experimental_arch))]

pub mod align;
mod f32x4;
mod fragment;
mod gemm;
pub mod parts;
mod pipeline;
mod products;
mod ptx;
pub mod range;
mod ring;
pub mod split;
mod staging;
pub mod step;
pub mod steps;
mod tile;
mod transpose;

pub use step::{
    Element, KERNEL_ARGUMENTS, MAP_ARGUMENTS, MAX_SIZE, MapBox, NOT_SPLIT, Operand, PREPASS_ARGUMENTS, Precision,
    Prepass, SCALE_ARGUMENTS, SPLIT_ARGUMENTS, STREAM_ARGUMENTS, Schedule, Split, Step, Streamed, TENSOR_MAP_BYTES,
    Target, Tile, persistent_tile, persistent_tiles,
};
pub use steps::STEPS;

/// The step or variant of that slug.
#[must_use]
pub fn find(slug: &str) -> Option<&'static Step> {
    runnable().find(|step| step.slug == slug)
}

/// Everything that can be launched: each step, and after it its variants.
pub fn runnable() -> impl Iterator<Item = &'static Step> {
    STEPS.iter().flat_map(|step| core::iter::once(step).chain(step.variants))
}

/// The kernels of a target's module: those of its steps, and of what runs before them.
pub fn kernels(target: Target) -> impl Iterator<Item = &'static str> {
    runnable().filter(move |step| step.target == target).flat_map(Step::kernels)
}

/// The targets that the steps need, the baseline first: one PTX module each.
pub fn targets() -> impl Iterator<Item = Target> {
    Target::ALL.into_iter().filter(|target| STEPS.iter().any(|step| step.target == *target))
}
