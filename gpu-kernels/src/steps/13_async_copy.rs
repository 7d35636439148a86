//! async-copy: k-tiles are copied asynchronously, two ahead, without passing through registers.
//!
//! ```text
//!   k-tile    0         1         2         3
//!   stage 0   copied ─► compute  │copy 3 ──────────► compute  │     │ barrier: the next k-tile is complete,
//!   stage 1   copy 1 ──────────► compute  │copy 4 ──────────► ...     and every warp has read the one before
//!   stage 2            │copy 2 ──────────► compute  │copy 5 ──►
//! ```
//!
//! Changed since warp-tiling: `cp.async` replaces loads to registers and stores from there. A thread issues the copies of the
//! k-tile two ahead and computes; it waits for copies that were issued two k-tiles ago. Without k-tiles in registers, BK is
//! twice as large, and there are half as many barriers. A copy can also store zeros: bounds and the last k-tile need no second
//! loop, whose accumulators would have to share the registers, with more FMAs that read two operands from one bank.
//!
//! A is transposed on the way, 4 bytes per copy. B is copied by 16 bytes where its rows are aligned; 4 bytes are not much
//! slower. Loading four values of A along k from an untransposed tile was tried and is much slower: the values of one d are
//! then in registers that are all even or all odd, and FMAs wait for that half of the register file.
//!
//! Source: the B200 notes' v4, there 1.5 times v3, which loads and waits. Here prefetch has most of that gain.

use crate::hardware::VEC;
use crate::mainloop::{LANES_M, LANES_N};
use crate::{Step, Tile};

const BM: u32 = 128;
const BN: u32 = 128;
const BK: u32 = 16;
const TM: u32 = 8;
const TN: u32 = 8;
/// Floats from one row of a_smem to the next.
const A_PITCH: u32 = BM + VEC;
/// Stages of shared memory, each a k-tile of A and one of B.
const STAGES: u32 = 3;
const STAGE: u32 = BK * A_PITCH + BK * BN;
const THREADS: u32 = (BM / TM) * (BN / TN);
/// Rows and columns of a warp tile.
const WM: u32 = LANES_M * TM;
const WN: u32 = LANES_N * TN;
const _: () = assert!(BM.is_multiple_of(WM) && BN.is_multiple_of(WN), "warp tiles fill the block tile");

/// This step's entry in the registry.
pub const STEP: Step = Step {
    slug: "async-copy",
    kernel: "sgemm_async_copy",
    base: Some("warp-tiling"),
    summary: "`cp.async`: k-tiles are copied asynchronously, two ahead, without passing through registers",
    source: "B200 SGEMM notes, v4",
    tile: Tile { bm: BM, bn: BN, bk: BK, tm: TM, tn: TN },
    block: [THREADS, 1, 1],
    dynamic_smem_bytes: STAGES * STAGE * 4,
    vector_loads: true,
    ..Step::PLAIN
};

/// What runs on the device.
#[cfg(feature = "device")]
pub mod kernel {
    use super::*;
    use crate::epilogue::simt::store;
    use crate::gemm::{Gemm, gemm_kernel};
    use crate::mainloop::cp_async_tiles::KTileCopy;
    use crate::mainloop::thread_tile::fragment;
    use crate::mainloop::warp_tile::{element, thread_coord_in_quads};
    use crate::ptx::{cp_async, f32x4};
    use cuda_std::prelude::*;

    // 128 registers per thread: one block computes while the other waits.
    gemm_kernel! { sgemm_async_copy, launch_bounds(THREADS, 2), sgemm }

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
            let is_full_tile = (g.m >= BM) & (g.n >= BN); // with `&&`, one loop for each way to get there

            // mainloop
            let mut acc = [[0.0f32; TN as usize]; TM as usize];
            mainloop(&g, is_full_tile, &mut acc);

            // epilogue
            let is_vectorized = is_full_tile && f32x4::aligned(g.c, g.ldc);
            let thread = thread_coord_in_quads(BN / WN, TM, TN);
            store(&g, is_vectorized, &acc, |i, j| element(thread, false, i, j));
        }
    }

    /// acc += A (BM, k) * B (k, BN). Zeros replace what is out of bounds.
    ///
    /// # Safety
    /// Every thread of the block calls it, with the block's `is_full_tile`.
    #[inline(always)]
    unsafe fn mainloop(g: &Gemm, is_full_tile: bool, acc: &mut [[f32; TN as usize]; TM as usize]) {
        // tile coordinates
        let thread = thread_coord_in_quads(BN / WN, TM, TN); // (TM, TN) of (BM, BN)

        // shared memory
        let smem = shared::dynamic_shared_mem::<f32>(); // (STAGES, STAGE)

        // global to shared
        // SAFETY: shared memory; the stages are free.
        let mut copy = unsafe { KTileCopy::<BM, BN, BK, A_PITCH, THREADS>::new(g, is_full_tile, smem) };
        for stage in 0..STAGES - 1 {
            // SAFETY: the stages are free.
            unsafe { copy.issue(stage * BK, stage) };
        }

        // mainloop
        let (mut stage, mut free) = (0, STAGES - 1);
        let mut p = 0;
        while p < g.k {
            cp_async::wait_group::<{ STAGES - 2 }>();
            thread::sync_threads(); // this k-tile is complete, and every warp has read the one before
            // SAFETY: `free` is the stage of the k-tile before.
            unsafe { copy.issue(p + (STAGES - 1) * BK, free) };

            let a_smem = smem.wrapping_add((stage * STAGE) as usize); // (BK, A_PITCH)
            let b_smem = a_smem.wrapping_add((BK * A_PITCH) as usize); // (BK, BN)
            for d in 0..BK {
                // SAFETY: fragments lie in BM and BN.
                unsafe {
                    let a_frag: [f32; TM as usize] =
                        fragment(|i| a_smem.add((d * A_PITCH + thread.row + i * LANES_M) as usize));
                    let b_frag: [f32; TN as usize] =
                        fragment(|j| b_smem.add((d * BN + thread.col + j * LANES_N) as usize));
                    for j in 0..TN as usize {
                        for i in 0..TM as usize {
                            acc[i][j] = a_frag[i].mul_add(b_frag[j], acc[i][j]);
                        }
                    }
                }
            }
            free = stage;
            stage = if stage == STAGES - 1 { 0 } else { stage + 1 };
            p += BK;
        }
        cp_async::wait_group::<0>(); // zeros, which no thread reads
    }
}
