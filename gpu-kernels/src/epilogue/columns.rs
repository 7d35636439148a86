//! The layout of C^T for the staged epilogue: accumulator rows are columns of C.

use super::LINE;
use super::direct::OCTET;
use super::staged::{Layout, PIECE, ROUND, Region};
use crate::hardware::{WARP, WARPGROUP};
use crate::{Coord, Extent};
use cuda_std::prelude::*;

/// Columns of a panel of B, which two warps share.
const PANEL: u32 = 32;

/// The column, of the warpgroup's 64, of this thread's first row of B^T; its second row is four columns on.
#[inline(always)]
pub(crate) fn column() -> u32 {
    warp_column() + warp::lane_id() / 16 * 16 + warp::lane_id() / 4 % 4
}

/// The first such column of this thread's warp.
#[inline(always)]
fn warp_column() -> u32 {
    let warp = thread::thread_idx_x() % WARPGROUP / WARP;
    warp / 2 * PANEL + warp % 2 * 8
}

/// C^T: accumulator rows are columns of C. A warp has 8 columns, and 8 more that begin 16 further on; a line has two rows
/// of them.
pub(crate) struct Columns;

impl Layout for Columns {
    const ROWS: u32 = 2;
    const COLUMNS: u32 = 0;

    #[inline(always)]
    fn region(acc: u32) -> Region {
        Region { first: Coord { row: 0, col: warp_column() }, extent: Extent { rows: 2 * acc, cols: 24 } }
    }

    #[inline(always)]
    fn piece(piece: u32) -> Coord {
        Coord { row: piece / 4, col: piece % 4 / 2 * 16 + piece % 2 * PIECE }
    }

    #[inline(always)]
    fn swizzle(line: u32) -> u32 {
        line % 2 + line % 4 / 2 * 4
    }

    /// lane / 4 is the column: four contiguous ones, then those 16 on; accumulators of odd pairs are four columns on.
    #[inline(always)]
    unsafe fn put<const ACC: usize>(buffer: *mut f32, lane: u32, acc: &[f32; ACC], round: usize) {
        let (column, line) = (lane / 4, lane % 4);
        let word = line * LINE + ((column / 4 * 2) ^ Self::swizzle(line)) * PIECE + column % 4;
        for i in 0..ROUND {
            let piece = i % OCTET / 2 + i % 2 * 4; // the other half; the other row
            let to = (word ^ (piece as u32 * PIECE)) as usize + i / OCTET * (4 * LINE) as usize;
            // SAFETY: inside the buffer, upheld by the caller.
            unsafe { *buffer.add(to) = acc[round * ROUND + i] };
        }
    }
}
