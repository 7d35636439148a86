//! transposed: a transpose pre-pass and deeper k-tiles.
//!
//! ```text
//!      A (m, k)        Aᵀ (k, m)                   a_smem (BK, BM)       b_smem (BK, BN)
//!     ┌───┬───┐       ┌───┬───┬───┐                 ┌─────────────┐       ┌─────────────┐
//!     │ 1 │ 2 │       │ 1 │ 3 │ 5 │  ┄ BK rows ┄ →  │  ████████   │ ← d   │  ████████   │ ← d
//!     ├───┼───┤   →   ├───┼───┼───┤                 └─────────────┘       └─────────────┘
//!     │ 3 │ 4 │       │ 2 │ 4 │ 6 │                    rows of both are rows of global memory
//!     ├───┼───┤       └───┴───┴───┘
//!     │ 5 │ 6 │       4 x 4 by each thread
//!     └───┴───┘
//! ```
//!
//! Changed since bank-conflicts: a pre-pass (`prepass/transpose.rs`) transposes A in global memory, so that k-tiles of A and B
//! are copied alike, whole rows by 128-bit accesses. a_smem needs neither padding nor scattered stores. Any depth is possible;
//! BK = 16 halves the barriers and doubles the loads in flight.
//!
//! Source: the tutorial's kernel 5, which transposes B (its matrices are column-major), finds the cost negligible, and makes
//! its tiles rectangular. Here the time of the pre-pass counts.

use crate::hardware::VEC;
use crate::prepass::transpose::TRANSPOSE_A;
use crate::{Step, Tile};

const BM: u32 = 128;
const BN: u32 = 128;
const BK: u32 = 16;
const TM: u32 = 8;
const TN: u32 = 8;
const THREADS: u32 = (BM / TM) * (BN / TN);
/// Rows of a k-tile that the block copies at once, VEC values per thread.
const COPY_ROWS: u32 = THREADS * VEC / BN;
const _: () = assert!(BM == BN && BK.is_multiple_of(COPY_ROWS), "A and B are copied alike, in equal shares");

/// This step's entry in the registry.
pub const STEP: Step = Step {
    slug: "transposed",
    kernel: "sgemm_transposed",
    base: Some("bank-conflicts"),
    summary: "a pre-pass transposes A; rows of both operands in rectangular tiles",
    source: "C. Nugteren, OpenCL SGEMM tutorial (2014), kernel 5",
    tile: Tile { bm: BM, bn: BN, bk: BK, tm: TM, tn: TN },
    block: [THREADS, 1, 1],
    prepasses: &[TRANSPOSE_A],
    smem_bytes: (BK * BM + BK * BN) * 4,
    vector_loads: true,
    ..Step::PLAIN
};

/// What runs on the device.
#[cfg(feature = "device")]
pub mod kernel {
    use super::*;
    use crate::epilogue::simt::store;
    use crate::gemm::{Gemm, gemm_kernel};
    use crate::mainloop::gmem::{is_full_tile, load};
    use crate::mainloop::thread_tile::{copy_coord, element, fragment, swizzle, thread_coord};
    use crate::ptx::f32x4;
    use cuda_std::prelude::*;

    const COPIES: usize = (BK / COPY_ROWS) as usize;

    #[address_space(shared)]
    static mut A_SMEM: MaybeUninit<[f32; (BK * BM) as usize]> = MaybeUninit::uninit();
    #[address_space(shared)]
    static mut B_SMEM: MaybeUninit<[f32; (BK * BN) as usize]> = MaybeUninit::uninit();

    // 128 registers per thread: one block computes while the other waits.
    gemm_kernel! { sgemm_transposed, launch_bounds(THREADS, 2), sgemm }

    /// One block tile: C = alpha*A*B + beta*C, where `g.a` is A transposed.
    ///
    /// # Safety
    /// As the kernel's.
    #[inline(always)]
    unsafe fn sgemm(g: Gemm) {
        // SAFETY: the grid covers C, so the block tile starts in bounds, and what `mainloop` does not check is in bounds.
        unsafe {
            // tile coordinates
            let g = g.block_at_transposed(thread::block_idx_y() * BM, thread::block_idx_x() * BN);
            let is_full_tile = is_full_tile::<BM, BN>(&g);

            // mainloop
            let k_unchecked = if is_full_tile { g.k - g.k % BK } else { 0 };
            let mut acc = [[0.0f32; TN as usize]; TM as usize];
            mainloop::<false>(&g, 0, k_unchecked, &mut acc);
            mainloop::<true>(&g, k_unchecked, g.k, &mut acc);

            // epilogue
            let thread = thread_coord::<BN, TM, TN>();
            store(&g, is_full_tile, &acc, |i, j| element(thread, i, j));
        }
    }

    /// acc += A (BM, k_begin..k_end) * B (k_begin..k_end, BN). If BOUNDS_CHECKED, zeros replace what is out of bounds.
    ///
    /// # Safety
    /// Every thread of the block calls it. Without BOUNDS_CHECKED, BM rows of A, BN columns of B and `k_end` are in bounds, and the
    /// rows of both are aligned to 16 bytes.
    #[inline(always)]
    unsafe fn mainloop<const BOUNDS_CHECKED: bool>(
        g: &Gemm,
        k_begin: u32,
        k_end: u32,
        acc: &mut [[f32; TN as usize]; TM as usize],
    ) {
        // tile coordinates
        let copy = copy_coord::<BN>(); // VEC of each COPY_ROWS-th row of (BK, BN)
        let thread = thread_coord::<BN, TM, TN>(); // (TM, TN) of (BM, BN)

        // shared memory
        let a_smem = (&raw mut A_SMEM).cast::<f32>(); // (BK, BM)
        let b_smem = (&raw mut B_SMEM).cast::<f32>(); // (BK, BN)

        let mut a_gmem = g.a(k_begin + copy.row, copy.col); // (COPIES, VEC)
        let mut b_gmem = g.b(k_begin + copy.row, copy.col); // (COPIES, VEC)
        let mut p = k_begin;
        while p < k_end {
            // SAFETY: in bounds, upheld by the caller, or checked; copies lie in BK x BM and BK x BN, fragments in BM and BN.
            unsafe {
                // global to shared
                let load_rows = |source: *const f32, ld: usize, left: u32| -> [_; COPIES] {
                    let source = |i: usize| source.wrapping_add(i * COPY_ROWS as usize * ld);
                    let is_in_bounds = |i: usize| p + copy.row + i as u32 * COPY_ROWS < g.k;
                    core::array::from_fn(|i| load::<BOUNDS_CHECKED>(source(i), is_in_bounds(i), left))
                };
                let a = load_rows(a_gmem, g.lda, g.m.saturating_sub(copy.col));
                let b = load_rows(b_gmem, g.ldb, g.n.saturating_sub(copy.col));
                for i in 0..COPIES {
                    let row = copy.row + i as u32 * COPY_ROWS;
                    f32x4::store(a_smem.add((row * BM + copy.col) as usize), a[i]);
                    f32x4::store(b_smem.add((row * BN + swizzle(copy.col)) as usize), b[i]);
                }
                thread::sync_threads(); // the k-tiles are complete

                // mainloop
                for d in 0..BK {
                    let a_frag: [f32; TM as usize] = fragment(|i| a_smem.add((d * BM + thread.row + i) as usize));
                    let b_frag: [f32; TN as usize] =
                        fragment(|j| b_smem.add((d * BN + swizzle(thread.col + j)) as usize));
                    for i in 0..TM as usize {
                        for j in 0..TN as usize {
                            acc[i][j] = a_frag[i].mul_add(b_frag[j], acc[i][j]);
                        }
                    }
                }
                thread::sync_threads(); // every warp has read the k-tiles: the next may be stored
            }
            a_gmem = a_gmem.wrapping_add(BK as usize * g.lda);
            b_gmem = b_gmem.wrapping_add(BK as usize * g.ldb);
            p += BK;
        }
    }
}
