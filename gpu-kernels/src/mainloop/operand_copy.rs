//! Asynchronous copies of an operand's k-tiles, `cp.async`, whatever its order, to (BK, PITCH) in shared memory.
//!
//! ```text
//!   k contiguous                 4 bytes per copy: a warp's are 8 along k of 4 rows   ┐
//!   rows contiguous              4 bytes per copy: adjacent lanes along the rows      ├──► (BK, PITCH)
//!   rows contiguous and aligned  16 bytes per copy                                    ┘
//! ```
//!
//! "Rows" are those of A or the columns of B: whatever is not k. A warp's copies of 4 bytes go to 32 banks: PITCH is ROWS + PAD, where
//! PAD is VEC.

use crate::hardware::{VEC, WARP};
use crate::ptx::{compiler, cp_async, f32x4};
use cuda_std::prelude::*;

/// Values along k that a warp copies at once where k is contiguous.
const DEPTH: u32 = 8;

/// An operand, and where in it a block begins.
#[derive(Clone, Copy)]
pub(crate) struct Source {
    pub matrix: *const f32,
    pub ld: usize,
    pub is_k_contiguous: bool,
    /// Rows in all.
    pub rows: u32,
    /// The first row of the block's tile, and the first k of its first k-tile.
    pub row: u32,
    pub k: u32,
}

/// The copies of this thread: each [`issue`](Self::issue) is the next k-tile's.
pub(crate) struct OperandCopy<const ROWS: u32, const BK: u32, const PAD: u32, const THREADS: u32> {
    /// The first element of this thread's next copy, and elements from there to the copy's after it.
    source: *const f32,
    step: usize,
    /// The shared address of the first copy in stage 0, and bytes from a copy to the next.
    target: u32,
    target_step: u32,
    /// The k in the k-tile of the first copy, and copies whose rows are in bounds.
    k: u32,
    copies: u32,
    is_k_contiguous: bool,
    is_vectorized: bool,
}

impl<const ROWS: u32, const BK: u32, const PAD: u32, const THREADS: u32> OperandCopy<ROWS, BK, PAD, THREADS> {
    const PITCH: u32 = ROWS + PAD;
    /// Copies of this thread per k-tile, of 4 bytes and of 16.
    const COPIES: u32 = ROWS * BK / THREADS;
    const WIDE_COPIES: u32 = Self::COPIES / VEC;
    /// Rows between copies along these, and k between copies along k, of 4 bytes and of 16.
    const ROW_STEP: u32 = THREADS / BK;
    const K_STEP: u32 = THREADS / ROWS;
    const WIDE_K_STEP: u32 = THREADS * VEC / ROWS;

    /// Before the first k-tile, for stages at that shared address.
    #[inline(always)]
    pub fn new(from: Source, stages: u32) -> Self {
        const {
            assert!(
                (THREADS / WARP).is_multiple_of(BK / DEPTH) && THREADS.is_multiple_of(ROWS),
                "copies go along one side"
            );
            assert!((ROWS * BK).is_multiple_of(THREADS * VEC), "equal shares");
        }
        let tid = thread::thread_idx_x();
        let Source { matrix, ld, is_k_contiguous, .. } = from;
        let left = from.rows - from.row;
        let is_whole = (left >= ROWS) | left.is_multiple_of(VEC);
        // A tile begins at a multiple of VEC rows.
        let is_vectorized = !is_k_contiguous & is_whole & f32x4::aligned(matrix, ld);
        let (row, k) = if is_k_contiguous {
            let (warp, lane) = (tid / WARP, tid % WARP);
            let group = warp / (BK / DEPTH) * (WARP / DEPTH);
            (group + lane / DEPTH, warp % (BK / DEPTH) * DEPTH + lane % DEPTH)
        } else if is_vectorized {
            (tid % (ROWS / VEC) * VEC, tid / (ROWS / VEC))
        } else {
            (tid % ROWS, tid / ROWS)
        };
        let left = left.saturating_sub(row);
        let along_rows = left.min(ROWS).div_ceil(Self::ROW_STEP);
        let along_k = if left > 0 { Self::COPIES } else { 0 };
        let (row_step, k_step) = if is_k_contiguous { (Self::ROW_STEP, 0) } else { (0, Self::K_STEP) };
        let (outer, inner) = if is_k_contiguous { (from.row + row, from.k + k) } else { (from.k + k, from.row + row) };
        Self {
            source: matrix.wrapping_add(outer as usize * ld + inner as usize),
            step: ld * if is_vectorized { Self::WIDE_K_STEP } else { row_step + k_step } as usize,
            target: stages + (k * Self::PITCH + row) * 4,
            target_step: (k_step * Self::PITCH + row_step) * 4,
            k,
            copies: if is_k_contiguous { along_rows } else { along_k },
            is_k_contiguous,
            is_vectorized,
        }
    }

    /// Issues this thread's copies of the next k-tile to the stage at that offset in bytes; of k, so much is left from the k-tile's
    /// first on. Zeros replace what is out of bounds.
    ///
    /// # Safety
    /// No thread accesses the stage before the copies are waited for.
    #[inline(always)]
    pub unsafe fn issue(&mut self, k_left: u32, stage: u32) {
        let (source, target) = (self.source, self.target + stage);
        let k_left = k_left.min(BK).saturating_sub(self.k);
        // SAFETY: the stage is free, upheld by the caller; a source is read only if it is in bounds.
        let end = unsafe {
            if self.is_vectorized {
                let in_bounds = k_left.div_ceil(Self::WIDE_K_STEP).min(self.copies);
                let target_step = Self::WIDE_K_STEP * Self::PITCH * 4;
                Self::copy::<VEC>(source, self.step, target, target_step, Self::WIDE_COPIES, in_bounds)
            } else {
                let along_k = k_left.div_ceil(Self::K_STEP);
                let along_rows = if k_left > 0 { Self::COPIES } else { 0 };
                let in_bounds = self.copies.min(if self.is_k_contiguous { along_rows } else { along_k });
                Self::copy::<1>(source, self.step, target, self.target_step, Self::COPIES, in_bounds)
            }
        };
        self.source = if self.is_k_contiguous { source.wrapping_add(BK as usize) } else { end };
    }

    /// Copies W adjacent values each time, zeros from the first that is not in bounds on. Where the next copy would begin.
    ///
    /// # Safety
    /// As of [`issue`](Self::issue).
    #[inline(always)]
    unsafe fn copy<const W: u32>(
        mut source: *const f32,
        step: usize,
        mut target: u32,
        target_step: u32,
        copies: u32,
        in_bounds: u32,
    ) -> *const f32 {
        /// Copies whose distances from the first one are in registers.
        const GROUP: u32 = 4;
        for first in (0..copies).step_by(GROUP as usize) {
            for i in 0..GROUP.min(copies - first) {
                // SAFETY: upheld by the caller (see `# Safety`).
                unsafe {
                    let source = source.wrapping_add(i as usize * step);
                    cp_async::copy_or_zero::<W>(target + i * target_step, source, first + i < in_bounds);
                }
            }
            source = source.wrapping_add(GROUP.min(copies - first) as usize * step);
            target = compiler::opaque(target + GROUP * target_step);
        }
        source
    }
}
