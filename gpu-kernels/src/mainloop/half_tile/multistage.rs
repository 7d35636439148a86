//! The mainloop without a producer: all threads copy the operands' k-tiles to stages, whatever their order and alignment, and multiply.

use super::copies::{self, Source};
use super::stages::DEPTH;
use super::{BK, HalfTile};
use crate::Ab;
use crate::ptx::wgmma::{self, Input};
use crate::ptx::{compiler, cp_async};
use cuda_std::prelude::*;

impl<const BM: u32, const BN: u32, const ACC: usize, const STAGES: u32> HalfTile<BM, BN, ACC, STAGES> {
    /// A*B over so many k-tiles, the first of which begins at `k`; so much of k is left from there. This thread's accumulators. While a
    /// k-tile is multiplied, those of the other stages are in flight.
    ///
    /// # Safety
    /// Every thread of the block calls it.
    #[inline(always)]
    pub unsafe fn multiply<I: Input>(operands: Ab<Source>, mut k: u32, left: u32, k_tiles: u32) -> [f32; ACC] {
        // SAFETY: the stages begin there.
        let stages = unsafe { shared::address(shared::dynamic_shared_mem::<u8>()) };
        let mut acc = wgmma::zeros::<ACC>();
        let (mut left_to_copy, mut left) = (left, left);
        let (mut copied, mut multiplied) = (0, 0);
        let mut step = 0;
        while step < k_tiles + STAGES - 1 {
            let is_full = step >= STAGES - 1; // the prologue is over
            if is_full {
                cp_async::wait_for_stage::<STAGES>();
                wgmma::fence_operands();
                thread::sync_threads(); // this k-tile is complete, and the MMAs of the one before are
            }

            // global to shared
            if step < k_tiles {
                // An operand that goes through registers comes last: its loads are waited for.
                let b_comes_first = !operands.a.is_asynchronous();
                let mut operand = 0;
                while operand < 2 {
                    let is_b = (operand == 0) == b_comes_first;
                    let (from, stage) = if is_b { (operands.b, copied + Self::A_BYTES) } else { (operands.a, copied) };
                    // SAFETY: the stage is free.
                    unsafe { copies::copy(from, k, left_to_copy, stage, step < STAGES, Self::ANY_LAYOUT_THREADS) }
                    operand = compiler::opaque(operand + 1); // or LLVM would write the copies twice
                }
                copied = Self::next(copied);
                k += BK;
                left_to_copy = left_to_copy.saturating_sub(BK);
            }
            cp_async::commit_group();

            if is_full {
                let depth = left.min(BK).div_ceil(DEPTH);
                let is_first = step == STAGES - 1;
                // SAFETY: the stage is full.
                unsafe {
                    warp::sync_warp(u32::MAX); // MMAs want it converged
                    let stage = stages + multiplied;
                    match (operands.a.is_k_contiguous, operands.b.is_k_contiguous) {
                        (true, false) => Self::mmas::<I, 0, 1>(stage, depth, !is_first, &mut acc),
                        (true, true) => Self::mmas::<I, 0, 0>(stage, depth, !is_first, &mut acc),
                        (false, false) => Self::mmas::<I, 1, 1>(stage, depth, !is_first, &mut acc),
                        (false, true) => Self::mmas::<I, 1, 0>(stage, depth, !is_first, &mut acc),
                    }
                }
                multiplied = Self::next(multiplied);
                left = left.saturating_sub(BK);
            }
            step = compiler::opaque(step + 1); // or LLVM would unroll the loop
        }
        wgmma::wait_acc::<0, ACC>(&mut acc); // they are complete, of which the compiler learns here
        acc
    }

    /// The byte of the stage after that one.
    #[inline(always)]
    fn next(stage: u32) -> u32 {
        if stage == (STAGES - 1) * Self::STAGE_BYTES { 0 } else { stage + Self::STAGE_BYTES }
    }

    /// acc += A*B, so many MMAs of a stage at that shared address, with A m-major or k-major and B n-major or k-major: [`Input::mma`].
    ///
    /// # Safety
    /// Every thread of the block calls it, and the stage is full.
    #[inline(always)]
    unsafe fn mmas<I: Input, const A_MAJOR: u32, const B_MAJOR: u32>(
        stage: u32,
        count: u32,
        accumulate: bool,
        acc: &mut [f32; ACC],
    ) {
        let Ab { a: (mut a, a_step), b: (mut b, b_step) } =
            Self::descriptors::<A_MAJOR, B_MAJOR>(stage, Self::warpgroup());
        let mut i = 0;
        wgmma::fence();
        while i < count {
            // SAFETY: upheld by the caller (see `# Safety`).
            unsafe { I::mma::<ACC, A_MAJOR, B_MAJOR>(acc, a, b, accumulate || i > 0) }
            (a, b) = (a.add(a_step), b.add(b_step));
            i = compiler::opaque(i + 1); // or LLVM would unroll the loop
        }
        wgmma::commit_group();
        wgmma::wait_group::<0>(); // before the branches meet, or ptxas would serialise the MMAs
    }
}
