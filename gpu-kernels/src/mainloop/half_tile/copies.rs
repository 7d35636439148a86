//! Copies of an operand's k-tiles, in any order and at any alignment, to where `wgmma` reads them.
//!
//! ```text
//!                          a line of memory     a line of shared memory, of at most 128 bytes, swizzled
//!   k contiguous           a row, along k    ─► a row
//!   rows contiguous        a k, along rows   ─► a k in each panel of 64 rows
//!
//!   lines at multiples of 16 bytes    cp.async, 16 bytes
//!                          4 bytes    cp.async, 4 bytes
//!                          2 bytes    two elements to registers, and a word from there
//! ```
//!
//! "Rows" are those of A or the columns of B. Adjacent threads copy adjacent words of a line, then the next line. Of a k-tile that is
//! not full, the MMAs read but multiples of [`DEPTH`], and no more is filled.

use super::stages::DEPTH;
use super::{BK, ROW};
use crate::hardware::SWIZZLE_BYTES;
use crate::ptx::{compiler, cp_async, read_only};
use cuda_std::prelude::*;

/// Lines whose copies a thread issues before it stores what came through registers.
const AT_ONCE: usize = 8;
/// Asynchronous copies in an iteration of their loop.
const UNROLLED: usize = 4;
/// Lines after which a swizzle repeats are no more of a thread's.
const SWIZZLED: usize = 2;

/// An operand, and where in it a block begins.
#[derive(Clone, Copy)]
pub(crate) struct Source {
    pub matrix: *const u16,
    pub ld: usize,
    pub is_k_contiguous: bool,
    /// Rows of a tile.
    pub tile_rows: u32,
    /// The first row of the block's tile, and the rows from there on.
    pub row: u32,
    pub rows: u32,
}

impl Source {
    /// Whether `cp.async` copies it.
    #[inline(always)]
    pub(super) fn is_asynchronous(self) -> bool {
        self.is_aligned(4)
    }

    /// Whether a k-tile of which so much is left, and all lines of it, end where a word does, and it is full.
    #[inline(always)]
    fn is_whole(self, depth: u32) -> bool {
        depth >= BK && (self.is_k_contiguous || self.rows >= self.tile_rows || self.rows.is_multiple_of(2))
    }

    /// Whether all lines begin at multiples of so many bytes.
    #[inline(always)]
    fn is_aligned(self, bytes: u32) -> bool {
        self.matrix.addr().is_multiple_of(bytes as usize) & self.ld.is_multiple_of(bytes as usize / 2)
    }
}

/// This thread's copies of a k-tile, W words each: every [`Lines::step`]th line's, at the same place of the line.
struct Lines<const W: u32> {
    /// The first one's source and its line.
    source: *const u16,
    line: u32,
    /// Lines from one to the next, and from a source to the next.
    step: u32,
    ld: usize,
    /// Lines in all, and those in bounds.
    count: u32,
    in_bounds: u32,
    /// Elements of a line from the first of this thread's copy on.
    left: u32,
    /// The shared byte of the copy in line 0, before it is swizzled, bytes of a line there, and the bits that the swizzle changes.
    target: u32,
    pitch: u32,
    swizzled: u32,
}

impl<const W: u32> Lines<W> {
    /// Of the k-tile that begins at `k`, of which `depth` is left, to (ROWS, BK) or panels of (BK, ROW) or fewer columns, by so many
    /// threads.
    #[inline(always)]
    fn new(from: Source, k: u32, depth: u32, threads: u32) -> Self {
        let Source { matrix, ld, is_k_contiguous, tile_rows, row, rows } = from;
        let depth = depth.min(BK);
        let filled = depth.next_multiple_of(DEPTH);
        // Copies of a line: a power of two, as all sizes of tiles.
        let copies = if is_k_contiguous { filled.next_power_of_two() } else { tile_rows } / (2 * W);
        let shift = copies.trailing_zeros();
        let (place, line) = ((thread::thread_idx_x() & (copies - 1)) * (2 * W), thread::thread_idx_x() >> shift);
        let (outer, inner) = if is_k_contiguous { (row, k) } else { (k, row) };
        let (count, in_bounds, left) = if is_k_contiguous { (tile_rows, rows, depth) } else { (filled, depth, rows) };
        let panel = tile_rows.min(ROW);
        let (pitch, panel) = if is_k_contiguous { (SWIZZLE_BYTES, BK) } else { (panel * 2, panel) };
        Self {
            source: matrix.wrapping_add((outer + line.min(in_bounds - 1)) as usize * ld + (inner + place) as usize),
            line,
            step: threads >> shift,
            ld,
            count,
            in_bounds,
            left: left.saturating_sub(place),
            target: (place >> panel.trailing_zeros()) * (BK * pitch) + (place & (panel - 1)) * 2,
            pitch,
            swizzled: pitch - 16,
        }
    }

    /// The shared byte of the copy in a line.
    #[inline(always)]
    fn target(&self, line: u32) -> u32 {
        let byte = self.target + line * self.pitch;
        byte ^ (byte >> 3 & self.swizzled)
    }

    /// This thread's copies after so many.
    #[inline(always)]
    fn advance(&mut self, copies: u32) {
        self.source = self.source.wrapping_add((self.step * copies) as usize * self.ld);
        self.line = compiler::opaque(self.line + self.step * copies); // or LLVM would unroll the loop
    }

    /// The sources of the next N copies, their lines, and elements from there on.
    #[inline(always)]
    fn copies<const N: usize>(&self) -> [(*const u16, u32, u32); N] {
        core::array::from_fn(|i| {
            let line = self.line + i as u32 * self.step;
            let elements = if line < self.in_bounds { self.left } else { 0 };
            (self.source.wrapping_add(i * self.step as usize * self.ld), line, elements)
        })
    }

    /// Issues the copies to that shared address.
    ///
    /// # Safety
    /// As of [`copy`]; lines are aligned to W words.
    #[inline(always)]
    unsafe fn issue(mut self, stage: u32) {
        while self.line < self.count {
            for (source, line, elements) in self.copies::<UNROLLED>() {
                let bytes = (elements * 2).min(W * 4);
                // SAFETY: upheld by the caller (see `# Safety`).
                unsafe { cp_async::copy_first::<W>(stage + self.target(line), source, bytes, line < self.count) }
            }
            self.advance(UNROLLED as u32);
        }
    }
}

impl Lines<1> {
    /// Issues the copies to that byte of the shared memory, of a k-tile that [`Source::is_whole`]. In place of lines that are out of bounds,
    /// the last one is copied again, on which no element of C depends. Where all of this thread's are, there are zeros from the stage's
    /// first k-tile on.
    ///
    /// # Safety
    /// As of [`copy`]; lines are aligned to words.
    #[inline(always)]
    unsafe fn issue_whole(self, stage: u32, is_first: bool) {
        let smem = shared::dynamic_shared_mem::<u32>();
        let mut line = self.line;
        if self.left == 0 {
            while is_first && line < self.count {
                // SAFETY: upheld by the caller (see `# Safety`).
                unsafe { *smem.add(((stage + self.target(line)) / 4) as usize) = 0 }
                line = compiler::opaque(line + self.step); // or LLVM would unroll the loop
            }
            return;
        }
        // SAFETY: upheld by the caller (see `# Safety`); the shared memory begins there.
        let start = stage + unsafe { shared::address(smem) };
        let mut targets: [u32; SWIZZLED] =
            core::array::from_fn(|i| start + self.target(self.line + i as u32 * self.step));
        let mut source = self.source;
        // All lines: tiles and threads are such that each thread has a multiple of UNROLLED.
        while line < self.count {
            for i in 0..UNROLLED {
                let target = &mut targets[i % SWIZZLED];
                // SAFETY: upheld by the caller (see `# Safety`).
                unsafe { cp_async::copy_word(*target, source) }
                *target += SWIZZLED as u32 * self.step * self.pitch;
                line += self.step;
                if line < self.in_bounds {
                    source = source.wrapping_add(self.step as usize * self.ld);
                }
            }
            line = compiler::opaque(line); // or LLVM would unroll the loop
        }
    }

    /// Copies through registers to that byte of the shared memory.
    ///
    /// # Safety
    /// As of [`copy`].
    #[inline(always)]
    unsafe fn move_elements(mut self, stage: u32) {
        let smem = shared::dynamic_shared_mem::<u32>();
        while self.line < self.count {
            // SAFETY: upheld by the caller (see `# Safety`).
            unsafe {
                let words = self.copies::<AT_ONCE>().map(|(source, line, elements)| {
                    let low = read_only::load_16_below(source, 0, elements);
                    (line, low, read_only::load_16_below(source.wrapping_add(1), 1, elements))
                });
                for (line, low, high) in words {
                    if line < self.count {
                        *smem.add(((stage + self.target(line)) / 4) as usize) = low | high << 16;
                    }
                }
            }
            self.advance(AT_ONCE as u32);
        }
    }
}

/// Copies an operand's k-tile that begins at `k`, of which `depth` is left, to that byte of the shared memory; zeros replace what is out
/// of bounds. So many threads do, and are told whether it is the stage's first k-tile. Those that `cp.async` issues are complete when they are waited for.
///
/// # Safety
/// Every thread of the block calls it; no thread accesses the stage before.
#[inline(always)]
pub(super) unsafe fn copy(from: Source, k: u32, depth: u32, stage: u32, is_first: bool, threads: u32) {
    // SAFETY: upheld by the caller (see `# Safety`); the shared memory begins there.
    unsafe {
        let address = shared::address(shared::dynamic_shared_mem::<u8>()) + stage;
        if from.is_aligned(16) {
            Lines::<4>::new(from, k, depth, threads).issue(address);
        } else if from.is_asynchronous() {
            let lines = Lines::<1>::new(from, k, depth, threads);
            if from.is_whole(depth) { lines.issue_whole(stage, is_first) } else { lines.issue(address) }
        } else {
            Lines::<1>::new(from, k, depth, threads).move_elements(compiler::opaque(stage));
        }
    }
}
