//! 2d-tiling: TM x TN results per thread, an outer product in registers.
//!
//! ```text
//!   a_smem (BM, BK)      b_smem (BK, BN)        C (BM, BN)
//!     ┌──────┐            ┌───────────┐        ┌───────────┐
//!     │      │            │   █████   │ ← d    │   ┏━━━┓   │
//!     │  █   │            └────TN─────┘        │   ┃TM ┃   │  a thread: TM x TN
//!     │  █ TM│                                 │   ┗━━━┛TN │
//!     └──────┘                                 └───────────┘
//!        ↑ d
//! ```
//!
//! Changed since 1d-tiling: a thread computes a square. Per d it loads fragments of TM values of A and TN of B into registers
//! and issues TM x TN FMAs: 0.25 loads per FMA instead of 1.125. Fewer threads copy larger k-tiles, several elements each.
//!
//! Source: the worklog's kernel 5, 1.9 times its kernel 4; the tutorial's kernel 6.

use crate::{Step, Tile};

const BM: u32 = 128;
const BN: u32 = 128;
const BK: u32 = 8;
const TM: u32 = 8;
const TN: u32 = 8;
const THREADS: u32 = (BM / TM) * (BN / TN);
/// Rows of A that the block copies at once, BK columns of each.
const A_ROWS: u32 = THREADS / BK;
/// Columns of B that the block copies at once, BK rows of each.
const B_COLS: u32 = THREADS / BK;
const _: () = assert!(BM.is_multiple_of(A_ROWS) && BN.is_multiple_of(B_COLS), "equal shares");

/// This step's entry in the registry.
pub const STEP: Step = Step {
    slug: "2d-tiling",
    kernel: "sgemm_tiling_2d",
    base: Some("1d-tiling"),
    summary: "TM x TN results per thread, an outer product in registers",
    source: "S. Boehm, CUDA matmul worklog (2022), kernel 5; C. Nugteren, OpenCL SGEMM tutorial (2014), kernel 6",
    tile: Tile { bm: BM, bn: BN, bk: BK, tm: TM, tn: TN },
    block: [THREADS, 1, 1],
    smem_bytes: (BM * BK + BK * BN) * 4,
    ..Step::PLAIN
};

/// What runs on the device.
#[cfg(feature = "device")]
pub mod kernel {
    use super::*;
    use crate::Coord;
    use crate::gemm::{Gemm, gemm_kernel};
    use cuda_std::prelude::*;

    #[address_space(shared)]
    static mut A_SMEM: MaybeUninit<[f32; (BM * BK) as usize]> = MaybeUninit::uninit();
    #[address_space(shared)]
    static mut B_SMEM: MaybeUninit<[f32; (BK * BN) as usize]> = MaybeUninit::uninit();

    // 128 registers per thread: one block computes while the other waits.
    gemm_kernel! { sgemm_tiling_2d, launch_bounds(THREADS, 2), sgemm }

    /// One block tile: C = alpha*A*B + beta*C.
    ///
    /// # Safety
    /// As the kernel's.
    #[inline(always)]
    unsafe fn sgemm(g: Gemm) {
        // SAFETY: the grid covers C, so the block tile starts in bounds, and what `mainloop` does not check is in bounds.
        unsafe {
            // tile coordinates
            let g = g.block_at(thread::block_idx_y() * BM, thread::block_idx_x() * BN);
            let is_full_tile = g.m >= BM && g.n >= BN;

            // mainloop
            let k_unchecked = if is_full_tile { g.k - g.k % BK } else { 0 };
            let mut acc = [[0.0f32; TN as usize]; TM as usize];
            mainloop::<false>(&g, 0, k_unchecked, &mut acc);
            mainloop::<true>(&g, k_unchecked, g.k, &mut acc);

            // epilogue
            let thread = thread_coord();
            for i in 0..TM {
                for j in 0..TN {
                    g.store(thread.row + i, thread.col + j, acc[i as usize][j as usize]);
                }
            }
        }
    }

    /// The row and column of this thread's TM x TN tile in the block tile.
    #[inline(always)]
    fn thread_coord() -> Coord {
        let tid = thread::thread_idx_x();
        Coord { row: tid / (BN / TN) * TM, col: tid % (BN / TN) * TN }
    }

    /// acc += A (BM, k_begin..k_end) * B (k_begin..k_end, BN). If BOUNDS_CHECKED, zeros replace what is out of bounds.
    ///
    /// # Safety
    /// Every thread of the block calls it. Without BOUNDS_CHECKED, BM rows of A, BN columns of B and `k_end` are in bounds.
    #[inline(always)]
    unsafe fn mainloop<const BOUNDS_CHECKED: bool>(
        g: &Gemm,
        k_begin: u32,
        k_end: u32,
        acc: &mut [[f32; TN as usize]; TM as usize],
    ) {
        // tile coordinates
        let tid = thread::thread_idx_x();
        let a_copy = Coord { row: tid / BK, col: tid % BK }; // each A_ROWS-th row of (BM, BK)
        let b_copy = Coord { row: tid / B_COLS, col: tid % B_COLS }; // each B_COLS-th column of (BK, BN)
        let thread = thread_coord(); // (TM, TN) of (BM, BN)

        // shared memory
        let a_smem = (&raw mut A_SMEM).cast::<f32>(); // (BM, BK)
        let b_smem = (&raw mut B_SMEM).cast::<f32>(); // (BK, BN)
        let a_target = a_smem.wrapping_add((a_copy.row * BK + a_copy.col) as usize);
        let b_target = b_smem.wrapping_add((b_copy.row * BN + b_copy.col) as usize);

        let mut a_gmem = g.a(a_copy.row, k_begin + a_copy.col);
        let mut b_gmem = g.b(k_begin + b_copy.row, b_copy.col);
        let mut p = k_begin;
        while p < k_end {
            // SAFETY: in bounds, upheld by the caller, or checked; copies lie in BM x BK and BK x BN, fragments in BM and BN.
            unsafe {
                // global to shared
                for i in 0..BM / A_ROWS {
                    let row = a_copy.row + i * A_ROWS;
                    let a = if !BOUNDS_CHECKED || row < g.m && p + a_copy.col < g.k {
                        *a_gmem.wrapping_add((i * A_ROWS) as usize * g.lda)
                    } else {
                        0.0
                    };
                    *a_target.add((i * A_ROWS * BK) as usize) = a;
                }
                for i in 0..BN / B_COLS {
                    let col = b_copy.col + i * B_COLS;
                    let b = if !BOUNDS_CHECKED || p + b_copy.row < g.k && col < g.n {
                        *b_gmem.wrapping_add((i * B_COLS) as usize)
                    } else {
                        0.0
                    };
                    *b_target.add((i * B_COLS) as usize) = b;
                }
                thread::sync_threads(); // the k-tiles are complete

                // mainloop
                let a_rows = a_smem.add((thread.row * BK) as usize); // (TM, BK)
                let b_cols = b_smem.add(thread.col as usize); // (BK, TN)
                for d in 0..BK as usize {
                    let a_frag: [f32; TM as usize] = core::array::from_fn(|i| *a_rows.add(i * BK as usize + d));
                    let b_frag: [f32; TN as usize] = core::array::from_fn(|j| *b_cols.add(d * BN as usize + j));
                    for i in 0..TM as usize {
                        for j in 0..TN as usize {
                            acc[i][j] = a_frag[i].mul_add(b_frag[j], acc[i][j]);
                        }
                    }
                }
                thread::sync_threads(); // every warp has read the k-tiles: the next may be stored
            }
            a_gmem = a_gmem.wrapping_add(BK as usize);
            b_gmem = b_gmem.wrapping_add(BK as usize * g.ldb);
            p += BK;
        }
    }
}
