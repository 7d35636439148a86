//! By signs: an infinity or NaN in a row or column makes its elements infinite or NaN. Which of them, and of which sign, depends on its own
//! and the other values' signs, and on what is zero. So 1 or -1 stands for what is finite otherwise, and an MMA finds infinities and NaN.

use super::CONSUMERS;
use super::parts::pairs;
use crate::Operand;
use crate::mainloop::split_mma::{DEPTH, SplitMma};
use crate::mainloop::warp_specialized::{CONSUMER_THREADS, Ring};
use crate::prepass::split::hi_lo::HiLo;
use crate::ptx::{barrier, wgmma};

impl<P: HiLo, const ACC: usize, const STAGES: u32> SplitMma<P, ACC, STAGES> {
    /// The sums of a tile's products of signs.
    ///
    /// # Safety
    /// All consumers call it, and the producers fill stages with as much of `k`; there are `BEHIND_RING_BYTES` of shared memory, which nobody
    /// else uses.
    #[inline(always)]
    pub(super) unsafe fn sums_of_signs(k: u32, ring: &mut Ring<1>, smem: *mut f32) -> [f32; ACC] {
        let steps = k.div_ceil(DEPTH);
        let parts = |step: u32| smem.wrapping_add((step % 2 * Self::PARTS_BYTES / 4) as usize);
        let mut acc = [0.0; ACC];
        // SAFETY: consumers alone are here; they write parts that all have read, and read those that all have written.
        unsafe {
            barrier::sync(CONSUMERS, CONSUMER_THREADS); // what was there is read
            Self::store_signs(ring, 0, steps, parts(0));
            for step in 0..steps {
                barrier::sync(CONSUMERS, CONSUMER_THREADS); // the parts are written, and the next ones read
                wgmma::fence();
                Self::mma_of_parts(Self::first_parts(parts(step)), [0, 0], &mut acc, true);
                wgmma::commit_group();
                if step + 1 < steps {
                    Self::store_signs(ring, step + 1, steps, parts(step + 1)); // beside the MMA
                }
                wgmma::wait_acc::<0, ACC>(&mut acc);
            }
            barrier::sync(CONSUMERS, CONSUMER_THREADS); // the last parts are read
        }
        acc
    }

    /// Stores the signs of this thread's values for a step's MMA behind a barrier, and releases a stage that has no other steps.
    ///
    /// # Safety
    /// The consumers are at the step, and nobody else uses the parts.
    #[inline(always)]
    unsafe fn store_signs(ring: &mut Ring<1>, step: u32, steps: u32, parts: *mut f32) {
        // SAFETY: the stage is full, and has the step's values; the thread's own parts, upheld by the caller.
        unsafe {
            let stage = ring.consumer_peek();
            for of in [Operand::A, Operand::B] {
                if Self::has_piece(of) {
                    Self::store_part(parts, of, 0, pairs(&Self::piece(stage, step, of).map(sign)));
                }
            }
            Self::release_behind(step, steps, ring);
            wgmma::fence_operands();
        }
    }
}

/// 1 with the sign of a number that is finite and not zero; all others stay.
#[inline(always)]
fn sign(x: f32) -> f32 {
    if x.is_finite() && x != 0.0 { 1f32.copysign(x) } else { x }
}
