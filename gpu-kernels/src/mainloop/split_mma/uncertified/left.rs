//! Which elements of a tile sums of three bf16 leave to fp32: a bit each, in shared memory. A warp's word has that of the same accumulator of each
//! lane.

use super::thread_index;
use crate::Coord;
use crate::epilogue::direct::OCTET;
use crate::hardware::WARP;
use crate::mainloop::split_mma::SplitMma;
use crate::prepass::split::hi_lo::HiLo;
use crate::ptx::lanes;
use cuda_std::warp;

/// Rows of a warp's accumulators.
const WARP_ROWS: u32 = 16;

impl<P: HiLo, const ACC: usize, const STAGES: u32> SplitMma<P, ACC, STAGES> {
    #[inline(always)]
    fn left(smem: *mut f32, warp: u32, accumulator: u32) -> *mut u32 {
        let word = Self::BEHIND_RING_BYTES / 4 + warp * ACC as u32 + accumulator;
        smem.wrapping_add(word as usize).cast()
    }

    /// Stores whether the element of this thread's accumulator of that number is left.
    ///
    /// # Safety
    /// All lanes are here, and there are `BITS_BYTES` behind `BEHIND_RING_BYTES`.
    #[inline(always)]
    pub(super) unsafe fn set_left(smem: *mut f32, accumulator: u32, is_left: bool) {
        // SAFETY: upheld by the caller; all lanes store the same.
        unsafe { *Self::left(smem, thread_index() / WARP, accumulator) = lanes::ballot(is_left) }
    }

    /// Stores that none of this warp's elements is left.
    ///
    /// # Safety
    /// As of [`Self::set_left`].
    #[inline(always)]
    pub(super) unsafe fn set_none_left(smem: *mut f32) {
        for accumulator in (0..ACC as u32).step_by(WARP as usize) {
            // SAFETY: upheld by the caller; each lane stores words of its own.
            unsafe { *Self::left(smem, thread_index() / WARP, accumulator + warp::lane_id()) = 0 }
        }
    }

    /// Whether the element at `at` of the tile is.
    ///
    /// # Safety
    /// As of [`Self::set_left`], which all warps have called for all accumulators, or [`Self::set_none_left`], before a barrier.
    #[inline(always)]
    pub(super) unsafe fn is_left(smem: *mut f32, at: Coord) -> bool {
        let accumulator = at.col / 8 * OCTET as u32 + at.row % WARP_ROWS / 8 * 2 + at.col % 2;
        let lane = at.row % 8 * 4 + at.col % 8 / 2;
        // SAFETY: upheld by the caller.
        unsafe { *Self::left(smem, at.row / WARP_ROWS, accumulator) >> lane & 1 != 0 }
    }
}
