//! A mainloop of `wgmma` for small tiles of f32, truncated to TF32, where B may be stored transposed.
//!
//! ```text
//!   C^T = B^T * A^T         A is the right operand, k-major (BM, 32)
//!        B stored k x n:    panels of (32, 32) n-major ──► fragments of B^T in registers ──► left operand
//!        B stored n x k:    (BN, 32) k-major, in shared memory ────────────────────────────► left operand
//! ```
//!
//! `wgmma` reads 32-bit elements k-major only. So A must be, and an n-major B goes through registers, as in tf32. A warpgroup computes
//! 64 columns of C, and any number of rows: few rows of A cost few MMAs.

use crate::hardware::{SWIZZLE_BYTES, WARP, WARPGROUP, WGMMA_M};
use crate::mainloop::warp_specialized;
use crate::prepass::align::align;
use crate::{Ab, Element, Extent, Operand, Precision, Schedule, Step, Target, Tile, TmaBox, Transposed};

#[cfg(feature = "device")]
pub(crate) mod fragments;
#[cfg(feature = "device")]
mod stages;

/// Depth of a k-tile: elements in a row of shared memory.
pub(crate) const BK: u32 = SWIZZLE_BYTES / 4;
/// Words between the rows of a partial tile in shared memory: those of four rows that a warp stores at once lie in different banks.
const PAD: u32 = 4;

/// Tiles of BM x BN, by BN / 64 warpgroups of ACC accumulators per thread.
pub(crate) struct Tf32Tile<const BM: u32, const BN: u32, const ACC: usize, const STAGES: u32>;

impl<const BM: u32, const BN: u32, const ACC: usize, const STAGES: u32> Tf32Tile<BM, BN, ACC, STAGES> {
    pub const CONSUMER_THREADS: u32 = BN / WGMMA_M * WARPGROUP;
    pub const THREADS: u32 = Self::CONSUMER_THREADS + WARP;
    const A_BYTES: u32 = BM * SWIZZLE_BYTES;
    const STAGE_BYTES: u32 = Self::A_BYTES + BN * SWIZZLE_BYTES;

    /// A step of this shape, of which an SM holds so many blocks, without its names.
    pub const fn step(blocks_per_sm: u32) -> Step {
        assert!(BN.is_multiple_of(WGMMA_M) && BM == 2 * ACC as u32, "accumulators fill the tile");
        let smem_bytes = warp_specialized::smem_bytes(STAGES, Self::STAGE_BYTES);
        assert!(BM * (BN + PAD) * 4 <= smem_bytes, "the partial tile fits where the stages were");
        Step {
            precision: Precision::Tf32,
            target: Target::Sm90a,
            tile: Tile { bm: BM, bn: BN, bk: BK, tm: ACC as u32 / 2, tn: 2 },
            block: [Self::THREADS, 1, 1],
            schedule: Schedule::PlannedSplitK { blocks_per_sm, reduction_k: 0, is_busy: true },
            prepasses: const { &[align(Operand::A, Element::F32), align(Operand::B, Element::F32)] },
            maps: Some(Ab { a: rows_of_128_bytes(BM), b: rows_of_128_bytes(BK) }),
            transposed: Transposed::MappedB(rows_of_128_bytes(BN)),
            dynamic_smem_bytes: smem_bytes,
            stage_bytes: warp_specialized::smem_bytes(1, Self::STAGE_BYTES),
            multicasts: true,
            ..Step::PLAIN
        }
    }
}

/// A box of so many rows, swizzled.
const fn rows_of_128_bytes(rows: u32) -> TmaBox {
    TmaBox { element: Element::F32, extent: Extent { rows, cols: BK }, swizzled: true }
}
