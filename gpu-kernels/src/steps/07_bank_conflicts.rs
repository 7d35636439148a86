//! bank-conflicts: padding and swizzle.
//!
//! ```text
//!   a_smem (BK, A_PITCH)                wavefronts of a warp   vectorized   here
//!     ┌───────────┬────┐                store of A,  32 bits        2         1    padding
//!     │ row d     │    │ ← padding      store of B, 128 bits        4         4
//!     ├────┐      ├────┤                load of A, 128 bits         2         2
//!     │    │row d + 1  │                load of B, 128 bits         8         2    swizzle: 4; lanes in pairs: 2
//!     └────┴───────────┘
//! ```
//!
//! Changed since vectorized: no access to shared memory has a bank conflict. Two threads store one row of A to rows of a_smem
//! that are 4 apart: without padding both begin in one bank, with it 16 banks apart. Lanes load their TN columns of B 8 words
//! apart: `swizzle` exchanges adjacent chunks in every other 32 columns. Lanes in pairs (`thread_coord`) share an address, so
//! that one wavefront serves 16 lanes.
//!
//! Source: the worklog leaves this as "kernel 7: TBD" (the two tries of its repository are slower than its kernel 6). The B200
//! notes read shared memory without conflicts. Here it pays: three in five wavefronts of the loads were conflicts.

use crate::hardware::VEC;
use crate::{Step, Tile};

const BM: u32 = 128;
const BN: u32 = 128;
const BK: u32 = 8;
const TM: u32 = 8;
const TN: u32 = 8;
/// Floats from one row of a_smem to the next.
const A_PITCH: u32 = BM + VEC;
const THREADS: u32 = (BM / TM) * (BN / TN);
const _: () = assert!(THREADS * VEC == BM * BK && THREADS * VEC == BK * BN, "each thread copies VEC of A and of B");

/// This step's entry in the registry.
pub const STEP: Step = Step {
    slug: "bank-conflicts",
    kernel: "sgemm_bank_conflicts",
    base: Some("vectorized"),
    summary: "padding and swizzle: no bank conflicts in shared memory",
    source: "S. Boehm, CUDA matmul worklog (2022), kernel 7; B200 SGEMM notes, bank conflicts",
    tile: Tile { bm: BM, bn: BN, bk: BK, tm: TM, tn: TN },
    block: [THREADS, 1, 1],
    smem_bytes: (BK * A_PITCH + BK * BN) * 4,
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

    #[address_space(shared)]
    static mut A_SMEM: MaybeUninit<[f32; (BK * A_PITCH) as usize]> = MaybeUninit::uninit();
    #[address_space(shared)]
    static mut B_SMEM: MaybeUninit<[f32; (BK * BN) as usize]> = MaybeUninit::uninit();

    // 128 registers per thread: one block computes while the other waits.
    gemm_kernel! { sgemm_bank_conflicts, launch_bounds(THREADS, 2), sgemm }

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
        let a_copy = copy_coord::<BK>(); // VEC of (BM, BK)
        let b_copy = copy_coord::<BN>(); // VEC of (BK, BN)
        let thread = thread_coord::<BN, TM, TN>(); // (TM, TN) of (BM, BN)

        // shared memory
        let a_smem = (&raw mut A_SMEM).cast::<f32>(); // (BK, A_PITCH)
        let b_smem = (&raw mut B_SMEM).cast::<f32>(); // (BK, BN)

        let mut a_gmem = g.a(a_copy.row, k_begin + a_copy.col);
        let mut b_gmem = g.b(k_begin + b_copy.row, b_copy.col);
        let mut p = k_begin;
        while p < k_end {
            // SAFETY: in bounds, upheld by the caller, or checked; copies lie in BM x BK and BK x BN, fragments in BM and BN.
            unsafe {
                // global to shared
                let a = load::<BOUNDS_CHECKED>(a_gmem, a_copy.row < g.m, g.k.saturating_sub(p + a_copy.col));
                let b = load::<BOUNDS_CHECKED>(b_gmem, p + b_copy.row < g.k, g.n.saturating_sub(b_copy.col));
                for v in 0..VEC {
                    *a_smem.add(((a_copy.col + v) * A_PITCH + a_copy.row) as usize) = a[v as usize];
                }
                f32x4::store(b_smem.add((b_copy.row * BN + swizzle(b_copy.col)) as usize), b);
                thread::sync_threads(); // the k-tiles are complete

                // mainloop
                for d in 0..BK {
                    let b_frag: [f32; TN as usize] =
                        fragment(|j| b_smem.add((d * BN + swizzle(thread.col + j)) as usize));
                    let a_frag: [f32; TM as usize] = fragment(|i| a_smem.add((d * A_PITCH + thread.row + i) as usize));
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
