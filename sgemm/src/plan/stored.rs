//! Where a matrix lies in memory, and how: an operand, or what a pre-pass makes of it.

use gpu_kernels::{Element, MAX_SIZE, Prepass};

use super::{OPERAND_ALIGNMENT, Place, Slab};

/// Bytes that wide copies are made of.
const WIDE_BYTES: u32 = OPERAND_ALIGNMENT as u32;

/// Bytes of an exponent, of which a row that was split has one.
const SCALE: u64 = size_of::<i32>() as u64;

/// The largest k of operands that are split: places in a row of parts, twice as many as values, are counted up to
/// [`MAX_SIZE`].
pub(super) fn max_split_k(chunk: u32) -> u32 {
    MAX_SIZE / 2 / chunk * chunk
}

/// A row-major matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stored {
    pub(super) place: Place,
    pub(super) rows: u32,
    pub(super) columns: u32,
    pub(crate) ld: u64,
    pub(super) element: Element,
    /// Whether it is an operand transposed.
    pub(crate) transposed: bool,
}

impl Stored {
    /// What a pre-pass makes of it.
    pub(super) fn rewritten(&self, prepass: &Prepass, place: Place) -> Self {
        let Self { rows, columns, element, .. } = *self;
        let [rows, columns] = if prepass.transposes { [columns, rows] } else { [rows, columns] };
        let transposed = self.transposed != prepass.transposes;
        match prepass.split {
            None => {
                let ld = columns.max(1).next_multiple_of(WIDE_BYTES / element.bytes()).into();
                Self { place, rows, columns, ld, element, transposed }
            }
            Some(split) => {
                let columns = 2 * columns.max(1).next_multiple_of(split.chunk);
                Self { place, rows, columns, ld: columns.into(), element: split.element, transposed }
            }
        }
    }

    /// Whether its rows start at multiples of 16 bytes if it does.
    pub(super) fn has_aligned_rows(&self) -> bool {
        self.row_bytes().is_multiple_of(WIDE_BYTES.into())
    }

    /// Whether kernels can count its leading dimension.
    pub(super) fn is_countable(&self) -> bool {
        self.ld <= MAX_SIZE.into()
    }

    pub(super) fn row_bytes(&self) -> u64 {
        self.ld.saturating_mul(self.element.bytes().into())
    }

    /// Where the operand's row of that number is.
    pub(super) fn at_row(&self, row: u32) -> Place {
        let step = if self.transposed { self.element.bytes().into() } else { self.row_bytes() };
        self.place.plus(u64::from(row).saturating_mul(step))
    }

    /// Where its own row of that number is.
    pub(super) fn at_own_row(&self, row: u32) -> Place {
        self.place.plus(u64::from(row).saturating_mul(self.row_bytes()))
    }

    /// What a slab of the result needs of it, where it is A.
    pub(super) fn slab(&self, Slab { first_row, rows }: Slab) -> Self {
        let part = Self { place: self.at_row(first_row), ..*self };
        if self.transposed { Self { columns: rows, ..part } } else { Self { rows, ..part } }
    }

    /// Bytes, of a matrix without rows those of one.
    pub(super) fn bytes(&self) -> u64 {
        u64::from(self.rows.max(1)).saturating_mul(self.row_bytes())
    }

    /// Where the exponent of a row is, if it was split: behind the last row.
    pub(super) fn scales_at(&self, row: u32) -> Place {
        self.place.plus(self.bytes().saturating_add(u64::from(row) * SCALE))
    }

    /// Bytes with the exponents.
    pub(super) fn bytes_with_scales(&self) -> u64 {
        self.bytes().saturating_add(u64::from(self.rows.max(1)) * SCALE)
    }
}
