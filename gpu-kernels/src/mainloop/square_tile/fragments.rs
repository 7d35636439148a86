//! Fragments of either operand, from lines of either order in shared memory.

use super::lines::Lines;
use super::{BK, K_BYTES, SHIFTED_K_BYTES, SquareTile};
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
    is_k_contiguous: bool,
    is_shifted: bool,
    /// The shared byte of this lane's first word of a stage, or of the row that it gives to `ldmatrix`.
    first: u32,
    /// That of its word at k + 4, where lines are along rows: they may begin in the other half of a sector.
    behind: u32,
}

impl<const IS_A: bool, const SIDE: u32, const FRAGMENTS: usize, const STAGES: u32>
    Fragments<IS_A, SIDE, FRAGMENTS, STAGES>
{
    const ROW_BYTES: u32 = SquareTile::<SIDE, FRAGMENTS, STAGES>::ROW_BYTES;

    /// Those from that row on, a multiple of eight.
    #[inline(always)]
    pub fn new(row: u32, lines: Lines<SIDE, FRAGMENTS, STAGES>) -> Self {
        let lane = warp::lane_id();
        let (of_8, of_4) = (row + lane / 4, lane % 4);
        let at = |line: u32, word: u32| lines.at(line, lines.shift(line) + word);
        let Lines { is_k_contiguous, is_shifted, .. } = lines;
        let (first, behind) = match (is_k_contiguous, is_shifted) {
            (true, false) => {
                let (low, high) = (lane / 8 % 2, lane / 16);
                let (octet, half) = if IS_A { (low, high) } else { (high, low) };
                (lines.at(row + octet * 8 + lane % 8, half * 4), 0)
            }
            (true, true) => (at(of_8, of_4), 0),
            (false, _) => (at(of_4, of_8), at(of_4 + 4, of_8)),
        };
        Self { is_k_contiguous, is_shifted, first, behind }
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
        let smem = shared::dynamic_shared_mem::<u8>();
        let words = |byte: u32| smem.wrapping_add((stage + byte) as usize).cast::<u32>();
        // SAFETY: upheld by the caller (see `# Safety`).
        unsafe {
            if !self.is_k_contiguous {
                let [first, behind] = [self.first, self.behind].map(|byte| words(byte + k * Self::ROW_BYTES));
                for i in 0..COUNT {
                    if (i as u32) < count {
                        let each = i * EACH as usize;
                        fragments[i] = Self::fragment([first.wrapping_add(each), behind.wrapping_add(each)], 8);
                    }
                }
            } else if self.is_shifted {
                let (first, each) = (words(self.first + k * 4), (SHIFTED_K_BYTES / 4) as usize);
                for i in 0..COUNT {
                    if (i as u32) < count {
                        let first = first.wrapping_add(i * EACH as usize * each);
                        fragments[i] = Self::fragment([first, first.wrapping_add(4)], 8 * each);
                    }
                }
            } else {
                let first = shared::address(smem) + stage + (self.first ^ (k * 4));
                for i in 0..COUNT {
                    if (i as u32) < count {
                        fragments[i] = matrix::load_4::<false>(first + i as u32 * EACH * K_BYTES);
                    }
                }
            }
        }
    }

    /// Of these words of a row, at k and k + 4, and of those of the row eight further on, so many words behind.
    ///
    /// # Safety
    /// The stage is complete.
    #[inline(always)]
    unsafe fn fragment(ks: [*const u32; 2], eight_rows: usize) -> Fragment {
        // SAFETY: inside the stage, upheld by the caller.
        let [[first, second], [third, fourth]] = ks.map(|k| unsafe { [*k, *k.add(eight_rows)] });
        if IS_A { [first, second, third, fourth] } else { [first, third, second, fourth] }
    }
}

const _: () = assert!(BK.is_multiple_of(DEPTH));
