//! Products of 16-bit operands one of which is narrow, in any order and at any alignment: a long operand passes once, at the speed of memory.
//!
//! ```text
//!   long operand, k contiguous:                       rows contiguous:
//!        k ──►      128 of k in a k-tile                  rows ──►   128 in a tile
//!      ┌──────────────────────────┐                    ┌──────────────────────────┐
//!      │ warp 0: row 0, 8, 16 ... │                  k │ warp 0: k 0, 8, 16 ...   │
//!      │ warp 1: row 1, 9, 17 ... │                  │ │ warp 1: k 1, 9, 17 ...   │
//!      │ ...                      │                  ▼ │ ...                      │
//!      └──────────────────────────┘                    └──────────────────────────┘
//! ```
//!
//! Every eighth line of a matrix, a row or a k, has the same alignment, whatever its leading dimension: eight lines are a multiple of 16
//! bytes. So a warp has every eighth line, and copies vectors of 16 bytes from the last multiple of 16 bytes before the tile on. Where k is
//! contiguous, all its k-tiles begin some elements earlier, and it reads as much earlier rows of the narrow operand. Where rows are, its accumulators are
//! those of some rows before the tile's, which the sum over all warps leaves out.

use crate::hardware::WARP;
use crate::{Precision, Schedule, Step, Target, Tile, Transposed};

#[cfg(feature = "device")]
mod kernel;
#[cfg(feature = "device")]
mod long;
#[cfg(feature = "device")]
mod vectors;

/// Elements of a vector of 16 bytes, and lines from one of a warp to its next.
const VECTOR: u32 = 8;
/// Warps of a block.
const WARPS: u32 = VECTOR;
const THREADS: u32 = WARPS * WARP;
/// Rows of the long operand in a tile.
const ROWS: u32 = 128;
/// Depth of a k-tile.
const BK: u32 = 128;
/// Lines of a warp in a k-tile.
const LINES: u32 = BK / VECTOR;
/// Bytes of a line in shared memory: those of one vector more, so that matrices are loaded without bank conflicts.
const LINE_BYTES: u32 = BK * 2 + 16;
const WARP_BYTES: u32 = LINES * LINE_BYTES;
const STAGE_BYTES: u32 = WARPS * WARP_BYTES;
/// Words between the rows of a partial tile.
const PAD: u32 = 8;

/// Tiles of BM x BN, one of which is [`ROWS`] of the long operand, the other OCTETS times eight of the narrow one.
pub(crate) struct Narrow<const BM: u32, const BN: u32, const OCTETS: usize, const STAGES: u32>;

impl<const BM: u32, const BN: u32, const OCTETS: usize, const STAGES: u32> Narrow<BM, BN, OCTETS, STAGES> {
    pub const ANY_LAYOUT_THREADS: u32 = THREADS;
    /// Bytes of the narrow operand's k-tile, and the rows before it.
    const NARROW_BYTES: u32 = (BK + VECTOR) * OCTETS as u32 * 16;

    /// A step of this shape, of which an SM holds so many blocks, without its names.
    pub const fn any_layout_step(precision: Precision, blocks_per_sm: u32) -> Step {
        let narrow = OCTETS as u32 * VECTOR;
        assert!(BM == ROWS && BN == narrow || BM == narrow && BN == ROWS, "one operand is narrow");
        assert!(
            OCTETS.is_power_of_two() && VECTOR * narrow <= THREADS,
            "a thread has one element of the rows before a k-tile"
        );
        assert!(
            WARPS * BM * (BN + PAD) * 4 <= STAGES * STAGE_BYTES,
            "the warps' partial tiles fit where the stages were"
        );
        Step {
            precision,
            output: precision.input(),
            target: Target::Sm90a,
            tile: Tile { bm: BM, bn: BN, bk: BK, tm: BM / 16, tn: BN / 16 },
            block: [Self::ANY_LAYOUT_THREADS, 1, 1],
            schedule: Schedule::PlannedSplitK { blocks_per_sm, reduction_k: 3 * BK, is_busy: false },
            transposed: Transposed::Read,
            dynamic_smem_bytes: STAGES * STAGE_BYTES + 2 * Self::NARROW_BYTES,
            ..Step::PLAIN
        }
    }
}
