//! A warp's steps on their way through its shared memory, of a strip of columns: a ring of slots.
//!
//! A k of the strip is a line of 128 bytes, and a row of A has 64 bytes in a step. Vectors of lines below each other are in different banks.

use super::steps::Ring;
use super::{FEW, OCTETS, PART_BYTES, STEP_K, VECTOR};
use crate::hardware::WARP;
use crate::ptx::{cp_async, lanes, matrix};
use core::ops::Range;
use cuda_std::prelude::*;

/// Bytes of a vector, and of a row of A in a step.
const VECTOR_BYTES: u32 = VECTOR * 2;
const ROW: u32 = STEP_K * 2;

/// A row-major operand, from a block's first row or column on, of so many.
#[derive(Clone, Copy)]
pub(super) struct Lines {
    pub start: *const u16,
    pub ld: u32,
    pub left: u32,
}

impl Lines {
    /// The address of an element, which may be out of bounds; an access may not.
    #[inline(always)]
    fn at(&self, row: u32, column: u32) -> *const u16 {
        self.start.wrapping_add(row as usize * self.ld as usize).wrapping_add(column as usize)
    }
}

/// A lane's copies, from step to step.
pub(super) struct ColumnCopies<const BLOCKS: usize, const STEPS: u32> {
    /// Its vector of the strip in the first lines, and of A's first rows.
    line: *const u16,
    row: *const u16,
    ld: u32,
    lda: u32,
    /// k of each, and where it ends.
    of_line: u32,
    of_row: u32,
    end: u32,
    /// Bytes of the strip's vector that are in bounds, and of A's rows those that are.
    bytes: u32,
    rows: u32,
    /// From a step to the next one of the warp.
    step: u32,
    /// Bytes of the ring before this slot, and of shared memory before the ring.
    slot: u32,
    ring: u32,
}

impl<const BLOCKS: usize, const STEPS: u32> ColumnCopies<BLOCKS, STEPS> {
    const SLOT_BYTES: u32 = (BLOCKS + OCTETS) as u32 * PART_BYTES;
    /// Bytes of a k of the strip: so many lines are copied at once.
    const LINE: u32 = BLOCKS as u32 * VECTOR_BYTES;
    const AT_ONCE: u32 = WARP / BLOCKS as u32;

    /// Those of a warp of that k, one of so many.
    #[inline(always)]
    pub fn new(a: Lines, b: Lines, Range { start: k, end }: Range<u32>, warps: u32) -> Self {
        let lane = warp::lane_id();
        let (of_line, column) = (k + lane / BLOCKS as u32, lane % BLOCKS as u32 * VECTOR);
        let of_row = k + lane % 4 * VECTOR;
        Self {
            line: b.at(of_line, column),
            row: a.at(lane / 4, of_row),
            ld: b.ld,
            lda: a.ld,
            of_line,
            of_row,
            end,
            bytes: bytes_below(column, b.left),
            rows: a.left,
            step: warps * STEP_K,
            slot: 0,
            ring: lanes::warp_index() * STEPS * Self::SLOT_BYTES,
        }
    }

    /// Fragments of A's rows for the MMAs of this half of the slot's k.
    ///
    /// # Safety
    /// The whole warp calls it; the step's copies are complete.
    #[inline(always)]
    unsafe fn rows(&self, half: u32) -> [u32; 4] {
        let (matrix, row) = (warp::lane_id() / 8, warp::lane_id() % 8);
        let place = Self::row_place(matrix % 2 * VECTOR + row, matrix / 2) ^ (half * 2 * VECTOR_BYTES);
        // SAFETY: upheld by the caller (see `# Safety`).
        unsafe { matrix::load_4::<false>(self.address(place)) }
    }

    /// The same of the strip's columns, of this block and the next one.
    ///
    /// # Safety
    /// As of [`rows`](Self::rows).
    #[inline(always)]
    unsafe fn columns(&self, half: u32, block: u32) -> [[u32; 2]; 2] {
        let (matrix, row) = (warp::lane_id() / 8, warp::lane_id() % 8);
        let line = Self::line_place(matrix % 2 * VECTOR + row, matrix / 2) ^ (block * VECTOR_BYTES);
        // SAFETY: upheld by the caller (see `# Safety`).
        let [first, second, third, fourth] =
            unsafe { matrix::load_4::<true>(self.address(line + half * 2 * VECTOR * Self::LINE)) };
        [[first, second], [third, fourth]]
    }

    /// The shared address of that byte of the slot.
    #[inline(always)]
    fn address(&self, byte: u32) -> u32 {
        // SAFETY: it is of shared memory.
        let smem = unsafe { shared::address(shared::dynamic_shared_mem::<u8>()) };
        smem + self.ring + self.slot + byte
    }

    /// The byte of a slot where a vector of the strip is: those below each other are in different banks.
    #[inline(always)]
    fn line_place(line: u32, vector: u32) -> u32 {
        line * Self::LINE + (vector ^ (line % VECTOR)) * VECTOR_BYTES
    }

    /// The same of a row of A, behind the strip's.
    #[inline(always)]
    fn row_place(row: u32, vector: u32) -> u32 {
        const { assert!(OCTETS as u32 * PART_BYTES == FEW * ROW && PART_BYTES == STEP_K * VECTOR_BYTES) }
        BLOCKS as u32 * PART_BYTES + row * ROW + (vector ^ (row / 2 % 4)) * VECTOR_BYTES
    }
}

impl<const BLOCKS: usize, const STEPS: u32> Ring<STEPS> for ColumnCopies<BLOCKS, STEPS> {
    /// A's rows for the MMAs of either half of the step's k, and the strip's columns.
    type Fragments = ([[u32; 4]; 2], [[[u32; 2]; BLOCKS]; 2]);

    #[inline(always)]
    unsafe fn start(&mut self) -> u32 {
        let lane = warp::lane_id();
        let (first, vector) = (lane / BLOCKS as u32, lane % BLOCKS as u32);
        // SAFETY: in bounds and aligned, or not read; the slot is free, upheld by the caller.
        unsafe {
            for i in 0..STEP_K / Self::AT_ONCE {
                let line = first + i * Self::AT_ONCE;
                let bytes = if self.of_line + i * Self::AT_ONCE < self.end { self.bytes } else { 0 };
                let source = self.line.wrapping_add((i * Self::AT_ONCE) as usize * self.ld as usize);
                cp_async::copy_first::<4>(self.address(Self::line_place(line, vector)), source, bytes, true);
            }
            for octet in 0..OCTETS as u32 {
                let row = lane / 4 + octet * VECTOR;
                let bytes = if row < self.rows { bytes_below(self.of_row, self.end) } else { 0 };
                let source = self.row.wrapping_add((octet * VECTOR) as usize * self.lda as usize);
                cp_async::copy_first::<4>(self.address(Self::row_place(row, lane % 4)), source, bytes, true);
            }
        }
        cp_async::commit_group();
        self.line = self.line.wrapping_add(self.step as usize * self.ld as usize);
        self.row = self.row.wrapping_add(self.step as usize);
        self.of_line += self.step;
        self.of_row += self.step;
        self.slot += Self::SLOT_BYTES;
        if self.slot == STEPS * Self::SLOT_BYTES {
            self.slot = 0;
        }
        self.step
    }

    #[inline(always)]
    unsafe fn read(&self) -> Self::Fragments {
        // SAFETY: upheld by the caller (see `# Safety`).
        unsafe {
            let rows = [0, 1].map(|half| self.rows(half));
            let mut columns = [[[0; 2]; BLOCKS]; 2];
            for (half, columns) in columns.iter_mut().enumerate() {
                for block in (0..BLOCKS).step_by(2) {
                    [columns[block], columns[block + 1]] = self.columns(half as u32, block as u32);
                }
            }
            (rows, columns)
        }
    }
}

/// Bytes of a vector that begins there which are before `end`.
#[inline(always)]
fn bytes_below(first: u32, end: u32) -> u32 {
    end.saturating_sub(first).min(VECTOR) * 2
}
