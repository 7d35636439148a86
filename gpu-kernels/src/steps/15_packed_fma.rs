//! packed-fma: two FMAs per instruction, on Blackwell.
//!
//! ```text
//!   a_frag      b_frag               acc
//!   ┌────┐      ┌────┬────┐          ┌────┬────┐
//!   │ a  │  x   │ b0 │ b1 │    +     │ c0 │ c1 │     fma.rn.f32x2: 64-bit registers, the halves independent
//!   └────┘      └────┴────┘          └────┴────┘
//! ```
//!
//! Changed since ilp: accumulators are pairs of adjacent elements of a row of C, in 64-bit registers. 128-bit loads deliver
//! pairs of B; PTX takes the value of A twice, and the machine reads it once for both halves (`.F32`). Compute capability 10.0
//! is the first with the instruction. It adds no lanes: FMAs take half the issue slots and read shared operands half as often.
//!
//! Source: the B200 notes' v5, `__ffma2_rn`. No such device was at hand: the step is assembled for it, its results are the
//! emulator's, and the emulator's times of it are modelled.

use crate::hardware::VEC;
use crate::mainloop::{LANES_M, LANES_N};
use crate::{Step, Target, Tile};

const BM: u32 = 128;
const BN: u32 = 256;
const BK: u32 = 8;
const TM: u32 = 8;
const TN: u32 = 16;
/// Floats from one row of a_smem to the next.
const A_PITCH: u32 = BM + VEC;
/// Stages of shared memory, each a k-tile of A and one of B.
const STAGES: u32 = 4;
const STAGE: u32 = BK * A_PITCH + BK * BN;
const THREADS: u32 = (BM / TM) * (BN / TN);
/// Rows and columns of a warp tile.
const WM: u32 = LANES_M * TM;
const WN: u32 = LANES_N * TN;
const _: () = assert!(BM.is_multiple_of(WM) && BN.is_multiple_of(WN), "warp tiles fill the block tile");

/// This step's entry in the registry.
pub const STEP: Step = Step {
    slug: "packed-fma",
    kernel: "sgemm_packed_fma",
    base: Some("ilp"),
    summary: "`fma.rn.f32x2`: two FMAs per instruction, on Blackwell",
    source: "B200 SGEMM notes, v5: __ffma2_rn",
    target: Target::Sm100,
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
    use crate::ptx::packed::F32x2;
    use crate::ptx::{cp_async, f32x4};
    use cuda_std::prelude::*;

    // 255 registers per thread: 128 accumulators, and two fragments of A and of B.
    gemm_kernel! { sgemm_packed_fma, launch_bounds(THREADS, 1), sgemm }

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
            let mut acc = [[F32x2::ZERO; TN as usize / 2]; TM as usize];
            mainloop(&g, is_full_tile, &mut acc);

            // epilogue
            let is_vectorized = is_full_tile && f32x4::aligned(g.c, g.ldc);
            let acc: [[f32; TN as usize]; TM as usize] =
                core::array::from_fn(|i| core::array::from_fn(|j| acc[i][j / 2].get()[j % 2]));
            let thread = thread_coord_in_quads(BN / WN, TM, TN);
            store(&g, is_vectorized, &acc, |i, j| element(thread, false, i, j));
        }
    }

    /// acc += A (BM, k) * B (k, BN). Zeros replace what is out of bounds.
    ///
    /// # Safety
    /// Every thread of the block calls it, with the block's `is_full_tile`.
    #[inline(always)]
    unsafe fn mainloop(g: &Gemm, is_full_tile: bool, acc: &mut [[F32x2; TN as usize / 2]; TM as usize]) {
        // tile coordinates
        let thread = thread_coord_in_quads(BN / WN, TM, TN); // (TM, TN) of (BM, BN)

        // shared memory
        let smem = shared::dynamic_shared_mem::<f32>(); // (STAGES, STAGE)

        // global to shared
        // SAFETY: shared memory; the stages are free.
        let mut copy = unsafe { KTileCopy::<BM, BN, BK, A_PITCH, THREADS>::new(g, is_full_tile, smem) };
        for stage in 0..STAGES {
            // SAFETY: the stages are free.
            unsafe { copy.issue(stage * BK, stage) };
        }

        cp_async::wait_group::<{ STAGES - 1 }>();
        thread::sync_threads(); // the first k-tile is complete

        // mainloop
        // SAFETY: fragments lie in BM and BN.
        let load_fragments = |stage: u32, d: u32| unsafe {
            let k_tiles = smem.add((stage * STAGE) as usize); // (STAGE)
            let a_smem = k_tiles.add(thread.row as usize).add((d * A_PITCH) as usize); // (1, BM)
            let b_smem = k_tiles.add(thread.col as usize).add((BK * A_PITCH + d * BN) as usize); // (1, BN)
            let b_frag: [f32; TN as usize] = fragment(|j| b_smem.add((j * LANES_N) as usize));
            let a_frag: [f32; TM as usize] = fragment(|i| a_smem.add((i * LANES_M) as usize));
            (a_frag, b_frag)
        };
        let mut stage = 0;
        let mut p = 0;
        let mut next = load_fragments(stage, 0);
        while p < g.k {
            for d in 0..BK {
                let (a_frag, b_frag) = next;
                if d < BK - 1 {
                    next = load_fragments(stage, d + 1);
                } else {
                    let free = stage;
                    stage = if stage == STAGES - 1 { 0 } else { stage + 1 };
                    cp_async::wait_group::<{ STAGES - 2 }>();
                    thread::sync_threads(); // the next k-tile is complete, and every warp has read this one
                    next = load_fragments(stage, 0);
                    // SAFETY: `free` is the stage of this k-tile, whose last fragments are in registers.
                    unsafe { copy.issue(p + STAGES * BK, free) };
                }
                for j in 0..TN as usize / 2 {
                    let b_pair = F32x2::new(b_frag[2 * j], b_frag[2 * j + 1]);
                    for i in 0..TM as usize {
                        let i = if j % 2 == 0 { i } else { TM as usize - 1 - i };
                        acc[i][j] = F32x2::new(a_frag[i], a_frag[i]).mul_add(b_pair, acc[i][j]);
                    }
                }
            }
            p += BK;
        }
        cp_async::wait_group::<0>(); // zeros, which no thread reads
    }
}
