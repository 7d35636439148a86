//! Tiles with elements for which the hi/lo split is not certified: all consumers compute them again, from A and B as they are, in three-level
//! summation.
//!
//! ```text
//!   cp.async ──► a_smem (DEPTH, A_PITCH), transposed ┐  two stages, where       ──► sums of a stage ──► of some stages ──► totals
//!   cp.async ──► b_smem (DEPTH, BN)                  ┘  totals were
//! ```

use super::consumer::{add, inner_k_tiles};
use super::verdict::Verdict;
use super::{A_PITCH, BM, DEPTH, SplitMma};
use crate::epilogue::fusion::Fusion;
use crate::gemm::Gemm;
use crate::hardware::{WARP, WARPGROUP};
use crate::mainloop::warp_specialized::CONSUMER_THREADS;
use crate::prepass::split::hi_lo::HiLo;
use crate::ptx::{barrier, compiler, cp_async};
use crate::{Ab, Coord};
use cuda_std::prelude::*;

mod bf16x6;
mod fp32;

/// The consumers' barrier. Barrier 0 is the block's, and the next two are the mainloop's.
const CONSUMERS: u32 = 3;
/// k of a row of A that a warp copies at once.
const A_COLS: u32 = 8;

impl<P: HiLo, const ACC: usize, const CLUSTER: u32, const STAGES: u32> SplitMma<P, ACC, CLUSTER, STAGES> {
    /// Computes and stores the elements of the tile at `tile` that its verdict leaves open, in the shared memory from `smem` on.
    ///
    /// # Safety
    /// All consumers call it, k > 0, and there are `BEHIND_RING_BYTES`, which nobody else uses.
    #[inline(always)]
    pub(super) unsafe fn compute_others(
        g: &Gemm,
        fusion: impl Fusion<f32>,
        tile: Coord,
        verdict: Verdict,
        words: Ab<*const i32>,
        smem: *mut f32,
    ) {
        let mut is_by_bf16 = P::IS_SCALED && verdict.any_bf16();
        loop {
            // SAFETY: upheld by the caller.
            unsafe {
                let mut totals = Self::sums(g, tile, is_by_bf16, words, smem);
                if is_by_bf16 {
                    Self::store_by_bf16(g, fusion, tile, words, smem, &mut totals);
                } else {
                    Self::store_in_fp32(g, fusion, tile, words, smem, &totals);
                }
            }
            if !(is_by_bf16 && verdict.any_fp32()) {
                break;
            }
            is_by_bf16 = false;
        }
    }

    /// The totals of a tile. One piece of code for both, since their sums take all registers.
    ///
    /// # Safety
    /// As of [`Self::compute_others`].
    #[inline(always)]
    unsafe fn sums(g: &Gemm, tile: Coord, is_by_bf16: bool, words: Ab<*const i32>, smem: *mut f32) -> [f32; ACC] {
        let parts = Self::parts(smem);
        let stages = parts.wrapping_add((Self::PARTS_BYTES / 4) as usize);
        let steps = g.k.div_ceil(DEPTH);
        let mut totals = [0.0; ACC];
        // SAFETY: consumers alone are here; they copy to a stage that all have read, and read one that all have copied to.
        unsafe {
            barrier::sync(CONSUMERS, CONSUMER_THREADS); // what was there is read
            Self::copy(g, tile, 0, stages);
            let mut step = 0;
            while step < steps {
                let mut inner = [0.0; ACC];
                let end = steps.min(step + inner_k_tiles(steps));
                while step < end {
                    cp_async::wait_group::<0>();
                    barrier::sync(CONSUMERS, CONSUMER_THREADS); // the stage is written, and the other one read
                    let stage = |step: u32| stages.wrapping_add((step % 2 * Self::COPIED) as usize);
                    if step + 1 < steps {
                        Self::copy(g, tile, step + 1, stage(step + 1));
                    }
                    let mut partial = [0.0; ACC];
                    // Each has an addition of its own: so sums in fp32 need not be where those of tensor cores are.
                    if is_by_bf16 {
                        Self::multiply_by_bf16(g, tile, words, stage(step), parts, &mut partial);
                        add(&mut inner, &partial);
                    } else {
                        Self::multiply_in_fp32(stage(step), &mut partial);
                        add(&mut inner, &partial);
                        compiler::keep_loads_above(); // or LLVM would make one of both additions
                    }
                    step += 1;
                }
                add(&mut totals, &inner);
            }
            barrier::sync(CONSUMERS, CONSUMER_THREADS); // the last stage is read
        }
        totals
    }

    /// Issues this thread's copies of a stage; zeros replace what is out of bounds.
    #[inline(always)]
    unsafe fn copy(g: &Gemm, tile: Coord, step: u32, stage: *mut f32) {
        let (p, tid) = (step * DEPTH, thread_index());
        // SAFETY: the targets are in the stage, which nobody reads; the sources are read only if they are in bounds.
        unsafe {
            let stage = shared::address(stage);
            let (row, d) = (tid / A_COLS, tid % A_COLS);
            let mut i = 0;
            while i < BM {
                for d in [d, d + A_COLS] {
                    let (row, p) = (row + i, p + d);
                    let is_inside = (tile.row + row < g.m) & (p < g.k);
                    cp_async::copy_or_zero::<1>(stage + (d * A_PITCH + row) * 4, g.a(tile.row + row, p), is_inside);
                }
                i = compiler::opaque(i + CONSUMER_THREADS / A_COLS); // or LLVM would unroll the loop: sums take all registers
            }
            let (d, col) = (tid / WARP, tid % WARP);
            let mut j = 0;
            while j < Self::BN {
                for d in [d, d + CONSUMER_THREADS / WARP] {
                    let (col, p) = (col + j, p + d);
                    let is_inside = (tile.col + col < g.n) & (p < g.k);
                    let target = stage + (DEPTH * A_PITCH + d * Self::BN + col) * 4;
                    cp_async::copy_or_zero::<1>(target, g.b(p, tile.col + col), is_inside);
                }
                j = compiler::opaque(j + WARP);
            }
        }
        cp_async::commit_group();
    }
}

/// This thread's index among the consumers. What depends on it is computed where it is needed: sums take all registers.
#[inline(always)]
fn thread_index() -> u32 {
    compiler::opaque(thread::thread_idx_x()) - WARPGROUP
}
