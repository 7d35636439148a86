//! An operand's k-tiles: all threads copy them to shared memory, in lines of the order that they have.

use super::{BK, K_BYTES, SquareTile};
use crate::hardware::{VEC, WARP};
use crate::ptx::{compiler, cp_async};
use cuda_std::prelude::*;

/// The fewest words of a line that are copied: what is behind the last row is zeros. So an iteration of a thread's copies, of VEC words in
/// all, has no more lines than there are.
const LEAST_LINE: u32 = WARP;

/// An operand, from the tile's first row on.
#[derive(Clone, Copy)]
pub(super) struct Operand {
    /// The first row at k = 0.
    pub start: *const f32,
    pub ld: usize,
    pub is_k_contiguous: bool,
    /// Rows in bounds.
    pub rows: u32,
}

/// This thread's copies of an operand: at the same place of every so many lines.
#[derive(Clone, Copy)]
pub(super) struct Copies<const SIDE: u32, const FRAGMENTS: usize, const STAGES: u32> {
    /// The first one's source in the next k-tile, and its shared byte in a stage.
    source: *const f32,
    target: u32,
    ld: usize,
    is_k_contiguous: bool,
    rows: u32,
    /// Words of a copy, its first word in the line, and the first copy's line.
    words: u32,
    place: u32,
    line: u32,
    /// Lines from one copy to the next, as a power of two, and iterations of VEC words.
    step: u32,
    iterations: u32,
}

impl<const SIDE: u32, const FRAGMENTS: usize, const STAGES: u32> Copies<SIDE, FRAGMENTS, STAGES> {
    const THREADS: u32 = SquareTile::<SIDE, FRAGMENTS, STAGES>::THREADS;

    /// Of the k-tiles from `k` on, to that byte of a stage.
    #[inline(always)]
    pub fn new(from: Operand, k: u32, stage_byte: u32) -> Self {
        const { assert!((LEAST_LINE * BK).is_multiple_of(Self::THREADS * VEC) && SIDE.is_multiple_of(LEAST_LINE)) }
        let Operand { start, ld, is_k_contiguous, rows } = from;
        let bytes = start.addr() as u32 | (ld as u32 * 4);
        let words: u32 = if bytes.is_multiple_of(16) {
            4
        } else if bytes.is_multiple_of(8) {
            2
        } else {
            1
        };
        let of_line = if is_k_contiguous { BK } else { rows.max(LEAST_LINE).next_power_of_two() };
        let shift = of_line.trailing_zeros() - words.trailing_zeros();
        let tid = thread::thread_idx_x();
        let (place, line) = ((tid & ((1 << shift) - 1)) * words, tid >> shift);
        let (outer, inner) = if is_k_contiguous { (line, k + place) } else { (k + line, place) };
        let lines = if is_k_contiguous { rows.next_multiple_of(LEAST_LINE) } else { BK };
        Self {
            source: start.wrapping_add(outer as usize * ld + inner as usize),
            target: stage_byte
                + line * Self::pitch(is_k_contiguous)
                + ((place * 4) ^ Self::swizzle(is_k_contiguous, line)),
            ld,
            is_k_contiguous,
            rows,
            words,
            place,
            line,
            step: Self::THREADS.trailing_zeros() - shift,
            iterations: (lines * of_line).div_ceil(Self::THREADS * VEC),
        }
    }

    /// Bytes from a line to the next in shared memory.
    #[inline(always)]
    fn pitch(is_k_contiguous: bool) -> u32 {
        if is_k_contiguous { K_BYTES } else { SquareTile::<SIDE, FRAGMENTS, STAGES>::ROW_BYTES }
    }

    /// The bits of a byte in a line that the swizzle changes.
    #[inline(always)]
    fn swizzle(is_k_contiguous: bool, line: u32) -> u32 {
        if is_k_contiguous { line % 8 * 16 } else { 0 }
    }

    /// Issues those of the next k-tile, to the stage at that shared address; so much of k is left from there. Zeros replace what is out of
    /// bounds.
    ///
    /// # Safety
    /// Every thread of the block calls it; no thread accesses the stage before the copies are waited for.
    #[inline(always)]
    pub unsafe fn issue(&mut self, left: u32, stage: u32) {
        let (lines, along) = if self.is_k_contiguous { (self.rows, left) } else { (left, self.rows) };
        let words = along.saturating_sub(self.place).min(self.words);
        let step = 1 << self.step;
        let in_bounds = if words > 0 { (lines.saturating_sub(self.line) + step - 1) >> self.step } else { 0 };
        // SAFETY: upheld by the caller (see `# Safety`).
        unsafe {
            match self.words {
                1 => self.issue_words::<1>(words * 4, in_bounds, stage),
                2 => self.issue_words::<2>(words * 4, in_bounds, stage),
                _ => self.issue_words::<4>(words * 4, in_bounds, stage),
            }
        }
        self.source = self.source.wrapping_add(if self.is_k_contiguous { BK as usize } else { BK as usize * self.ld });
    }

    /// Copies of W words, of which so many are in bounds, with so many bytes each.
    ///
    /// # Safety
    /// As of [`issue`](Self::issue).
    #[inline(always)]
    unsafe fn issue_words<const W: u32>(&self, bytes: u32, mut in_bounds: u32, stage: u32) {
        let step_words = self.ld << self.step;
        let step_bytes = Self::pitch(self.is_k_contiguous) << self.step;
        let (mut source, mut target) = (self.source, stage + self.target);
        // A thread's copies are eight rows apart, or every other one is four rows further on.
        let turned = if Self::THREADS / BK * W < 8 { Self::swizzle(self.is_k_contiguous, 4) } else { 0 };
        let mut iteration = 0;
        while iteration < self.iterations {
            for copy in 0..VEC / W {
                // SAFETY: upheld by the caller (see `# Safety`); a source is read only where it is in bounds.
                unsafe {
                    let target = target ^ (copy % 2 * turned);
                    if W == 1 {
                        cp_async::copy_below(target, source, copy, in_bounds);
                    } else {
                        let bytes = if copy < in_bounds { bytes } else { 0 };
                        cp_async::copy_first::<W>(target, source.cast(), bytes, true);
                    }
                }
                source = source.wrapping_add(step_words);
                target += step_bytes;
            }
            in_bounds = in_bounds.saturating_sub(VEC / W);
            iteration = compiler::opaque(iteration + 1); // or LLVM would unroll the loop
        }
    }
}
