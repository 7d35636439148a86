//! Tiles with elements for which the hi/lo split is not certified: all consumers compute them again, from A and B as they are, in three-level
//! summation.
//!
//! ```text
//!   cp.async ──► a_smem (BM, DEPTH), swizzled ┐  two stages, where totals were ──► sums of a stage ──► of some stages ──► totals
//!   cp.async ──► b_smem (DEPTH, BN)           ┘
//! ```

use super::consumer::{add, inner_k_tiles};
use super::verdict::Verdict;
use super::{BM, DEPTH, SplitMma};
use crate::epilogue::fusion::Fusion;
use crate::gemm::Gemm;
use crate::hardware::{VEC, WARPGROUP};
use crate::mainloop::warp_specialized::CONSUMER_THREADS;
use crate::prepass::split::hi_lo::HiLo;
use crate::ptx::{barrier, compiler, cp_async, f32x4};
use crate::{Ab, Coord};
use cuda_std::prelude::*;

mod bf16x6;
mod fp32;

/// The consumers' barrier. Barrier 0 is the block's, and the next two are the mainloop's.
const CONSUMERS: u32 = 3;
/// Vectors in a row of A.
const A_VECTORS: u32 = DEPTH / VEC;

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
        // A stage is free when it is split, so that copies are two steps ahead.
        let ahead = if is_by_bf16 { 2 } else { 1 };
        let mut totals = [0.0; ACC];
        // SAFETY: consumers alone are here; they copy to a stage that all have read, and read one that all have copied to.
        unsafe {
            barrier::sync(CONSUMERS, CONSUMER_THREADS); // what was there is read
            let stage = |step: u32| stages.wrapping_add((step % 2 * Self::COPIED) as usize);
            let mut copied = 0;
            while copied < ahead {
                Self::copy(g, tile, copied, stage(copied));
                copied = compiler::opaque(copied + 1); // or LLVM would unroll the loop
            }
            if is_by_bf16 {
                Self::store_scales(g, tile, words, parts);
            }
            let mut step = 0;
            while step < steps {
                let mut inner = [0.0; ACC];
                let end = steps.min(step + inner_k_tiles(steps));
                while step < end {
                    if is_by_bf16 {
                        cp_async::wait_group::<1>();
                    } else {
                        cp_async::wait_group::<0>();
                    }
                    barrier::sync(CONSUMERS, CONSUMER_THREADS); // the stage is written; the other one, or the parts, are read
                    if is_by_bf16 {
                        Self::split_stage(stage(step), parts);
                    }
                    Self::copy(g, tile, step + ahead, stage(step + ahead));
                    let mut partial = [0.0; ACC];
                    if is_by_bf16 {
                        Self::multiply_parts(parts, &mut partial);
                    } else {
                        Self::multiply_in_fp32(stage(step), &mut partial);
                    }
                    add(&mut inner, &partial);
                    step += 1;
                }
                add(&mut totals, &inner);
            }
            cp_async::wait_group::<0>(); // copies beyond the end write zeros
            barrier::sync(CONSUMERS, CONSUMER_THREADS); // the last stage is read
        }
        totals
    }

    /// Issues this thread's copies of a stage, of vectors where all are aligned; zeros replace what is out of bounds.
    #[inline(always)]
    unsafe fn copy(g: &Gemm, tile: Coord, step: u32, stage: *mut f32) {
        let are_vectors = f32x4::aligned(g.a, g.lda) && f32x4::aligned(g.b, g.ldb) && (g.n | g.k).is_multiple_of(VEC);
        // SAFETY: upheld by the caller.
        unsafe {
            let stage = shared::address(stage);
            if are_vectors {
                Self::copy_by::<VEC>(g, tile, step, stage);
            } else {
                Self::copy_by::<1>(g, tile, step, stage);
            }
        }
        cp_async::commit_group();
    }

    /// The same, N values at once.
    #[inline(always)]
    unsafe fn copy_by<const N: u32>(g: &Gemm, tile: Coord, step: u32, stage: u32) {
        let (p, tid) = (step * DEPTH, thread_index());
        // SAFETY: the targets are in the stage, which nobody reads; the sources are read only if they are in bounds.
        unsafe {
            let copies = DEPTH / N; // of a row
            let (mut row, d) = (tid / copies, tid % copies * N);
            while row < BM {
                let is_inside = (tile.row + row < g.m) & (p + d < g.k);
                cp_async::copy_or_zero::<N>(stage + a_place(row, d) * 4, g.a(tile.row + row, p + d), is_inside);
                row = compiler::opaque(row + CONSUMER_THREADS / copies); // or LLVM would unroll the loop: sums take all registers
            }
            let copies = Self::BN / N;
            let (mut d, col) = (tid / copies, tid % copies * N);
            while d < DEPTH {
                let is_inside = (tile.col + col < g.n) & (p + d < g.k);
                let target = stage + (BM * DEPTH + d * Self::BN + col) * 4;
                cp_async::copy_or_zero::<N>(target, g.b(p + d, tile.col + col), is_inside);
                d = compiler::opaque(d + CONSUMER_THREADS / copies);
            }
        }
    }
}

/// Where the value of a row of A is in a stage. Vectors are swizzled, so that those of eight rows at the same k are in 32 banks.
#[inline(always)]
fn a_place(row: u32, d: u32) -> u32 {
    row * DEPTH + ((d / VEC) ^ (row / 2 % A_VECTORS)) * VEC + d % VEC
}

/// This thread's index among the consumers. What depends on it is computed where it is needed: sums take all registers.
#[inline(always)]
fn thread_index() -> u32 {
    compiler::opaque(thread::thread_idx_x()) - WARPGROUP
}
