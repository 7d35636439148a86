//! Tiles with elements for which the hi/lo split is not certified: all consumers compute them again, from A and B as they are, in three-level
//! summation.
//!
//! ```text
//!   in fp32:        cp.async ──► a_smem (DEPTH, BM), b_smem (DEPTH, BN) ┐  two stages, where totals were
//!   by three bf16:  cp.async ──► values ──► parts of A and of B          ┴──► sums of a stage ──► of some stages ──► totals
//! ```

use super::consumer::{add, inner_k_tiles};
use super::verdict::Verdict;
use super::{DEPTH, SplitMma};
use crate::epilogue::fusion::Fusion;
use crate::gemm::Gemm;
use crate::hardware::WARPGROUP;
use crate::mainloop::warp_specialized::CONSUMER_THREADS;
use crate::prepass::split::hi_lo::HiLo;
use crate::ptx::{barrier, compiler, cp_async, wgmma};
use crate::{Ab, Coord, Operand};
use cuda_std::prelude::*;

mod bf16x6;
mod fp32;

/// The consumers' barrier. Barrier 0 is the block's, and the next two are the mainloop's.
const CONSUMERS: u32 = 3;

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
        let steps = g.k.div_ceil(DEPTH);
        let stage = |step: u32| smem.wrapping_add((step % 2 * Self::COPIED) as usize);
        let parts = |step: u32| Self::parts(smem, step);
        let mut totals = [0.0; ACC];
        // SAFETY: consumers alone are here; they write to a stage that all have read, and read one that all have written to.
        unsafe {
            barrier::sync(CONSUMERS, CONSUMER_THREADS); // what was there is read
            if is_by_bf16 {
                Self::store_exponents(g, tile, words, smem);
                Self::copy_piece(g, tile, Operand::A, 0, smem);
                Self::copy_piece(g, tile, Operand::B, 0, smem);
                barrier::sync(CONSUMERS, CONSUMER_THREADS); // the exponents are stored
                Self::split_piece(g, tile, Operand::A, 1, smem, parts(0));
                Self::split_piece(g, tile, Operand::B, 1, smem, parts(0));
                wgmma::fence_operands();
            }
            let (mut next, mut end) = (u32::from(is_by_bf16), 0);
            while end < steps {
                let mut inner = [0.0; ACC];
                end = steps.min(end + inner_k_tiles(steps));
                while next <= end {
                    if !is_by_bf16 {
                        cp_async::wait_group::<0>();
                    }
                    barrier::sync(CONSUMERS, CONSUMER_THREADS); // the stage is written, and the next one read
                    let mut partial = [0.0; ACC];
                    if is_by_bf16 {
                        Self::issue_mmas_of_parts(parts(next - 1), &mut partial);
                        Self::split_piece(g, tile, Operand::A, next + 1, smem, parts(next)); // beside the MMAs
                        wgmma::wait_acc::<0, ACC>(&mut partial);
                        Self::split_piece(g, tile, Operand::B, next + 1, smem, parts(next));
                        wgmma::fence_operands(); // it waits for copies, too, which is no slower than issuing them behind it
                    } else {
                        Self::copy(g, tile, next, stage(next));
                        if next > 0 {
                            Self::multiply_in_fp32(stage(next - 1), &mut partial);
                        } else {
                            partial = wgmma::zeros(); // here, and not where they are not needed
                        }
                    }
                    add(&mut inner, &partial);
                    next += 1;
                }
                add(&mut totals, &inner);
            }
            cp_async::wait_group::<0>(); // copies beyond the end write zeros
            barrier::sync(CONSUMERS, CONSUMER_THREADS); // the last stage is read
        }
        totals
    }
}

/// This thread's index among the consumers. What depends on it is computed where it is needed: sums take all registers.
#[inline(always)]
fn thread_index() -> u32 {
    compiler::opaque(thread::thread_idx_x()) - WARPGROUP
}
