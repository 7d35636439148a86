//! The epilogue of the CUDA-core kernels: C = alpha\*acc + beta\*C by 128-bit accesses.

use crate::Coord;
use crate::gemm::Gemm;
use crate::hardware::VEC;
use crate::ptx::f32x4;

/// Whether the `bm` x `bn` tile at the start of `g` is in bounds of C and its rows are aligned to 16 bytes.
#[inline(always)]
pub(crate) fn is_full_tile(g: &Gemm, bm: u32, bn: u32) -> bool {
    g.m >= bm && g.n >= bn && f32x4::aligned(g.c, g.ldc)
}

/// Stores this thread's accumulators; `element(i, j)` is where `acc[i][j]` belongs in the block tile.
///
/// # Safety
/// As of [`store_4`], for each multiple j of VEC.
#[allow(clippy::needless_range_loop)] // an iterator would keep the accumulators in memory
#[inline(always)]
pub(crate) unsafe fn store<const TM: usize, const TN: usize>(
    g: &Gemm,
    is_full_tile: bool,
    acc: &[[f32; TN]; TM],
    element: impl Fn(u32, u32) -> Coord,
) {
    for i in 0..TM {
        for j in (0..TN).step_by(VEC as usize) {
            let Coord { row, col } = element(i as u32, j as u32);
            // SAFETY: upheld by the caller.
            unsafe { store_4(g, is_full_tile, row, col, core::array::from_fn(|v| acc[i][j + v])) }
        }
    }
}

/// C = alpha\*acc + beta\*C for VEC adjacent elements of a row: by one store if the tile is full, else bounds-checked, one by one.
///
/// # Safety
/// `c` is (m, n) with `ldc`, and no other thread accesses these elements. If `is_full_tile`, they are in bounds, the first at a
/// multiple of 16 bytes.
#[inline(always)]
pub(crate) unsafe fn store_4(g: &Gemm, is_full_tile: bool, row: u32, col: u32, acc: [f32; VEC as usize]) {
    // SAFETY: in bounds, or checked.
    unsafe {
        if is_full_tile {
            let c = g.c(row, col); // (1, VEC)
            let old = if g.beta == 0.0 { [0.0; VEC as usize] } else { f32x4::load(c) };
            f32x4::store(c, core::array::from_fn(|v| g.axpby(acc[v], old[v])));
        } else {
            for v in 0..VEC {
                g.store(row, col + v, acc[v as usize]);
            }
        }
    }
}
