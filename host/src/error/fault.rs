//! What is wrong with a result.

/// What is wrong with a result.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum Fault {
    /// An element is too far from the f64 reference, or NaN.
    #[error("C[{row}, {column}] is {got}, expected {expected} within {bound:.1e}")]
    Element {
        /// Its row.
        row: usize,
        /// Its column.
        column: usize,
        /// What the kernel wrote.
        got: f32,
        /// The reference.
        expected: f64,
        /// The error bound.
        bound: f64,
    },
    /// A weighted sum of a row is off, by Freivalds' check.
    #[error("row {row} of C is wrong: a weighted sum of it is off by {error:.1e}, beyond its tolerance of {bound:.1e}")]
    Row {
        /// The row.
        row: usize,
        /// The error of its sum.
        error: f64,
        /// The error bound.
        bound: f64,
    },
    /// A weighted sum of a column is off, by Freivalds' check.
    #[error(
        "column {column} of C is wrong: a weighted sum of it is off by {error:.1e}, beyond its tolerance of {bound:.1e}"
    )]
    Column {
        /// The column.
        column: usize,
        /// The error of its sum.
        error: f64,
        /// The error bound.
        bound: f64,
    },
    /// Something was written beside a matrix.
    #[error("a write beside {matrix}: {damage}")]
    Guard {
        /// `A`, `B` or `C`.
        matrix: char,
        /// Where.
        damage: Damage,
    },
    /// An element was written that is not part of what ran.
    #[error("C[{row}, {column}] was written, but no block that ran computes it")]
    Outside {
        /// Its row.
        row: usize,
        /// Its column.
        column: usize,
    },
    /// An input was written.
    #[error("{matrix}[{row}, {column}] was overwritten")]
    Input {
        /// `A` or `B`.
        matrix: char,
        /// The element's row.
        row: usize,
        /// The element's column.
        column: usize,
    },
}

/// A write outside of a matrix, in elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Damage {
    /// Before the first element.
    #[error("{distance} elements before its first")]
    Before {
        /// 1 is the element right before the first.
        distance: usize,
    },
    /// Between the last column and the leading dimension.
    #[error("row {row}, column {column}, which is padding")]
    Padding {
        /// The row.
        row: usize,
        /// The column, counted on beyond the last.
        column: usize,
    },
    /// After the last row.
    #[error("{distance} elements after its last row")]
    After {
        /// 1 is the element right after the last row's padding.
        distance: usize,
    },
}
