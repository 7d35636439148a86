//! Where an operand's lines lie in shared memory: each from the last multiple of 16 bytes before it on.

use super::{K_BYTES, SHIFTED_K_BYTES, SquareTile};

/// An operand, from the tile's first row on.
#[derive(Clone, Copy)]
pub(super) struct Operand {
    /// Its own first element: nothing before is read.
    pub first: *const f32,
    /// The first row at k = 0.
    pub start: *const f32,
    pub ld: usize,
    pub is_k_contiguous: bool,
    /// Rows in bounds.
    pub rows: u32,
}

/// The lines of a k-tile. Those of any begin alike, since k-tiles begin at multiples of 32.
#[derive(Clone, Copy)]
pub(super) struct Lines<const SIDE: u32, const FRAGMENTS: usize, const STAGES: u32> {
    /// The first line's word in global memory.
    start: u32,
    ld: u32,
    pub is_k_contiguous: bool,
    /// Whether a line may begin between multiples of 16 bytes.
    pub is_shifted: bool,
}

impl<const SIDE: u32, const FRAGMENTS: usize, const STAGES: u32> Lines<SIDE, FRAGMENTS, STAGES> {
    #[inline(always)]
    pub fn new(of: &Operand) -> Self {
        let (start, ld) = (of.start.addr() as u32 / 4, of.ld as u32);
        Self { start, ld, is_k_contiguous: of.is_k_contiguous, is_shifted: (start | ld) % 4 != 0 }
    }

    /// Bytes from a line to the next.
    #[inline(always)]
    pub fn pitch(self) -> u32 {
        match (self.is_k_contiguous, self.is_shifted) {
            (true, false) => K_BYTES,
            (true, true) => SHIFTED_K_BYTES,
            (false, _) => SquareTile::<SIDE, FRAGMENTS, STAGES>::ROW_BYTES,
        }
    }

    /// A line's first word in global memory.
    #[inline(always)]
    fn word(self, line: u32) -> u32 {
        self.start.wrapping_add(line.wrapping_mul(self.ld))
    }

    /// Words from the last multiple of 16 bytes to a line's first word: the same for every fourth line.
    #[inline(always)]
    pub fn shift(self, line: u32) -> u32 {
        self.word(line) % 4
    }

    /// The byte in a stage of a line's word, of those from its last multiple of 16 bytes on; in the swizzled order, the first one of four.
    /// Every eighth line has the same place, but for whole lines.
    #[inline(always)]
    pub fn at(self, line: u32, word: u32) -> u32 {
        match (self.is_k_contiguous, self.is_shifted) {
            (true, false) => line * K_BYTES + ((word * 4) ^ (line % 8 * 16)),
            (true, true) => (line - line % 8 + self.turned(line)) * SHIFTED_K_BYTES + word * 4,
            // Words keep their places in a sector of 32 bytes.
            (false, _) => {
                let odd = self.word(line) / 4 % 2;
                line * SquareTile::<SIDE, FRAGMENTS, STAGES>::ROW_BYTES + (odd * 4 + word) * 4
            }
        }
    }

    /// The place among eight of a row along k. It has an odd number of 16 bytes: words keep their places in sectors of 32 where rows that begin in
    /// a second half have odd places. Half of any eight rows do so, unless `ld` is a multiple of eight.
    #[inline(always)]
    fn turned(self, line: u32) -> u32 {
        let zeros = self.ld.trailing_zeros();
        if zeros > 2 {
            return line % 8;
        }
        let different = (self.word(line) >> zeros) % 8; // of any eight rows
        ((different >> (2 - zeros)) | (different << (1 + zeros))) % 8 // the bit that says which half is the last one
    }
}
