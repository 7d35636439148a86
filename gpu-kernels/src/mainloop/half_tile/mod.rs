//! A mainloop of `wgmma` for small tiles of 16-bit operands, each of which may be stored transposed.
//!
//! ```text
//!   one thread of the last warp ── TMA loads ──► ring of stages ──► one to three consumer warpgroups, 64 x BN of C each
//!
//!   in a stage:   A            (BM, 64) k-major, or panels of (64, 64) m-major where it is stored transposed
//!                 B            panels of (64, 64) n-major, or (BN, 64) k-major where it is stored transposed
//! ```
//!
//! `wgmma` reads elements of 16 bits either way, at no cost; which way, its instruction says. So there is a loop for each of the four
//! combinations. The producer is one warp, and no registers are moved to the consumers: several blocks share an SM.

use crate::hardware::{SWIZZLE_BYTES, WARP, WARPGROUP, WGMMA_M};
use crate::mainloop::warp_specialized;
use crate::prepass::align::align;
use crate::{Ab, Element, Extent, Operand, Precision, Schedule, Step, Target, Tile, TmaBox, Transposed};

#[cfg(feature = "device")]
mod copies;
#[cfg(feature = "device")]
mod multistage;
mod persistent;
#[cfg(feature = "device")]
mod slices;
#[cfg(feature = "device")]
mod stages;
pub(crate) mod swapped;
#[cfg(feature = "device")]
pub(crate) use copies::Source;

/// Elements in a row of shared memory.
const ROW: u32 = SWIZZLE_BYTES / 2;
/// Depth of a k-tile.
pub(crate) const BK: u32 = ROW;

/// What a reduction takes without multicasts: four k-tiles.
const REDUCTION_K: u32 = 4 * BK;

/// Words between the rows of a partial tile in shared memory: those of four rows that a warp stores at once lie in different banks.
const PAD: u32 = 8;

/// Tiles of BM x BN, by BM / 64 warpgroups of ACC accumulators per thread.
pub(crate) struct HalfTile<const BM: u32, const BN: u32, const ACC: usize, const STAGES: u32>;

impl<const BM: u32, const BN: u32, const ACC: usize, const STAGES: u32> HalfTile<BM, BN, ACC, STAGES> {
    pub const CONSUMER_THREADS: u32 = BM / WGMMA_M * WARPGROUP;
    pub const THREADS: u32 = Self::CONSUMER_THREADS + WARP;
    /// Threads without a producer.
    pub const ANY_LAYOUT_THREADS: u32 = Self::CONSUMER_THREADS;
    const A_BYTES: u32 = BM * SWIZZLE_BYTES;
    /// Columns of a panel of an n-major B.
    const PANEL: u32 = if BN < ROW {
        BN
    } else if BN.is_multiple_of(ROW) {
        ROW
    } else {
        ROW / 2
    };
    const STAGE_BYTES: u32 = Self::A_BYTES + BN * SWIZZLE_BYTES;

    /// The same without a producer: all threads copy operands, whatever their order and alignment, and then multiply.
    pub const fn any_layout_step(precision: Precision, blocks_per_sm: u32) -> Step {
        let smem_bytes = STAGES * Self::STAGE_BYTES;
        assert!(BM * (BN + PAD) * 4 <= smem_bytes, "the partial tile fits where the stages were");
        Step {
            block: [Self::ANY_LAYOUT_THREADS, 1, 1],
            schedule: Schedule::PlannedSplitK { blocks_per_sm, reduction_k: REDUCTION_K, is_busy: false },
            prepasses: &[],
            maps: None,
            transposed: Transposed::Read,
            dynamic_smem_bytes: smem_bytes,
            stage_bytes: 0,
            multicasts: false,
            ..Self::step(precision, blocks_per_sm)
        }
    }

    /// A step of this shape, of which an SM holds so many blocks, without its names.
    pub const fn step(precision: Precision, blocks_per_sm: u32) -> Step {
        let smem_bytes = warp_specialized::smem_bytes(STAGES, Self::STAGE_BYTES);
        assert!(BM * (BN + PAD) * 4 <= smem_bytes, "the partial tile fits where the stages were");
        Step {
            schedule: Schedule::PlannedSplitK { blocks_per_sm, reduction_k: 0, is_busy: true },
            dynamic_smem_bytes: smem_bytes,
            stage_bytes: warp_specialized::smem_bytes(1, Self::STAGE_BYTES),
            multicasts: true,
            ..Self::mapped(precision)
        }
    }

    /// A step of this shape, without its names, schedule and shared memory.
    const fn mapped(precision: Precision) -> Step {
        assert!(BM.is_multiple_of(WGMMA_M) && BN == 2 * ACC as u32, "accumulators fill the tile");
        let element = precision.input();
        Step {
            precision,
            output: element,
            target: Target::Sm90a,
            tile: Tile { bm: BM, bn: BN, bk: BK, tm: 2, tn: ACC as u32 / 2 },
            block: [Self::THREADS, 1, 1],
            prepasses: const { &[align(Operand::A, Element::F16), align(Operand::B, Element::F16)] },
            maps: Some(Ab { a: swizzled(element, BM, ROW), b: swizzled(element, BK, Self::PANEL) }),
            transposed: Transposed::Mapped(Ab { a: swizzled(element, BK, ROW), b: swizzled(element, BN, ROW) }),
            ..Step::PLAIN
        }
    }
}

/// A box whose rows, of at most 128 bytes, are swizzled.
const fn swizzled(element: Element, rows: u32, cols: u32) -> TmaBox {
    TmaBox { element, extent: Extent { rows, cols }, swizzled: true }
}
