//! smem-tiling: square k-tiles of A and B in shared memory.
//!
//! ```text
//!          k                n
//!     ┌─────────┐      ┌──┬───┬──┐      ┌─────────┐
//!   m ├──┬──┬───┤  ×   ├──┼───┼──┤  =   │  ┌───┐  │
//!     │ →│BK│→  │    k │ ↓│BK │↓ │    m │  │ C │  │   a block: BM x BN of C
//!     ├──┴──┴───┤      ├──┼───┼──┤      │  └───┘  │
//!     └─────────┘      └──┴───┴──┘      └─────────┘
//! ```
//!
//! Changed since coalesced: the block iterates over k in k-tiles of BK. Each thread copies one element of A and one of B to
//! shared memory, and the block reads each of them BN or BM times from there: global traffic falls by a factor of 32.
//!
//! Source: the worklog's kernel 3 (1.5 times its kernel 2, for which L1 already caught much); the tutorial's kernel 2.

use crate::{Step, Tile};

const BM: u32 = 32;
const BN: u32 = 32;
const BK: u32 = 32;
const THREADS: u32 = BM * BN;
const _: () = assert!(BM == BK && BN == BK, "each thread copies one element of A and one of B");

/// This step's entry in the registry.
pub const STEP: Step = Step {
    slug: "smem-tiling",
    kernel: "sgemm_smem_tiling",
    base: Some("coalesced"),
    summary: "square k-tiles of A and B in shared memory",
    source: "S. Boehm, CUDA matmul worklog (2022), kernel 3; C. Nugteren, OpenCL SGEMM tutorial (2014), kernel 2",
    tile: Tile { bm: BM, bn: BN, bk: BK, tm: 1, tn: 1 },
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

    // Two blocks of 32 warps fill an SM: 32 registers per thread.
    gemm_kernel! { sgemm_smem_tiling, launch_bounds(THREADS, 2), sgemm }

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
            let mut acc = 0.0f32;
            mainloop::<false>(&g, 0, k_unchecked, &mut acc);
            mainloop::<true>(&g, k_unchecked, g.k, &mut acc);

            // epilogue
            let (row, col) = (thread::thread_idx_x() / BN, thread::thread_idx_x() % BN);
            g.store(row, col, acc);
        }
    }

    /// acc += A (BM, k_begin..k_end) * B (k_begin..k_end, BN). If BOUNDS_CHECKED, zeros replace what is out of bounds.
    ///
    /// # Safety
    /// Every thread of the block calls it. Without BOUNDS_CHECKED, BM rows of A, BN columns of B and `k_end` are in bounds.
    #[inline(always)]
    unsafe fn mainloop<const BOUNDS_CHECKED: bool>(g: &Gemm, k_begin: u32, k_end: u32, acc: &mut f32) {
        // shared memory
        let a_smem = (&raw mut A_SMEM).cast::<f32>(); // (BM, BK)
        let b_smem = (&raw mut B_SMEM).cast::<f32>(); // (BK, BN)

        let (row, col) = (thread::thread_idx_x() / BN, thread::thread_idx_x() % BN);
        let mut a_gmem = g.a(row, k_begin + col);
        let mut b_gmem = g.b(k_begin + row, col);
        let mut p = k_begin;
        while p < k_end {
            // SAFETY: in bounds, upheld by the caller, or checked; row, col and d are below BM = BN = BK.
            unsafe {
                // global to shared
                let a = if !BOUNDS_CHECKED || row < g.m && p + col < g.k { *a_gmem } else { 0.0 };
                let b = if !BOUNDS_CHECKED || p + row < g.k && col < g.n { *b_gmem } else { 0.0 };
                *a_smem.add((row * BK + col) as usize) = a;
                *b_smem.add((row * BN + col) as usize) = b;
                thread::sync_threads(); // the k-tiles are complete

                // mainloop
                let a_row = a_smem.add((row * BK) as usize); // (1, BK)
                let b_col = b_smem.add(col as usize); // (BK, 1)
                for d in 0..BK as usize {
                    *acc = (*a_row.add(d)).mul_add(*b_col.add(d * BN as usize), *acc);
                }
                thread::sync_threads(); // every warp has read the k-tiles: the next may be stored
            }
            a_gmem = a_gmem.wrapping_add(BK as usize);
            b_gmem = b_gmem.wrapping_add(BK as usize * g.ldb);
            p += BK;
        }
    }
}
