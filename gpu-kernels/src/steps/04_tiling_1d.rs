//! 1d-tiling: TM results per thread, the value of B kept in a register.
//!
//! ```text
//!   a_smem (BM, BK)      b_smem (BK, BN)        C (BM, BN)
//!     ┌──────┐            ┌───────────┐        ┌───────────┐
//!     │      │            │     █     │ ← d    │     ┃     │
//!     │  █   │            └───────────┘        │     ┃ TM  │  a thread: TM rows of one column
//!     │  █ TM│                                 │     ┃     │
//!     └──────┘                                 └───────────┘
//!        ↑ d
//! ```
//!
//! Changed since smem-tiling: a thread computes TM elements of a column. Per d it loads one value of B and TM values of A from
//! shared memory for TM FMAs: 1.125 loads per FMA instead of 2. k-tiles become thin, BK = 8, and the tile of C large.
//!
//! Source: the worklog's kernel 4, 2.9 times its kernel 3; the tutorial's kernel 3.

use crate::{Step, Tile};

const BM: u32 = 64;
const BN: u32 = 64;
const BK: u32 = 8;
const TM: u32 = 8;
const THREADS: u32 = BM / TM * BN;
const _: () = assert!(THREADS == BM * BK && THREADS == BK * BN, "each thread copies one element of A and one of B");

/// This step's entry in the registry.
pub const STEP: Step = Step {
    slug: "1d-tiling",
    kernel: "sgemm_tiling_1d",
    base: Some("smem-tiling"),
    summary: "TM results per thread, the value of B kept in a register",
    source: "S. Boehm, CUDA matmul worklog (2022), kernel 4; C. Nugteren, OpenCL SGEMM tutorial (2014), kernel 3",
    tile: Tile { bm: BM, bn: BN, bk: BK, tm: TM, tn: 1 },
    block: [THREADS, 1, 1],
    smem_bytes: (BM * BK + BK * BN) * 4,
    ..Step::PLAIN
};

/// What runs on the device.
#[cfg(feature = "device")]
pub mod kernel {
    use super::*;
    use crate::gemm::{Gemm, gemm_kernel};
    use cuda_std::prelude::*;

    #[address_space(shared)]
    static mut A_SMEM: MaybeUninit<[f32; (BM * BK) as usize]> = MaybeUninit::uninit();
    #[address_space(shared)]
    static mut B_SMEM: MaybeUninit<[f32; (BK * BN) as usize]> = MaybeUninit::uninit();

    // Four blocks of 16 warps fill an SM: 32 registers per thread.
    gemm_kernel! { sgemm_tiling_1d, launch_bounds(THREADS, 4), sgemm }

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
            let mut acc = [0.0f32; TM as usize];
            mainloop::<false>(&g, 0, k_unchecked, &mut acc);
            mainloop::<true>(&g, k_unchecked, g.k, &mut acc);

            // epilogue
            let (thread_row, thread_col) = (thread::thread_idx_x() / BN * TM, thread::thread_idx_x() % BN);
            for i in 0..TM {
                g.store(thread_row + i, thread_col, acc[i as usize]);
            }
        }
    }

    /// acc += A (BM, k_begin..k_end) * B (k_begin..k_end, BN). If BOUNDS_CHECKED, zeros replace what is out of bounds.
    ///
    /// # Safety
    /// Every thread of the block calls it. Without BOUNDS_CHECKED, BM rows of A, BN columns of B and `k_end` are in bounds.
    #[inline(always)]
    unsafe fn mainloop<const BOUNDS_CHECKED: bool>(g: &Gemm, k_begin: u32, k_end: u32, acc: &mut [f32; TM as usize]) {
        let tid = thread::thread_idx_x();
        let (a_row, a_col) = (tid / BK, tid % BK);
        let (b_row, b_col) = (tid / BN, tid % BN);
        let (thread_row, thread_col) = (tid / BN * TM, tid % BN);

        // shared memory
        let a_smem = (&raw mut A_SMEM).cast::<f32>(); // (BM, BK)
        let b_smem = (&raw mut B_SMEM).cast::<f32>(); // (BK, BN)

        let a_gmem = g.a(a_row, a_col);
        let mut b_gmem = g.b(k_begin + b_row, b_col);
        let mut p = k_begin;
        while p < k_end {
            // SAFETY: in bounds, upheld by the caller, or checked; tid is below BM * BK = BK * BN, a thread's rows are below BM
            // and its column is below BN.
            unsafe {
                // global to shared
                let a = if !BOUNDS_CHECKED || a_row < g.m && p + a_col < g.k {
                    *a_gmem.wrapping_add(p as usize)
                } else {
                    0.0
                };
                let b = if !BOUNDS_CHECKED || p + b_row < g.k && b_col < g.n { *b_gmem } else { 0.0 };
                *a_smem.add(tid as usize) = a;
                *b_smem.add(tid as usize) = b;
                thread::sync_threads(); // the k-tiles are complete

                // mainloop
                let a_rows = a_smem.add((thread_row * BK) as usize); // (TM, BK)
                let b_cols = b_smem.add(thread_col as usize); // (BK, 1)
                for d in 0..BK as usize {
                    let b = *b_cols.add(d * BN as usize);
                    for (i, acc) in acc.iter_mut().enumerate() {
                        *acc = (*a_rows.add(i * BK as usize + d)).mul_add(b, *acc);
                    }
                }
                thread::sync_threads(); // every warp has read the k-tiles: the next may be stored
            }
            b_gmem = b_gmem.wrapping_add(BK as usize * g.ldb);
            p += BK;
        }
    }
}
