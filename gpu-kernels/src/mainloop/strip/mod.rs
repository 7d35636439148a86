//! Products of 16-bit operands, B of a few columns: a block has a strip of A's rows, and its warps share k without waiting for each other.
//!
//! ```text
//!            k ──►   32 of a warp
//!          ┌────────┬────────┬──── ─ ┬────────┬────────┐
//!     rows │ warp 0 │ warp 1 │       │ warp 7 │ warp 0 │ ...       ─► 8 partial tiles ─► C
//!          └────────┴────────┴──── ─ ┴────────┴────────┘
//! ```
//!
//! A lane's vectors of A along k are fragments of MMAs as in [`long`](super::long). A strip is so low that there are blocks enough without
//! splitting k among them, and each k is of one warp, whose part of B no other warp reads. Both go asynchronously to shared memory of the warp
//! alone, and all that fits there is asked for at once. The one barrier is that before the sum over the warps.
//!
//! What does not begin at multiples of 16 bytes, or is less than a vector, is loaded element by element.
//!
//! [`ColumnStrip`] is the same where A has few rows and B's are contiguous: a strip of 64 columns.

use crate::hardware::WARP;
use crate::prepass::align::align;
use crate::{Element, Operand, Precision, Schedule, Step, Target, Tile, Transposed};

#[cfg(feature = "device")]
mod column_copies;
#[cfg(feature = "device")]
mod columns;
#[cfg(feature = "device")]
mod copies;
#[cfg(feature = "device")]
mod kernel;
#[cfg(feature = "device")]
mod partial;
#[cfg(feature = "device")]
mod steps;
#[cfg(feature = "device")]
mod vectors;

/// Elements of 16 bytes.
const VECTOR: u32 = 8;
/// Rows of A in an MMA. Its other operand, of sixteen columns of B, stands where A usually does.
const MMA_ROWS: u32 = 8;
/// Columns of B: so many times eight.
const OCTETS: usize = 2;
const FEW: u32 = OCTETS as u32 * VECTOR;
/// k of a warp in a step: a vector of each of the lanes that share a row.
const STEP_K: u32 = 4 * VECTOR;
/// What a split's k is a multiple of: lines of 128 bytes.
const BK: u32 = 64;
/// Bytes of a part of a step: eight rows, or eight columns.
const PART_BYTES: u32 = STEP_K * VECTOR * 2;

/// More columns are not for strips of eight warps: most of what these load is B then, 32 bytes of a row at a time.
const MOST_COLUMNS: u32 = 1024;

/// Tiles of BLOCKS times [`MMA_ROWS`] of A and [`FEW`] columns of B, whose k so many warps share. So many steps of each are in flight; RUN of them are
/// adjacent, and then come those of the other warps.
pub(crate) struct Strip<const BLOCKS: usize, const WARPS: u32, const STEPS: u32, const RUN: u32>;

impl<const BLOCKS: usize, const WARPS: u32, const STEPS: u32, const RUN: u32> Strip<BLOCKS, WARPS, STEPS, RUN> {
    pub const ANY_LAYOUT_THREADS: u32 = WARPS * WARP;
    const ROWS: u32 = BLOCKS as u32 * MMA_ROWS;
    /// A step in shared memory: vectors of A's rows, then of B's columns.
    const SLOT_BYTES: u32 = (BLOCKS + OCTETS) as u32 * PART_BYTES;
    /// Shared memory of a warp: a ring of slots, and its partial tile in their place.
    const WARP_BYTES: u32 = STEPS * Self::SLOT_BYTES;
    /// Words from a column of a partial tile to the next, so that lanes store to different banks.
    const PITCH: u32 = Self::ROWS + 4;
    const PARTIAL_BYTES: u32 = FEW * Self::PITCH * 4;

    /// A step of this shape, of which an SM holds so many blocks, without its names.
    pub const fn any_layout_step(precision: Precision, blocks_per_sm: u32) -> Step {
        const { assert!(2 * Self::PARTIAL_BYTES <= Self::WARP_BYTES, "the block's sums fit behind the first partial tile") }
        Step {
            precision,
            output: precision.input(),
            target: Target::Sm90a,
            tile: Tile { bm: Self::ROWS, bn: FEW, bk: BK, tm: Self::ROWS * FEW / Self::ANY_LAYOUT_THREADS, tn: 1 },
            block: [Self::ANY_LAYOUT_THREADS, 1, 1],
            schedule: Schedule::PlannedSplitK { blocks_per_sm, reduction_k: 8 * BK, is_busy: true },
            transposed: Transposed::ReadB,
            dynamic_smem_bytes: WARPS * Self::WARP_BYTES,
            most_columns: if WARPS < 8 { u32::MAX } else { MOST_COLUMNS },
            ..Step::PLAIN
        }
    }
}

/// Tiles of [`FEW`] rows of A and BLOCKS times eight columns of B, whose k so many warps share, with so many steps in flight.
pub(crate) struct ColumnStrip<const BLOCKS: usize, const WARPS: u32, const STEPS: u32>;

impl<const BLOCKS: usize, const WARPS: u32, const STEPS: u32> ColumnStrip<BLOCKS, WARPS, STEPS> {
    pub const ANY_LAYOUT_THREADS: u32 = WARPS * WARP;
    const COLUMNS: u32 = BLOCKS as u32 * MMA_ROWS;

    /// A step of this shape, of which an SM holds so many blocks, without its names.
    pub const fn any_layout_step(precision: Precision, blocks_per_sm: u32) -> Step {
        let strip = Strip::<BLOCKS, WARPS, STEPS, 1>::any_layout_step(precision, blocks_per_sm);
        Step {
            block: [Self::ANY_LAYOUT_THREADS, 1, 1],
            tile: Tile { bm: FEW, bn: Self::COLUMNS, bk: BK, tm: 1, tn: strip.tile.tm },
            prepasses: const { &[align(Operand::A, Element::F16), align(Operand::B, Element::F16)] },
            transposed: Transposed::ByPrepass,
            schedule: Schedule::PlannedSplitK { blocks_per_sm, reduction_k: 6 * BK, is_busy: true },
            sides: [1, FEW],
            most_columns: u32::MAX,
            ..strip
        }
    }
}
