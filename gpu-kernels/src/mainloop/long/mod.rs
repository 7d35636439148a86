//! Products of 16-bit operands one of which is narrow: fragments of the long operand come straight from global memory to registers.
//!
//! ```text
//!   long operand, k contiguous: a warp has 16 rows         rows contiguous: a warp has 64 rows
//!            k ──►  32, 16 bytes of a lane                          rows ──►  64, 16 bytes of a lane
//!          ┌────────┬────────┬────────┬────────┐               ┌────────┬────────┬──── ─ ┬────────┐
//!    row 0 │ lane 0 │ lane 1 │ lane 2 │ lane 3 │           k 0 │ lane 0 │ lane 4 │       │ lane 28│
//!    row 1 │ lane 4 │ lane 5 │ lane 6 │ lane 7 │           k 1 │ lane 0 │ lane 4 │       │ lane 28│
//!      ... └────────┴────────┴────────┴────────┘           k 2 └────────┴────────┴──── ─ ┴────────┘ lane 1, 5 ...
//! ```
//!
//! An MMA adds its products over k in any order, and has its rows in any order, as long as both operands agree. So a lane's vector of
//! 16 bytes is all that two MMAs take of a row, where k is contiguous, or that four MMAs take of a k, where rows are. There are eight vectors of
//! a lane in flight, and no barrier waits for them. The narrow operand goes through shared memory, a chunk of k after the other.
//!
//! What does not begin at multiples of 16 bytes, or is less than a vector, is loaded element by element.

use crate::hardware::WARP;
use crate::{Precision, Schedule, Step, Target, Tile, Transposed};

#[cfg(feature = "device")]
mod kernel;
#[cfg(feature = "device")]
mod matrix;
#[cfg(feature = "device")]
mod partial;
#[cfg(feature = "device")]
mod vectors;

/// Elements of 16 bytes.
const VECTOR: u32 = 8;
/// Warps of a block.
const WARPS: u32 = 8;
const THREADS: u32 = WARPS * WARP;
/// Rows of the long operand in a tile, and of the narrow one.
const ROWS: u32 = 64;
const FEW: u32 = OCTETS as u32 * VECTOR;
/// Columns of the MMAs: so many times eight.
const OCTETS: usize = 2;
/// What a split's k is a multiple of: lines of 128 bytes.
const BK: u32 = 64;
/// Depth of the narrow operand in shared memory.
const CHUNK: u32 = 256;
/// Bytes of a chunk.
const CHUNK_BYTES: u32 = CHUNK * FEW * 2;
/// Words from a vector of a partial tile to the next, so that lanes store to different banks.
const PITCH: u32 = ROWS + 4;
const PARTIAL_WORDS: u32 = FEW * PITCH;

/// Tiles of [`ROWS`] of A, which is long, and [`FEW`] columns of B.
pub(crate) struct Long;

impl Long {
    pub const ANY_LAYOUT_THREADS: u32 = THREADS;

    /// A step of this shape, of which an SM holds so many blocks, without its names.
    pub const fn any_layout_step(precision: Precision, blocks_per_sm: u32) -> Step {
        const { assert!(2 * CHUNK_BYTES <= WARPS * PARTIAL_WORDS * 4, "chunks fit where the partial tiles come") }
        Step {
            precision,
            output: precision.input(),
            target: Target::Sm90a,
            tile: Tile { bm: ROWS, bn: FEW, bk: BK, tm: 4, tn: 1 },
            block: [Self::ANY_LAYOUT_THREADS, 1, 1],
            schedule: Schedule::PlannedSplitK { blocks_per_sm, reduction_k: 24 * BK, is_busy: false },
            transposed: Transposed::Read,
            dynamic_smem_bytes: WARPS * PARTIAL_WORDS * 4,
            ..Step::PLAIN
        }
    }
}
