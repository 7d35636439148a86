//! fp32 accuracy from the tensor cores by hi/lo splits (Ootomo and Yokota): what fp16x3 and tf32x3 share.
//!
//! ```text
//!   consumer 0:  MMAs of a k-tile     │ + partial sums   │ MMAs of the next  │ + ...
//!   consumer 1:  + partial sums       │ MMAs of a k-tile │ + partial sums    │ MMAs of the next ...
//!   two-level summation:   hi*hi of a k-tile ──► sums of some k-tiles ─┬─► totals, in shared memory
//!                                  hi*lo + lo*hi of some k-tiles ──────┘
//! ```
//!
//! Tensor cores truncate, and truncation is biased. So they add the large products of one k-tile only; these partial sums are added to
//! f32 registers, rounded to nearest. The small products have accumulators of their own: lo is stored scaled, so that it has all its
//! bits, and what truncation takes of them is small enough for more k-tiles. There are no registers for a fourth set: totals are in
//! shared memory, to which they go once in some k-tiles.
//!
//! Elements without a certificate are computed in another way (`uncertified`), by tiles: by a split into three bf16, or in fp32. For those
//! the producers copy A and B as they are into the same ring.

use core::marker::PhantomData;

use crate::hardware::SWIZZLE_BYTES;
use crate::mainloop::warp_specialized::{self, BLOCK_ROWS, CONSUMER_THREADS};
use crate::prepass::split::Format;
use crate::{Ab, Extent, Group, Precision, Schedule, Step, Target, Tile, TmaBox};

#[cfg(feature = "device")]
mod consumer;
#[cfg(feature = "device")]
mod epilogue;
#[cfg(feature = "device")]
mod uncertified;
#[cfg(feature = "device")]
mod verdict;

const BM: u32 = BLOCK_ROWS;
const A_BYTES: u32 = BM * SWIZZLE_BYTES;

/// Values along k, as they are, in a stage.
#[cfg(feature = "device")]
const STAGE_K: u32 = SWIZZLE_BYTES / 4;
/// Products that are added first, of what is computed in another way: a k-step of bf16.
const DEPTH: u32 = 16;
/// bf16 that an f32 is split into.
const PARTS: u32 = 3;

/// Tiles of 128 x 2 ACC.
pub(crate) struct SplitMma<P: Format, const ACC: usize, const STAGES: u32>(PhantomData<P>);

impl<P: Format, const ACC: usize, const STAGES: u32> SplitMma<P, ACC, STAGES> {
    const BN: u32 = 2 * ACC as u32;
    /// A k-tile: as deep as the sums that the tensor cores compute are long.
    const BK: u32 = P::CHUNK;
    const TILE: Tile = Tile { bm: BM, bn: Self::BN, bk: Self::BK, tm: 2, tn: ACC as u32 / 2 };
    const STAGE_BYTES: u32 = A_BYTES + Self::BN * SWIZZLE_BYTES;
    /// Of the consumers' totals, behind the ring.
    const TOTALS_BYTES: u32 = ACC as u32 * CONSUMER_THREADS * 4;
    /// The bf16 parts of a k-step: of each row of an operand DEPTH first, DEPTH second and DEPTH third parts.
    const PARTS_BYTES: u32 = (BM + Self::BN) * DEPTH * PARTS * 2;
    /// Parts of two k-steps, and exponents that rows are scaled by.
    const BY_BF16_BYTES: u32 = 2 * Self::PARTS_BYTES + (BM + Self::BN) * 4;
    /// What is in the place of totals when they are not needed may be larger.
    const BEHIND_RING_BYTES: u32 =
        if Self::TOTALS_BYTES > Self::BY_BF16_BYTES { Self::TOTALS_BYTES } else { Self::BY_BF16_BYTES };
    /// Bits of a tile's elements, behind that.
    const BITS_BYTES: u32 = ACC as u32 * CONSUMER_THREADS / 8;
    /// Elements in a row of a stage, hi and lo.
    const ROW: u32 = 2 * P::CHUNK;

    /// A step of this shape, without its names.
    pub const STEP: Step = Step {
        precision: Precision::Fp16x3,
        target: Target::Sm90a,
        tile: Self::TILE,
        block: [warp_specialized::THREADS, 1, 1],
        schedule: Schedule::Persistent { group: Group::ALONE },
        prepasses: P::PREPASSES,
        maps: Some(Ab {
            a: TmaBox { element: P::ELEMENT, extent: Extent { rows: BM, cols: Self::ROW }, swizzled: true },
            b: TmaBox { element: P::ELEMENT, extent: Extent { rows: Self::BN, cols: Self::ROW }, swizzled: true },
        }),
        dynamic_smem_bytes: warp_specialized::smem_bytes(STAGES, Self::STAGE_BYTES)
            + Self::BEHIND_RING_BYTES
            + Self::BITS_BYTES,
        ..Step::PLAIN
    };
}

/// Declares a kernel and a [`Step`] for each shape, with what the shapes have in common.
macro_rules! kernels {
    ($common:expr; $($kernel:ident $slug:literal $shape:ty;)*) => {
        const ALL: &[Step] = &[$(Step {
            slug: $slug,
            kernel: stringify!($kernel),
            fused: Some(concat!(stringify!($kernel), "_fused")),
            base: $common.base,
            summary: $common.summary,
            source: $common.source,
            precision: $common.precision,
            ..<$shape>::STEP
        }),*];

        $(
            #[cfg(feature = "device")]
            $crate::epilogue::fusion::gemm_kernels! {
                $kernel, launch_bounds($crate::mainloop::warp_specialized::THREADS, 1), <$shape>::run,
                a_map: &$crate::ptx::tensor::TensorMap, b_map: &$crate::ptx::tensor::TensorMap,
                a_scales: *const i32, b_scales: *const i32
            }
        )*
    };
}
pub(crate) use kernels;
