//! Fragments of either operand, from lines of either order in shared memory.

use super::{BK, K_BYTES, SquareTile};
use crate::ptx::matrix;
use cuda_std::prelude::*;

/// Depth of an MMA.
pub(super) const DEPTH: u32 = 8;

/// Words of a lane, 4g + t, of sixteen rows: as an MMA has them of A, rows g and g + 8 at k = t, then both at k = t + 4; as two have them of B,
/// row g at k = t and t + 4, then row g + 8.
pub(super) type Fragment = [u32; 4];

/// Where a warp's fragments of an operand are, which are the MMAs' A or B.
#[derive(Clone, Copy)]
pub(super) struct Fragments<const IS_A: bool, const SIDE: u32, const FRAGMENTS: usize, const STAGES: u32> {
    /// The shared byte of this lane's first word of a stage, or of the row that it gives to `ldmatrix`.
    first: u32,
    is_k_contiguous: bool,
}

impl<const IS_A: bool, const SIDE: u32, const FRAGMENTS: usize, const STAGES: u32>
    Fragments<IS_A, SIDE, FRAGMENTS, STAGES>
{
    const ROW_BYTES: u32 = SquareTile::<SIDE, FRAGMENTS, STAGES>::ROW_BYTES;

    /// Those from that row on, a multiple of eight.
    #[inline(always)]
    pub fn new(row: u32, is_k_contiguous: bool) -> Self {
        let lane = warp::lane_id();
        let first = if is_k_contiguous {
            let (low, high) = (lane / 8 % 2, lane / 16);
            let (octet, half) = if IS_A { (low, high) } else { (high, low) };
            (row + octet * 8 + lane % 8) * K_BYTES + (half ^ (lane % 8)) * 16
        } else {
            lane % 4 * Self::ROW_BYTES + (row + lane / 4) * 4
        };
        Self { first, is_k_contiguous }
    }

    /// Loads the first `count` fragments at that k, every EACH rows, of the operand at that byte of the shared memory.
    ///
    /// # Safety
    /// The whole warp calls it; the stage is complete.
    #[allow(clippy::needless_range_loop)] // an iterator would keep the fragments in memory
    #[inline(always)]
    pub unsafe fn load<const COUNT: usize, const EACH: u32>(
        self,
        stage: u32,
        k: u32,
        count: u32,
        fragments: &mut [Fragment; COUNT],
    ) {
        // SAFETY: upheld by the caller (see `# Safety`).
        unsafe {
            if self.is_k_contiguous {
                let smem = shared::address(shared::dynamic_shared_mem::<u8>()) + stage + (self.first ^ (k * 4));
                for i in 0..COUNT {
                    if (i as u32) < count {
                        fragments[i] = matrix::load_4::<false>(smem + i as u32 * EACH * K_BYTES);
                    }
                }
            } else {
                let first = stage + self.first + k * Self::ROW_BYTES;
                let smem = shared::dynamic_shared_mem::<u8>().wrapping_add(first as usize).cast::<u32>();
                for i in 0..COUNT {
                    if (i as u32) < count {
                        let from = smem.wrapping_add(i * EACH as usize);
                        let behind = from.wrapping_add((4 * Self::ROW_BYTES / 4) as usize);
                        let [[first, second], [third, fourth]] = [from, behind].map(|k| [*k, *k.add(8)]);
                        fragments[i] =
                            if IS_A { [first, second, third, fourth] } else { [first, third, second, fourth] };
                    }
                }
            }
        }
    }
}

const _: () = assert!(BK.is_multiple_of(DEPTH));
