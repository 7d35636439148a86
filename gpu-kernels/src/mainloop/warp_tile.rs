//! A warp's WM x WN tile of a block tile, on the CUDA cores: its lanes' coordinates, fragments, outer product and elements.
//!
//! ```text
//!   a_smem (BK, BM)          8 x 4 lanes of a warp          C (BM, BN)
//!     d → │ ▒▒▒▒ ░░░░ ... │     each TM x TN, as TM/4 x TN/4 squares of 4 x 4
//!   b_smem (BK, BN)          squares of adjacent lanes are adjacent
//! ```

use crate::Coord;
use crate::hardware::{VEC, WARP};
use crate::mainloop::{LANES_M, LANES_N};
use crate::ptx::{compiler, f32x4};
use cuda_std::prelude::*;

/// The first element of this thread's tile in a block tile of `WARPS_N` warps along n.
///
/// No two adjacent lanes load the same values of A or of B. If they did, a 128-bit load would need half the wavefronts, but its
/// values would arrive faster than they can be written to registers beside the results of the FMAs.
#[inline(always)]
pub(crate) fn thread_coord<const WARPS_N: u32, const TM: usize, const TN: usize>() -> Coord {
    let (warp, lane) = (thread::thread_idx_x() / WARP, thread::thread_idx_x() % WARP);
    let (warp_row, warp_col) = (warp / WARPS_N * LANES_M * TM as u32, warp % WARPS_N * LANES_N * TN as u32);
    let (lane_row, lane_col) = (lane % LANES_M, ((lane / LANES_M) ^ lane) % LANES_N);
    Coord { row: warp_row + lane_row * VEC, col: warp_col + lane_col * VEC }
}

/// [`thread_coord`], of thread tiles of `tm` x `tn`, for quads of 2 x 2 lanes: lanes that load the same values are adjacent or two apart, so that one wavefront of a
/// 128-bit load serves 16 lanes.
#[inline(always)]
pub(crate) fn thread_coord_in_quads(warps_n: u32, tm: u32, tn: u32) -> Coord {
    let (warp, lane) = (thread::thread_idx_x() / WARP, lane_in_quads(thread::thread_idx_x() % WARP));
    let (warp_row, warp_col) = (warp / warps_n * LANES_M * tm, warp % warps_n * LANES_N * tn);
    Coord { row: warp_row + lane.row * VEC, col: warp_col + lane.col * VEC }
}

/// Where a lane is among LANES_M x LANES_N, in quads of 2 x 2.
#[inline(always)]
pub(crate) fn lane_in_quads(lane: u32) -> Coord {
    let (quad_row, quad_col) = (lane / 4 / (LANES_N / 2), lane / 4 % (LANES_N / 2));
    Coord { row: quad_row * 2 + lane / 2 % 2, col: quad_col * 2 + lane % 2 }
}

/// Loads a fragment of N values from shared memory, VEC adjacent ones at a time, with those of the other `lanes` in between.
///
/// # Safety
/// They are in bounds of the array, the first at a multiple of 16 bytes.
#[inline(always)]
pub(crate) unsafe fn fragment<const N: usize>(smem: *const f32, lanes: u32) -> [f32; N] {
    let mut frag = [0.0; N];
    for (v, vector) in frag.as_chunks_mut().0.iter_mut().enumerate() {
        // SAFETY: in bounds of the array and aligned, upheld by the caller.
        *vector = unsafe { f32x4::load(smem.add(v * (lanes * VEC) as usize)) };
    }
    frag
}

/// acc += the outer product of the fragments. Columns alternate in direction, so that consecutive FMAs share an operand.
#[inline(always)]
pub(crate) fn outer_product<const TM: usize, const TN: usize>(
    acc: &mut [[f32; TN]; TM],
    a_frag: &[f32; TM],
    b_frag: &[f32; TN],
) {
    for j in 0..TN {
        for i in 0..TM {
            let i = if j % 2 == 0 { i } else { TM - 1 - i };
            acc[i][j] = a_frag[i].mul_add(b_frag[j], acc[i][j]);
        }
    }
}

/// The element of the block tile that belongs to `acc[i][j]` of a thread at `thread`.
///
/// Where [`crate::mainloop::simt_tma`] has transposed A, the rows of adjacent values of a fragment are LANES_M apart.
#[inline(always)]
pub(crate) fn element(thread: Coord, is_transposed: bool, i: u32, j: u32) -> Coord {
    let (row, stride) = if is_transposed {
        (thread.row / (LANES_M * VEC) * LANES_M * VEC + thread.row / VEC % LANES_M, LANES_M)
    } else {
        (thread.row, 1)
    };
    Coord { row: row + i / VEC * LANES_M * VEC + i % VEC * stride, col: thread.col + j * LANES_N }
}

/// Calls `f` with the row, the column and the values of each VEC adjacent accumulators of this thread.
#[inline(always)]
pub(crate) fn for_each<const TM: usize, const TN: usize>(
    thread: Coord,
    is_transposed: bool,
    acc: &[[f32; TN]; TM],
    mut f: impl FnMut(u32, u32, [f32; VEC as usize]),
) {
    let thread = Coord { row: compiler::opaque(thread.row), col: compiler::opaque(thread.col) };
    for i in 0..TM as u32 {
        for j in (0..TN as u32).step_by(VEC as usize) {
            let Coord { row, col } = element(thread, is_transposed, i, j);
            f(row, col, core::array::from_fn(|v| acc[i as usize][j as usize + v]));
        }
    }
}

/// [`for_each`] of accumulators that are adjacent in a column.
#[inline(always)]
pub(crate) fn for_each_down<const TM: usize, const TN: usize>(
    thread: Coord,
    acc: &[[f32; TN]; TM],
    mut f: impl FnMut(u32, u32, [f32; VEC as usize]),
) {
    let thread = Coord { row: compiler::opaque(thread.row), col: compiler::opaque(thread.col) };
    for i in (0..TM as u32).step_by(VEC as usize) {
        for j in 0..TN as u32 {
            let Coord { row, col } = element(thread, false, i, j / VEC * VEC);
            f(row, col + j % VEC, core::array::from_fn(|v| acc[i as usize + v][j as usize]));
        }
    }
}
