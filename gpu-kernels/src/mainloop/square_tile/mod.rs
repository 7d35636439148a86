//! A mainloop of warps' MMAs for square tiles of f32, truncated to TF32, in any order and at any alignment.
//!
//! ```text
//!                     lines in global        lines in shared memory                       fragments
//!   k contiguous      a row, along k      ─► a row, swizzled              (SIDE, BK)      ─► ldmatrix, four words of eight rows each
//!     at any address                      ─► a row, from s words before   (SIDE, BK + 4)  ─► a word of each lane
//!   rows contiguous   a k, along rows     ─► a k, from s words before     (BK, SIDE + 8)  ─► a word of each lane
//! ```
//!
//! All is copied by `cp.async` of 16 bytes, at any alignment. Global and shared memory are divided alike, so a line that begins s words behind a
//! multiple of 16 bytes does so in shared memory, too, and has one vector more. Every fourth line has the same s, whatever the leading dimension,
//! and a lane's words of fragments are of every fourth line: s is a constant of a thread. A line's last vector is copied as far as the line goes;
//! the words before its first one are whatever is there, and nobody reads them, but nothing before the operand is copied.
//!
//! "Rows" are those of A or the columns of B. Of a tile at the edge of C, the operand with fewer rows is the narrow one, be it A or B:
//! what is beyond its last sixteen is neither copied nor multiplied. So one kernel suits tall, wide and square results.
//!
//! A swizzled row's vectors of 16 bytes, eight of them, change places by the row's number: those of the same k of eight rows lie in different
//! banks. Of lines in other orders, the words of a fragment lie in different banks where all have the same s, or else in each bank two at most.
//! And both halves of 32 bytes stay in such, as `cp.async` wants it: padding has room for that, and rows along k change places.

use crate::hardware::{SWIZZLE_ATOM_BYTES, SWIZZLE_BYTES, WARP};
use crate::{Precision, Schedule, Step, Target, Tile, Transposed};

#[cfg(feature = "device")]
mod copies;
#[cfg(feature = "device")]
mod fragments;
#[cfg(feature = "device")]
mod kernel;
#[cfg(feature = "device")]
mod lines;

/// Depth of a k-tile.
const BK: u32 = 32;
/// What a reduction takes: four k-tiles.
const REDUCTION_K: u32 = 4 * BK;
/// Rows of a fragment, and so the least of an operand that are left out.
const FRAGMENT: u32 = 16;
/// Bytes of a row where k is contiguous, of which eight are swizzled.
const K_BYTES: u32 = SWIZZLE_BYTES;
const _: () = assert!(K_BYTES == BK * 4, "a row is swizzled as a whole");
/// Those of one that begins between multiples of 16 bytes.
const SHIFTED_K_BYTES: u32 = K_BYTES + 16;
/// Words between the lines in shared memory where rows are contiguous: four for a start between multiples of 16 bytes, and four for one in the
/// second half of a sector.
const ROW_PAD: u32 = 8;
/// Rows of the wide operand that a warp multiplies: two fragments. With those of as many of the narrow one, two warps have fragments in turn.
const WARP_ROWS: u32 = 2 * FRAGMENT;
const WARPS_ACROSS: u32 = 2;
/// Words between the rows of a partial tile.
const PAD: u32 = 8;

/// Tiles of SIDE x SIDE. A warp multiplies two fragments of the wide operand by up to FRAGMENTS of the narrow one.
pub(crate) struct SquareTile<const SIDE: u32, const FRAGMENTS: usize, const STAGES: u32>;

impl<const SIDE: u32, const FRAGMENTS: usize, const STAGES: u32> SquareTile<SIDE, FRAGMENTS, STAGES> {
    pub const THREADS: u32 = SIDE / WARP_ROWS * WARPS_ACROSS * WARP;
    /// Bytes of a line in shared memory where rows are contiguous.
    const ROW_BYTES: u32 = (SIDE + ROW_PAD) * 4;
    /// Bytes of an operand's k-tile, in either order.
    const OPERAND_BYTES: u32 =
        if SIDE * SHIFTED_K_BYTES > BK * Self::ROW_BYTES { SIDE * SHIFTED_K_BYTES } else { BK * Self::ROW_BYTES };
    const STAGE_BYTES: u32 = 2 * Self::OPERAND_BYTES;

    /// A step of this shape, of which an SM holds so many blocks, without its names.
    pub const fn step(blocks_per_sm: u32) -> Step {
        assert!(SIDE == FRAGMENTS as u32 * WARPS_ACROSS * FRAGMENT, "fragments fill the tile");
        assert!(Self::OPERAND_BYTES.is_multiple_of(SWIZZLE_ATOM_BYTES), "the swizzle depends on a row's number alone");
        let smem_bytes = STAGES * Self::STAGE_BYTES;
        assert!(SIDE * (SIDE + PAD) * 4 <= smem_bytes, "the partial tile fits where the stages were");
        Step {
            precision: Precision::Tf32,
            target: Target::Sm90a,
            tile: Tile { bm: SIDE, bn: SIDE, bk: BK, tm: WARP_ROWS / 8, tn: FRAGMENTS as u32 * 4 },
            block: [Self::THREADS, 1, 1],
            schedule: Schedule::PlannedSplitK { blocks_per_sm, reduction_k: REDUCTION_K, is_busy: false },
            transposed: Transposed::Read,
            dynamic_smem_bytes: smem_bytes,
            edge: FRAGMENT,
            ..Step::PLAIN
        }
    }
}
