//! read-only-cache: A and B are loaded by `ld.global.nc`.
//!
//! ```text
//!   until Kepler:   L2 ──→ L1 (spills, the stack)       since Volta:   L2 ──→ L1, texture and shared memory in one
//!                   L2 ──→ texture cache, read only                            ↑ all loads
//!                             ↑ ld.global.nc
//! ```
//!
//! Changed since bank-conflicts: the instruction of the loads. `ld.global.nc` asserts that nothing writes A and B while the
//! kernel runs, so that a cache without coherence may serve them.
//!
//! Source: the tutorial's kernel 8 (USE_LDG), 1.07 times its speed without on Kepler, whose ordinary loads were not cached in
//! L1. On Hopper it gains nothing: all loads go through L1, and a block reads each k-tile once.

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
    slug: "read-only-cache",
    kernel: "sgemm_read_only_cache",
    base: Some("bank-conflicts"),
    summary: "A and B are loaded by `ld.global.nc`, through the read-only cache",
    source: "C. Nugteren, OpenCL SGEMM tutorial (2014), kernel 8, USE_LDG",
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
    use crate::mainloop::gmem::{is_full_tile, load_with};
    use crate::mainloop::thread_tile::{copy_coord, element, fragment, swizzle, thread_coord};
    use crate::ptx::{f32x4, read_only};
    use cuda_std::prelude::*;

    #[address_space(shared)]
    static mut A_SMEM: MaybeUninit<[f32; (BK * A_PITCH) as usize]> = MaybeUninit::uninit();
    #[address_space(shared)]
    static mut B_SMEM: MaybeUninit<[f32; (BK * BN) as usize]> = MaybeUninit::uninit();

    // 128 registers per thread: one block computes while the other waits.
    gemm_kernel! { sgemm_read_only_cache, launch_bounds(THREADS, 2), sgemm }

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

    /// [`gmem::load`](crate::mainloop::gmem::load) by `ld.global.nc`.
    ///
    /// # Safety
    /// As of that, for a matrix that nothing writes while the kernel runs.
    #[inline(always)]
    unsafe fn load<const BOUNDS_CHECKED: bool>(source: *const f32, is_row_in_bounds: bool, cols_left: u32) -> [f32; 4] {
        // SAFETY: in bounds and aligned, upheld by the caller, or checked.
        let (scalar, vector) = (|v| unsafe { read_only::load(source.add(v)) }, || unsafe { read_only::load_4(source) });
        load_with::<BOUNDS_CHECKED>(is_row_in_bounds, cols_left, scalar, vector)
    }
}
