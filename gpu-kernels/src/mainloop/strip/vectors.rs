//! B: a few columns.

use super::{OCTETS, VECTOR};
use crate::mainloop::gemv::Strided;

/// A block's columns of B.
#[derive(Clone, Copy)]
pub(super) struct Vectors {
    pub from: Strided<u16>,
    /// How many there are.
    pub few: u32,
}

impl Vectors {
    /// Whether the columns of a k are adjacent, and not the elements of a column.
    #[inline(always)]
    pub fn has_rows(&self) -> bool {
        self.from.across == 1
    }

    /// Whether they are copied in vectors.
    #[inline(always)]
    pub fn is_aligned(&self) -> bool {
        if self.has_rows() {
            has_vectors(&self.from, self.from.along_k) & self.few.is_multiple_of(VECTOR)
        } else {
            has_vectors(&self.from, self.from.across)
        }
    }
}

/// Whether so few are more than so many times eight.
#[inline(always)]
pub(super) fn has(few: u32, octet: usize) -> bool {
    octet == 0 || few > octet as u32 * VECTOR
}

/// Whether vectors of lines so many elements apart are aligned.
#[inline(always)]
pub(super) fn has_vectors(from: &Strided<u16>, ld: u32) -> bool {
    from.start.addr().is_multiple_of(VECTOR as usize * 2) & ld.is_multiple_of(VECTOR)
}

/// Vectors along k of two columns, as two MMAs take them.
#[inline(always)]
pub(super) fn columns([left, right]: [[u32; 4]; OCTETS]) -> [[u32; 4]; 2] {
    [[left[0], right[0], left[1], right[1]], [left[2], right[2], left[3], right[3]]]
}
