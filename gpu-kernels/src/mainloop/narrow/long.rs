//! The long operand: a warp copies its lines of each k-tile to shared memory, asynchronously.

use super::{BK, LINE_BYTES, LINES, VECTOR, WARPS};
use crate::hardware::WARP;
use crate::ptx::{compiler, cp_async, read_only};
use cuda_std::prelude::*;

/// Vectors of a line in a k-tile.
const VECTORS: u32 = BK / VECTOR;
/// Lines that a warp copies at once.
const AT_ONCE: u32 = WARP / VECTORS;
/// Words of a vector.
const WORDS: u32 = VECTOR / 2;

/// An operand, from the block's first row on.
#[derive(Clone, Copy)]
pub(super) struct Operand {
    /// The block's first row at k = 0.
    pub start: *const u16,
    pub ld: usize,
    pub is_k_contiguous: bool,
    /// Rows before the block's first, and from there on.
    pub before: u32,
    pub rows: u32,
}

impl Operand {
    /// Whether all lines begin at multiples of 16 bytes.
    #[inline(always)]
    pub fn is_aligned(self) -> bool {
        self.start.addr().is_multiple_of(16) & self.ld.is_multiple_of(VECTOR as usize)
    }
}

/// The lines of this thread's warp in the next k-tile, of which it copies one vector each of every [`AT_ONCE`]th.
#[derive(Clone, Copy)]
pub(super) struct Lines {
    pub is_k_contiguous: bool,
    /// The first line's first vector, which begins [`shift`](Self::shift) elements before the tile.
    first: *const u16,
    /// Elements from a line to the next one of the warp.
    step: usize,
    /// Elements before the tile in the line.
    before: u32,
    /// Elements of a line from its first vector on, and lines, in bounds.
    left: u32,
    lines: u32,
    pub shift: u32,
}

impl Lines {
    /// Of the k-tile that begins at `k`, of a k that ends at `end`.
    #[inline(always)]
    pub fn new(from: Operand, warp: u32, k: u32, end: u32) -> Self {
        let Operand { start, ld, is_k_contiguous, before, rows } = from;
        let (outer, inner) = if is_k_contiguous { (warp, k) } else { (k + warp, 0) };
        let first = start.wrapping_add(outer as usize * ld + inner as usize);
        let shift = first.addr() as u32 / 2 % VECTOR;
        let (outer_end, inner_end) = if is_k_contiguous { (rows, end) } else { (end, rows) };
        Self {
            is_k_contiguous,
            first: first.wrapping_sub(shift as usize),
            step: ld * WARPS as usize,
            before: if is_k_contiguous { k } else { before },
            left: (inner_end + shift).saturating_sub(inner),
            lines: outer_end.saturating_sub(outer).div_ceil(WARPS),
            shift,
        }
    }

    /// Whether the first vector begins before the line.
    #[inline(always)]
    fn has_head(&self) -> bool {
        (self.before == 0) & (self.shift > 0)
    }

    /// Issues the copies of the k-tile to that byte of shared memory, and goes on to the next one.
    ///
    /// # Safety
    /// The whole warp calls it; nobody accesses the stage; what is in bounds of the operand may be read.
    #[inline(always)]
    pub unsafe fn copy(&mut self, stage: u32) {
        let lane = compiler::opaque(warp::lane_id()); // or registers would keep what is computed from it
        // SAFETY: in bounds, or not read; of the stage, upheld by the caller.
        unsafe {
            let address = shared::address(shared::dynamic_shared_mem::<u8>()) + stage;
            let (line, vector) = (lane / VECTORS, lane % VECTORS);
            let is_wanted = !(self.has_head() && vector == 0);
            let bytes = (self.left.saturating_sub(vector * VECTOR).min(VECTOR)) * 2;
            let target = address + line * LINE_BYTES + vector * 16;
            let mut source = self.first.wrapping_add(line as usize * self.step + (vector * VECTOR) as usize);
            for i in 0..LINES / AT_ONCE {
                let line = line + i * AT_ONCE;
                let bytes = if line < self.lines { bytes } else { 0 };
                cp_async::copy_first::<WORDS>(target + i * AT_ONCE * LINE_BYTES, source, bytes, is_wanted);
                source = source.wrapping_add(AT_ONCE as usize * self.step);
            }
            if self.has_head() {
                self.copy_head(stage);
            }
            if !self.is_k_contiguous && self.shift > 0 {
                // The vector behind: the first rows of the one before are not of the tile.
                let bytes = (self.left.saturating_sub(BK).min(VECTOR)) * 2;
                let bytes = if lane < self.lines { bytes } else { 0 };
                let source = self.first.wrapping_add(lane as usize * self.step + BK as usize);
                cp_async::copy_first::<WORDS>(address + lane * LINE_BYTES + BK * 2, source, bytes, lane < LINES);
            }
        }
        if self.is_k_contiguous {
            self.first = self.first.wrapping_add(BK as usize);
            self.before += BK;
            self.left = self.left.saturating_sub(BK);
        } else {
            self.first = self.first.wrapping_add(self.step * LINES as usize);
            self.lines = self.lines.saturating_sub(LINES);
        }
    }

    /// Copies the lines' first vectors, which begin before their lines, with zeros there: through registers.
    ///
    /// # Safety
    /// As of [`copy`](Self::copy).
    #[inline(always)]
    unsafe fn copy_head(&self, stage: u32) {
        let line = compiler::opaque(warp::lane_id());
        let source = self.first.wrapping_add(line as usize * self.step);
        let end = if line < self.lines { self.left.saturating_sub(self.shift) } else { 0 };
        // SAFETY: in bounds, or not read: what is before the line has an index beyond the end. Of the stage, upheld by the caller.
        unsafe {
            if line < LINES {
                let load = |element: u32| {
                    let source = source.wrapping_add(element as usize);
                    read_only::load_16_below(source, element.wrapping_sub(self.shift), end)
                };
                let target = shared::dynamic_shared_mem::<u32>().add(((stage + line * LINE_BYTES) / 4) as usize);
                let words: [u32; WORDS as usize] =
                    core::array::from_fn(|word| load(2 * word as u32) | load(2 * word as u32 + 1) << 16);
                for (word, value) in words.into_iter().enumerate() {
                    *target.add(word) = value;
                }
            }
        }
    }
}
