//! Where the elements of a warp's fragments are. PTX ISA, "Matrix Fragments for mma.m16n8k16" and the sections around it.
//!
//! The sections agree on one rule. A register of A holds consecutive elements of k of one row: lane l those of row l / 4, the
//! (l mod 4)-th such word of its four. The registers of rows 8 below come next, then those of the next four words, then those of
//! rows 16 below. Of B, whose columns take the place of rows, the next words come first.
//!
//! The fragments of `wmma` are opaque; these are Hopper's, read off the machine code that ptxas 13 makes for `sm_90`: those
//! of the `mma` instructions that it becomes. `m8n32k16` is `m32n8k16` of the transposed matrices.

use crate::lanes::LANES;

/// Rows of A or columns of B, and the words of 32 bits (or the f64) that each has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Lines {
    pub lines: usize,
    pub words: usize,
    /// A, not B.
    pub is_first: bool,
}

impl Lines {
    /// Registers of a lane.
    pub(crate) const fn registers(self) -> usize {
        self.lines * self.words / LANES
    }

    /// The line and the word that a lane's register holds. Registers beyond [`Self::registers`] repeat the others.
    #[inline(always)]
    pub(crate) const fn place(self, register: usize, lane: usize) -> (usize, usize) {
        let quads = self.words / 4;
        let register = register % self.registers();
        let (block, quad) = if self.is_first && self.lines > 8 {
            let in_group = register % (2 * quads);
            (2 * (register / (2 * quads)) + in_group % 2, in_group / 2)
        } else {
            (register / quads, register % quads)
        };
        (8 * block + lane / 4, 4 * quad + lane % 4)
    }
}

/// Row and column of a lane's element of C or D with m rows.
#[inline(always)]
pub(crate) const fn accumulator(m: usize, element: usize, lane: usize) -> (usize, usize) {
    let blocks = if m > 8 { 2 } else { 1 };
    let (block, group) = (element / 2 % blocks, element / (2 * blocks));
    let (row, column) = (8 * block + lane / 4, lane % 4 * 2 + element % 2);
    if m > 16 { (row + 16 * group, column) } else { (row, column + 8 * group) }
}

/// Which quarter of the warp, and which row (or column) and element of k, `m8n8k4` has in element `element` of a lane.
#[inline(always)]
pub(crate) const fn quad_line(is_along_k: bool, element: usize, lane: usize) -> (usize, usize, usize) {
    let (quad, first) = (lane % 16 / 4, lane / 16 * 4);
    if is_along_k { (quad, first + lane % 4, element) } else { (quad, first + element, lane % 4) }
}

/// As [`quad_line`]: the quarter, row and column of an f16 accumulator.
#[inline(always)]
pub(crate) const fn quad_f16(element: usize, lane: usize) -> (usize, usize, usize) {
    (lane % 16 / 4, lane / 16 * 4 + lane % 4, element)
}

/// As [`quad_line`]: the quarter, row and column of an f32 accumulator.
#[inline(always)]
pub(crate) const fn quad_f32(element: usize, lane: usize) -> (usize, usize, usize) {
    (lane % 16 / 4, lane / 16 * 4 + lane % 2 + (element & 2), (element & 4) + (lane & 2) + element % 2)
}
