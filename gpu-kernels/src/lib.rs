//! The SGEMM ladder: one file per step under `steps/`, and [`STEPS`], the registry, the only list of them.
//!
//! `cuda_builder` compiles this crate to PTX. On the host it is an ordinary library, from which the launcher reads the very
//! constants that the kernels are built from; without the feature `device` it has these constants and nothing else.
#![no_std]
#![cfg_attr(target_arch = "nvptx64", feature(abi_ptx, asm_experimental_arch))]

mod epilogue;
#[cfg(feature = "device")]
mod gemm;
mod hardware;
mod mainloop;
#[cfg(feature = "device")]
mod planned;
pub mod postpass;
pub mod prepass;
#[cfg(feature = "device")]
mod ptx;
pub mod spec;
pub mod steps;

pub use hardware::{LINE_BYTES, SECTOR_BYTES, SWIZZLE_BYTES, WARP};
pub use postpass::finish;
pub use prepass::align::align;
pub use prepass::transpose::transpose;
pub use spec::{
    ANY_BF16, Ab, Activation, BATCH_ARGUMENTS, BF16_TOP, BLOCK_SMEM_BYTES, BiasPer, CERTIFICATE_BITS, CERTIFIED,
    Computed, Coord, EXACT_BF16, Element, Extent, F16_TOP, FUSION_ARGUMENTS, Group, InnerSums, KERNEL_ARGUMENTS,
    LONGEST_COUNTED_K, MAP_ARGUMENTS, MAX_SHARERS, MAX_SIZE, Magnitudes, OF_HI_LO, Open, Operand, PLANNED_ARGUMENTS,
    POSTPASS_ARGUMENTS, PREPASS_ARGUMENTS, Postpass, Precision, Prepass, SCALE_ARGUMENTS, SHORTEST_SPLIT_K,
    SM_SMEM_BYTES, SPLIT_ARGUMENTS, STREAM_ARGUMENTS, Schedule, Split, Splits, Step, StreamKTiles, TENSOR_MAP_BYTES,
    TRANSPOSED_ARGUMENTS, Target, Tile, TmaBox, Transposed, Uncertified, banded_tile, is_finite_row, largest_exponents,
    least_certified_sum, persistent_tile, persistent_tiles,
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

/// The kernels of a target's module: those of its steps, of what runs before them, and [`SUPPORT_KERNELS`].
pub fn kernels(target: Target) -> impl Iterator<Item = &'static str> {
    let of_target = runnable().filter(move |step| step.target == target);
    let fused = |step: &Step| step.fused.filter(|_| !step.is_always_fused());
    of_target.flat_map(move |step| step.kernels().chain(fused(step))).chain(SUPPORT_KERNELS)
}

/// The kernels that a caller of any step may need beside it, in every target's module: what aligns and transposes operands, and what
/// finishes D.
pub const SUPPORT_KERNELS: [&str; 7] = [
    align(Operand::A, Element::F32).kernel,
    align(Operand::A, Element::F16).kernel,
    transpose(Operand::A, Element::F32).kernel,
    transpose(Operand::A, Element::F16).kernel,
    finish(Element::F32).kernel,
    finish(Element::F16).kernel,
    finish(Element::Bf16).kernel,
];

/// The targets that the steps need, the baseline first: one PTX module each.
pub fn targets() -> impl Iterator<Item = Target> {
    Target::ALL.into_iter().filter(|target| STEPS.iter().any(|step| step.target == *target))
}
