//! An operand's k-tiles: all threads copy them to shared memory by 16 bytes, in lines of the order that they have.

use super::lines::{Lines, Operand};
use super::{BK, SquareTile};
use crate::hardware::{VEC, WARP};
use crate::ptx::cp_async;
use cuda_std::prelude::*;

/// The fewest words of a line that are copied: what is behind the last row is zeros. So a thread's vectors are of no more lines than there are.
const LEAST_LINE: u32 = WARP;

/// This thread's copies of an operand: a vector at the same place of every so many lines.
#[derive(Clone, Copy)]
pub(super) struct Copies<const SIDE: u32, const FRAGMENTS: usize, const STAGES: u32> {
    /// The first one's source in the next k-tile, and its shared byte in a stage.
    source: *const f32,
    target: u32,
    ld: usize,
    is_k_contiguous: bool,
    rows: u32,
    /// Words from the first line's first one to the vector, which begins before it at most; and the first vector's line.
    place: i32,
    line: u32,
    /// Lines from one vector to the next, as a power of two, their bytes in a stage, and how many vectors there are.
    step: u32,
    step_bytes: u32,
    count: u32,
    /// Words of the next k-tile's first vector that are before the operand.
    before: u32,
    /// Where a line does not begin at a multiple of 16 bytes, one vector more has its last words. A thread has one line's.
    behind: Behind,
}

/// The last vector of a line that has one more.
#[derive(Clone, Copy)]
struct Behind {
    source: *const f32,
    target: u32,
    place: u32,
    line: u32,
    /// Whether this thread has such a line.
    is_wanted: bool,
}

impl<const SIDE: u32, const FRAGMENTS: usize, const STAGES: u32> Copies<SIDE, FRAGMENTS, STAGES> {
    const THREADS: u32 = SquareTile::<SIDE, FRAGMENTS, STAGES>::THREADS;
    /// The most vectors of a thread.
    const MOST: u32 = SIDE * BK / (Self::THREADS * VEC);

    /// Of the k-tiles from `k` on, to that byte of a stage.
    #[inline(always)]
    pub fn new(from: Operand, k: u32, stage_byte: u32) -> Self {
        const {
            let of_all = Self::THREADS * VEC;
            assert!((LEAST_LINE * BK).is_multiple_of(of_all) && SIDE.is_multiple_of(LEAST_LINE));
            assert!(
                (of_all / SIDE).is_multiple_of(8) && (of_all / BK).is_multiple_of(8),
                "a thread's lines begin alike"
            );
            assert!(SIDE <= Self::THREADS && BK <= Self::THREADS, "a thread for each line");
        }
        let Operand { first, start, ld, is_k_contiguous, rows } = from;
        let lines = Lines::<SIDE, FRAGMENTS, STAGES>::new(&from);
        let padded = rows.next_multiple_of(LEAST_LINE);
        let of_line = if is_k_contiguous { BK } else { padded.next_power_of_two() };
        let line_count = if is_k_contiguous { padded } else { BK };
        // A line's vector, and its shared byte.
        let vector = |line: u32, word: u32| {
            let (outer, inner) = if is_k_contiguous { (line, k + word) } else { (k + line, word) };
            let source = start.wrapping_add(outer as usize * ld + inner as usize);
            (source.wrapping_sub(lines.shift(line) as usize), stage_byte + lines.at(line, word))
        };
        let shift = of_line.trailing_zeros() - VEC.trailing_zeros();
        let tid = thread::thread_idx_x();
        let (word, line) = ((tid & ((1 << shift) - 1)) * VEC, tid >> shift);
        let step = Self::THREADS.trailing_zeros() - shift;
        let (source, target) = vector(line, word);
        let (behind, behind_target) = vector(tid, of_line);
        Self {
            source,
            target,
            ld,
            is_k_contiguous,
            rows,
            place: word as i32 - lines.shift(line) as i32,
            line,
            step,
            step_bytes: lines.pitch() << step,
            count: (line_count * of_line).div_ceil(Self::THREADS * VEC),
            before: (first.addr().saturating_sub(source.addr()) / 4) as u32,
            behind: Behind {
                source: behind,
                target: behind_target,
                place: of_line - lines.shift(tid),
                line: tid,
                // What is behind the padded rows is not read.
                is_wanted: (lines.shift(tid) > 0) & (tid < line_count) & (is_k_contiguous | (padded == of_line)),
            },
        }
    }

    /// Issues those of the next k-tile, to the stage at that shared address; so much of k is left from there, which is not zero. Zeros replace
    /// what is out of bounds behind a line; what is before it, nobody reads.
    ///
    /// # Safety
    /// Every thread of the block calls it; no thread accesses the stage before the copies are waited for.
    #[inline(always)]
    pub unsafe fn issue(&mut self, left: u32, stage: u32) {
        let (lines, along) = if self.is_k_contiguous { (self.rows, left) } else { (left, self.rows) };
        // SAFETY: upheld by the caller (see `# Safety`).
        unsafe {
            if (self.rows == SIDE) & (left >= BK) & (self.before == 0) {
                self.issue_whole(stage + self.target);
            } else {
                self.issue_part(lines, along, stage + self.target);
            }
            let Behind { source, target, place, line, is_wanted } = self.behind;
            if is_wanted {
                let words = if line < lines { along.saturating_sub(place).min(VEC) } else { 0 };
                cp_async::copy_first::<VEC>(stage + target, source.cast(), words * 4, true);
            }
        }
        let step = if self.is_k_contiguous { BK as usize } else { BK as usize * self.ld };
        self.source = self.source.wrapping_add(step);
        self.behind.source = self.behind.source.wrapping_add(step);
    }

    /// All of this thread's vectors, which are in bounds.
    ///
    /// # Safety
    /// As of [`issue`](Self::issue).
    #[inline(always)]
    unsafe fn issue_whole(&self, mut target: u32) {
        let mut source = self.source;
        for _ in 0..Self::MOST {
            // SAFETY: in bounds; of the stage, upheld by the caller.
            unsafe { cp_async::copy_first::<VEC>(target, source.cast(), VEC * 4, true) }
            source = source.wrapping_add(self.ld << self.step);
            target += self.step_bytes;
        }
    }

    /// Those of a k-tile of so many lines in bounds, so long.
    ///
    /// # Safety
    /// As of [`issue`](Self::issue).
    #[inline(always)]
    unsafe fn issue_part(&mut self, lines: u32, along: u32, mut target: u32) {
        let bytes = (along.min(SIDE.max(BK)) as i32 - self.place).clamp(0, VEC as i32) as u32 * 4;
        let lines_left = lines.saturating_sub(self.line);
        let mut source = self.source;
        for copy in 0..Self::MOST {
            let bytes = if (copy << self.step) < lines_left { bytes } else { 0 };
            // SAFETY: upheld by the caller (see `# Safety`); a source is read only where it is in bounds.
            unsafe {
                if copy == 0 && self.before > 0 {
                    self.copy_words(bytes, target);
                    self.before = 0;
                } else if copy < self.count {
                    cp_async::copy_first::<VEC>(target, source.cast(), bytes, true);
                }
            }
            source = source.wrapping_add(self.ld << self.step);
            target += self.step_bytes;
        }
    }

    /// Copies the first of `bytes` of the first vector, but nothing before the operand.
    ///
    /// # Safety
    /// As of [`issue`](Self::issue).
    #[inline(always)]
    unsafe fn copy_words(&self, bytes: u32, target: u32) {
        for word in 1..VEC {
            let bytes = bytes.saturating_sub(word * 4).min(4);
            // SAFETY: upheld by the caller (see `# Safety`); in bounds, or not read.
            unsafe {
                let source = self.source.wrapping_add(word as usize);
                cp_async::copy_first::<1>(target + word * 4, source.cast(), bytes, word >= self.before);
            }
        }
    }
}
