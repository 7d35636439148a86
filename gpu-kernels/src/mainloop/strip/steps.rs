//! A warp's way through its ring of slots.

use crate::ptx::cp_async;
use core::ops::Range;
use cuda_std::prelude::*;

/// A lane's copies of its warp's steps, into STEPS slots one after the other.
pub(super) trait Ring<const STEPS: u32> {
    /// What a lane reads of a slot.
    type Fragments;

    /// Starts the copies of the next step, as a group, to this slot, and goes on to the slot behind it. What is out of bounds is zeros. Says how far
    /// the step behind is.
    ///
    /// # Safety
    /// Every lane has read the step that was in the slot; what is in bounds of the operands may be read.
    unsafe fn start(&mut self) -> u32;

    /// The fragments of the step in this slot.
    ///
    /// # Safety
    /// The whole warp calls it; the step's copies are complete.
    unsafe fn read(&self) -> Self::Fragments;

    /// Multiplies the fragments of each step of that k, which is the warp's. While one is multiplied, those behind it are in flight.
    ///
    /// # Safety
    /// The whole warp calls it; the copies are those of that k.
    #[inline(always)]
    unsafe fn for_each_step(mut self, mut k: Range<u32>, mut multiply: impl FnMut(Self::Fragments))
    where
        Self: Sized,
    {
        // SAFETY: a slot is read when every lane's copies to it are complete, and written when every lane has read it.
        unsafe {
            if k.start < k.end {
                for _ in 0..STEPS {
                    self.start();
                }
            }
            while k.start < k.end {
                cp_async::wait_for_all_but(STEPS - 1);
                warp::sync_warp(u32::MAX); // this step's copies are there
                let fragments = self.read();
                warp::sync_warp(u32::MAX); // they are read
                k.start += self.start();
                multiply(fragments);
            }
            cp_async::wait_group::<0>();
            warp::sync_warp(u32::MAX); // no lane's copies, of zeros, are under way: partial tiles may be stored there
        }
    }
}
