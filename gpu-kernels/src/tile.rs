//! A warp's part of a block's tile on the CUDA cores: which elements each lane has, its fragments, its outer product, its C.
//!
//! ```text
//!   a_smem (BK, BM)          8 x 4 lanes of a warp          C (BM, BN)
//!     d → │ ▒▒▒▒ ░░░░ ... │     each TM x TN, as TM/4 x TN/4 squares of 4 x 4
//!   b_smem (BK, BN)          a square of one lane lies beside that of the next
//! ```

use crate::f32x4::{self, VEC};
use crate::gemm::Gemm;
use crate::ptx::compiler;
use cuda_std::prelude::*;

/// Lanes of a warp along m and n.
pub(crate) const LANES_M: u32 = 8;
pub(crate) const LANES_N: u32 = 4;
pub(crate) const WARP: u32 = 32;

/// The first row and column of this thread's fragments, in a block of `WARPS_N` warps along n.
///
/// No two neighbouring lanes read the same of A or of B. If they did, a load of 128 bits would take half the passes through
/// shared memory, but its values would come faster than registers can be written beside the FMAs' results.
#[inline(always)]
pub(crate) fn place<const WARPS_N: u32, const TM: usize, const TN: usize>() -> (u32, u32) {
    let (warp, lane) = (thread::thread_idx_x() / WARP, thread::thread_idx_x() % WARP);
    let (warp_row, warp_col) = (warp / WARPS_N * LANES_M * TM as u32, warp % WARPS_N * LANES_N * TN as u32);
    let (lane_row, lane_col) = (lane % LANES_M, ((lane / LANES_M) ^ lane) % LANES_N);
    (warp_row + lane_row * VEC, warp_col + lane_col * VEC)
}

/// Reads N values from shared memory, VEC neighbours at a time, with VEC of each other lane of `lanes` between them.
///
/// # Safety
/// They are inside the array, the first at a multiple of 16 bytes.
#[inline(always)]
pub(crate) unsafe fn fragment<const N: usize>(smem: *const f32, lanes: u32) -> [f32; N] {
    let mut frag = [0.0; N];
    for (v, vector) in frag.as_chunks_mut().0.iter_mut().enumerate() {
        // SAFETY: inside and aligned, by the caller's promise.
        *vector = unsafe { f32x4::load(smem.add(v * (lanes * VEC) as usize)) };
    }
    frag
}

/// The outer product of the fragments. Every other column runs backwards, so that neighbours share an operand.
#[inline(always)]
pub(crate) fn multiply<const TM: usize, const TN: usize>(acc: &mut [[f32; TN]; TM], a: &[f32; TM], b: &[f32; TN]) {
    for j in 0..TN {
        for step in 0..TM {
            let i = if j % 2 == 0 { step } else { TM - 1 - step };
            acc[i][j] = a[i].mul_add(b[j], acc[i][j]);
        }
    }
}

/// The row and column in the block's tile of a thread's sum (`i`, `j`) of TM x TN.
///
/// Of A's slices that [`crate::pipeline`] has transposed, neighbours in a fragment are rows that are LANES_M apart.
#[inline(always)]
pub(crate) fn element((row, col): (u32, u32), transposed: bool, i: u32, j: u32) -> (u32, u32) {
    let (first_row, apart) =
        if transposed { (row / (LANES_M * VEC) * LANES_M * VEC + row / VEC % LANES_M, LANES_M) } else { (row, 1) };
    (first_row + i / VEC * LANES_M * VEC + i % VEC * apart, col + j * LANES_N)
}

/// Calls `f` with the row, the column and the sums of each VEC neighbours that this thread has in the block's tile.
#[inline(always)]
pub(crate) fn for_each<const TM: usize, const TN: usize>(
    (row, col): (u32, u32),
    transposed: bool,
    acc: &[[f32; TN]; TM],
    mut f: impl FnMut(u32, u32, [f32; VEC as usize]),
) {
    let place = (compiler::anew(row), compiler::anew(col));
    for i in 0..TM as u32 {
        for j in (0..TN as u32).step_by(VEC as usize) {
            let (row, col) = element(place, transposed, i, j);
            f(row, col, core::array::from_fn(|v| acc[i as usize][j as usize + v]));
        }
    }
}

/// Whether the `bm` x `bn` tile at the start of `g` is inside C, at multiples of 16 bytes.
#[inline(always)]
pub(crate) fn fits(g: &Gemm, bm: u32, bn: u32) -> bool {
    g.m >= bm && g.n >= bn && f32x4::aligned(g.c, g.ldc)
}

/// C = alpha*sums + beta*C for VEC neighbours of a row; one by one unless the whole tile `fits` and C is aligned.
///
/// # Safety
/// `c` is (m, n) with `ldc`, and no other thread touches these elements.
#[inline(always)]
pub(crate) unsafe fn store(g: &Gemm, fits: bool, row: u32, col: u32, sums: [f32; VEC as usize]) {
    // SAFETY: inside C, or guarded.
    unsafe {
        if fits {
            let c = g.c(row, col); // (1, VEC)
            let old = if g.beta == 0.0 { [0.0; VEC as usize] } else { f32x4::load(c) };
            f32x4::store(c, core::array::from_fn(|v| g.blend(sums[v], old[v])));
        } else {
            for v in 0..VEC {
                g.store(row, col + v, sums[v as usize]);
            }
        }
    }
}
