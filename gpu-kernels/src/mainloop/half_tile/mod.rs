//! A mainloop of `wgmma` for small tiles of 16-bit operands, each of which may be stored transposed.
//!
//! ```text
//!   one thread of the last warp ── TMA loads ──► ring of stages ──► one or two consumer warpgroups, 64 x BN of C each
//!
//!   in a stage:   A            (BM, 64) k-major, or panels of (64, 64) m-major where it is stored transposed
//!                 B            panels of (64, 64) n-major, or (BN, 64) k-major where it is stored transposed
//! ```
//!
//! `wgmma` reads elements of 16 bits either way, at no cost; which way, its instruction says. So there is a loop for each of the four
//! combinations. The producer is one warp, and no registers are moved to the consumers: several blocks share an SM.

use crate::epilogue::partial_smem_bytes;
use crate::hardware::{SWIZZLE_BYTES, WARP, WARPGROUP, WGMMA_M};
use crate::mainloop::warp_specialized;
use crate::prepass::align::align;
use crate::{Ab, Element, Extent, Operand, Precision, Schedule, Step, Target, Tile, TmaBox, Transposed};

#[cfg(feature = "device")]
mod stages;
#[cfg(feature = "device")]
pub(crate) use stages::Mapped;

/// Elements in a row of shared memory.
const ROW: u32 = SWIZZLE_BYTES / 2;
const BK: u32 = ROW;

/// Tiles of 64 WARPGROUPS x 2 ACC, of which BLOCKS are resident on an SM.
pub(crate) struct HalfTile<const WARPGROUPS: u32, const ACC: usize, const STAGES: u32, const BLOCKS: u32>;

impl<const WARPGROUPS: u32, const ACC: usize, const STAGES: u32, const BLOCKS: u32>
    HalfTile<WARPGROUPS, ACC, STAGES, BLOCKS>
{
    const BM: u32 = WARPGROUPS * WGMMA_M;
    const BN: u32 = 2 * ACC as u32;
    pub const TILE: Tile = Tile { bm: Self::BM, bn: Self::BN, bk: BK, tm: 2, tn: ACC as u32 / 2 };
    pub const CONSUMER_THREADS: u32 = WARPGROUPS * WARPGROUP;
    pub const THREADS: u32 = Self::CONSUMER_THREADS + WARP;
    /// Blocks that are resident on an SM.
    pub const RESIDENT: u32 = BLOCKS;
    const A_BYTES: u32 = Self::BM * SWIZZLE_BYTES;
    /// Columns of a panel of an n-major B.
    const PANEL: u32 = if Self::BN < ROW { Self::BN } else { ROW };
    const STAGE_BYTES: u32 = Self::A_BYTES + Self::BN * SWIZZLE_BYTES;

    /// A step of this shape, whose blocks are worth splitting k for from `least_k` on, without its names.
    pub const fn step(precision: Precision, least_k: u32) -> Step {
        let smem_bytes = warp_specialized::smem_bytes(STAGES, Self::STAGE_BYTES);
        assert!(partial_smem_bytes(Self::BM, Self::BN) <= smem_bytes, "the partial tile fits where the stages were");
        let element = precision.input();
        Step {
            precision,
            output: element,
            target: Target::Sm90a,
            tile: Self::TILE,
            block: [Self::THREADS, 1, 1],
            schedule: Schedule::PlannedSplitK { blocks_per_sm: Self::RESIDENT, least_k },
            prepasses: const { &[align(Operand::A, Element::F16), align(Operand::B, Element::F16)] },
            maps: Some(Ab { a: swizzled(element, Self::BM, ROW), b: swizzled(element, BK, Self::PANEL) }),
            transposed: Transposed::Mapped(Ab { a: swizzled(element, BK, ROW), b: swizzled(element, Self::BN, ROW) }),
            dynamic_smem_bytes: smem_bytes,
            ..Step::PLAIN
        }
    }
}

/// A box whose rows, of at most 128 bytes, are swizzled.
const fn swizzled(element: Element, rows: u32, cols: u32) -> TmaBox {
    TmaBox { element, extent: Extent { rows, cols }, swizzled: true }
}
