//! Where the elements of a matrix lie.

use crate::Error;

/// Strides of a matrix: element (i, j) lies at `i * row_stride + j * column_stride`, counted in elements. One of the two is 1.
///
/// ```
/// use sgemm::Layout;
///
/// // BLAS's op T: a matrix is read as its transpose.
/// assert_eq!(Layout::row_major(64).transposed(), Layout::column_major(64));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Layout {
    /// Elements from a row to the next.
    pub row_stride: usize,
    /// Elements from a column to the next.
    pub column_stride: usize,
}

impl Layout {
    /// Contiguous rows, `ld` elements from one to the next: C's order.
    #[must_use]
    pub const fn row_major(ld: usize) -> Self {
        Self { row_stride: ld, column_stride: 1 }
    }

    /// Contiguous columns, `ld` elements from one to the next: Fortran's order.
    #[must_use]
    pub const fn column_major(ld: usize) -> Self {
        Self { row_stride: 1, column_stride: ld }
    }

    /// The same memory read as the transpose: op T of BLAS.
    #[must_use]
    pub const fn transposed(self) -> Self {
        Self { row_stride: self.column_stride, column_stride: self.row_stride }
    }

    /// The order of a matrix of that extent, and its leading dimension. A single row or column has a stride that does not matter.
    ///
    /// # Errors
    /// [`Error::Strides`] where neither rows nor columns are contiguous.
    pub(crate) fn order(self, operand: &'static str, rows: usize, columns: usize) -> Result<(Order, usize), Error> {
        match self {
            Self { row_stride, column_stride: 1 } => Ok((Order::RowMajor, if rows > 1 { row_stride } else { columns })),
            Self { row_stride: 1, column_stride } => {
                Ok((Order::ColumnMajor, if columns > 1 { column_stride } else { rows }))
            }
            Self { row_stride, .. } if columns <= 1 => Ok((Order::RowMajor, if rows > 1 { row_stride } else { 1 })),
            Self { column_stride, .. } if rows <= 1 => Ok((Order::ColumnMajor, column_stride)),
            Self { row_stride, column_stride } => Err(Error::Strides { operand, row_stride, column_stride }),
        }
    }

    /// Elements from the first to the last one, both counted; `None` where they cannot be counted.
    pub(crate) fn extent(self, rows: usize, columns: usize) -> Option<usize> {
        if rows == 0 || columns == 0 {
            return Some(0);
        }
        let last_row = (rows - 1).checked_mul(self.row_stride)?;
        (columns - 1).checked_mul(self.column_stride)?.checked_add(last_row)?.checked_add(1)
    }
}

/// What is contiguous.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Order {
    /// Rows.
    RowMajor,
    /// Columns.
    ColumnMajor,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_have_any_stride() {
        let strided = Layout { row_stride: 7, column_stride: 9 };
        assert_eq!(strided.order("A", 5, 1), Ok((Order::RowMajor, 7)));
        assert_eq!(strided.order("A", 1, 5), Ok((Order::ColumnMajor, 9)));
        assert_eq!(strided.order("A", 1, 1), Ok((Order::RowMajor, 1)));
        let refused = Error::Strides { operand: "A", row_stride: 7, column_stride: 9 };
        assert_eq!(strided.order("A", 5, 2), Err(refused));
    }

    #[test]
    fn extents_reach_the_last_element() {
        assert_eq!(Layout::row_major(10).extent(3, 4), Some(24));
        assert_eq!(Layout::column_major(10).extent(4, 3), Some(24));
        assert_eq!(Layout::row_major(10).extent(0, 4), Some(0));
        assert_eq!(Layout::row_major(usize::MAX).extent(3, 1), None);
    }
}
