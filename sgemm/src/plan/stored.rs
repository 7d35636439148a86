//! Where a matrix lies in memory, and how: an operand, or what a pre-pass makes of it.

use gpu_kernels::{Element, MAX_SIZE, Prepass, TmaBox};

use super::{Address, OPERAND_ALIGNMENT, Slab, TensorMap};

/// Bytes that wide copies are made of.
const WIDE_BYTES: u32 = OPERAND_ALIGNMENT as u32;

/// Bytes of an exponent, of which a row that was split has one.
const SCALE: u64 = size_of::<i32>() as u64;

/// Whether rows that lie so far apart start at multiples of 16 bytes.
pub(super) fn is_aligned(element: Element, ld: u32) -> bool {
    ld.is_multiple_of(WIDE_BYTES / element.bytes())
}

/// The largest k of operands that are split: places in a row of parts, twice as many as values, are counted up to
/// [`MAX_SIZE`].
pub(super) fn max_split_k(chunk: u32) -> u32 {
    MAX_SIZE / 2 / chunk * chunk
}

/// A row-major matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stored {
    pub(super) address: Address,
    pub(super) rows: u32,
    pub(super) columns: u32,
    pub(super) ld: u32,
    pub(super) element: Element,
    /// Whether it is an operand transposed.
    pub(super) transposed: bool,
}

impl Stored {
    /// What a pre-pass makes of it.
    pub(super) fn rewritten(&self, prepass: &Prepass, address: Address) -> Self {
        let Self { rows, columns, element, .. } = *self;
        let transposed = prepass.transposes;
        let [rows, columns] = if transposed { [columns, rows] } else { [rows, columns] };
        match prepass.split {
            None => {
                let ld = columns.max(1).next_multiple_of(WIDE_BYTES / element.bytes());
                Self { address, rows, columns, ld, element, transposed }
            }
            Some(split) => {
                let ld = 2 * columns.max(1).next_multiple_of(split.chunk);
                Self { address, rows, columns: ld, ld, element: split.element, transposed }
            }
        }
    }

    fn row_bytes(&self) -> u64 {
        u64::from(self.ld) * u64::from(self.element.bytes())
    }

    /// Where the operand's row of that number is.
    pub(super) fn at_row(&self, row: u32) -> Address {
        let step = if self.transposed { self.element.bytes().into() } else { self.row_bytes() };
        self.address + u64::from(row) * step
    }

    /// What a slab of the result needs of it, where it is A.
    pub(super) fn slab(&self, Slab { first_row, rows }: Slab) -> Self {
        let part = Self { address: self.at_row(first_row), ..*self };
        if self.transposed { Self { columns: rows, ..part } } else { Self { rows, ..part } }
    }

    /// A tensor map of it. Where k is 0 it has no elements, but a map must describe some.
    pub(super) fn tensor_map(&self, tma_box: TmaBox) -> TensorMap {
        let Self { address, rows, columns, ld, .. } = *self;
        TensorMap { address, rows: rows.max(1), columns: columns.max(1), ld, tma_box }
    }

    /// Bytes, of a matrix without rows those of one.
    pub(super) fn bytes(&self) -> u64 {
        u64::from(self.rows.max(1)).saturating_mul(self.row_bytes())
    }

    /// Where the exponent of a row is, if it was split: behind the last row.
    pub(super) fn scales_at(&self, row: u32) -> Address {
        self.address + self.bytes() + u64::from(row) * SCALE
    }

    /// Bytes with the exponents.
    pub(super) fn bytes_with_scales(&self) -> u64 {
        self.bytes().saturating_add(u64::from(self.rows.max(1)) * SCALE)
    }
}
