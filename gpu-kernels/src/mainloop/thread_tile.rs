//! A thread's TM x TN tile of a BM x BN block tile: its coordinates and its fragments.
//!
//! ```text
//!   b_smem (BK, BN), swizzled: chunks of VEC columns by bank         lanes of a warp: 2 x 16 thread tiles
//!   bank   0   4   8  12  16  20  24  28                              ┌───┬───┬───┬─────┬────┐
//!        │ 0 │ 1 │ 2 │ 3 │ 4 │ 5 │ 6 │ 7 │   columns  0 to 31         │ 0 │ 2 │ 4 │ ... │ 30 │
//!        │ 9 │ 8 │11 │10 │13 │12 │15 │14 │   columns 32 to 63         │ 1 │ 3 │ 5 │ ... │ 31 │
//!                                                                     └───┴───┴───┴─────┴────┘
//! ```

use crate::Coord;
use crate::hardware::VEC;
use crate::ptx::f32x4;
use cuda_std::prelude::*;

/// The first element of this thread's TM x TN tile in the block tile. Lanes 2i and 2i + 1 share their columns, so that one
/// wavefront of a 128-bit load serves 16 lanes instead of 8.
#[inline(always)]
pub(crate) fn thread_coord<const BN: u32, const TM: u32, const TN: u32>() -> Coord {
    let tid = thread::thread_idx_x();
    Coord { row: tid / (2 * BN / TN) * 2 * TM + tid % 2 * TM, col: tid / 2 % (BN / TN) * TN }
}

/// The element of the block tile that belongs to `acc[i][j]` of a thread at `thread`.
#[inline(always)]
pub(crate) fn element(thread: Coord, i: u32, j: u32) -> Coord {
    Coord { row: thread.row + i, col: thread.col + j }
}

/// The first of the VEC adjacent elements that this thread copies of a k-tile whose rows have COLS elements.
#[inline(always)]
pub(crate) fn copy_coord<const COLS: u32>() -> Coord {
    let tid = thread::thread_idx_x();
    Coord { row: tid / (COLS / VEC), col: tid % (COLS / VEC) * VEC }
}

/// The position of a column in a row of `b_smem`: adjacent chunks are exchanged in every other 32 columns.
#[inline(always)]
pub(crate) fn swizzle(col: u32) -> u32 {
    col ^ (col / 32 % 2 * VEC)
}

/// Loads a fragment of N values from shared memory by 128-bit loads; `element(i)` is the address of value i.
///
/// # Safety
/// For each multiple i of VEC, `element(i)` has VEC values in bounds of the array and is a multiple of 16 bytes.
#[inline(always)]
pub(crate) unsafe fn fragment<const N: usize>(element: impl Fn(u32) -> *const f32) -> [f32; N] {
    let mut frag = [0.0; N];
    for (v, vector) in frag.as_chunks_mut().0.iter_mut().enumerate() {
        // SAFETY: in bounds of the array and aligned, upheld by the caller.
        *vector = unsafe { f32x4::load(element(v as u32 * VEC)) };
    }
    frag
}
