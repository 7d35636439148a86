//! Elements of a result beside their reference.

use super::Matrix;
use super::error_bound::ErrorBound;
use super::reference::Reference;
use super::verification::{Verification, within};
use crate::error::Fault;

/// What a comparison element by element found, so far.
#[derive(Debug, Default)]
pub(super) struct Comparison {
    fault: Option<Fault>,
    max_scaled_error: f64,
    error_squares: f64,
    squares: f64,
}

impl Comparison {
    /// Compares the part of C that the reference has.
    pub(super) fn of(reference: &Reference, error_bound: &ErrorBound, c: &Matrix) -> Self {
        let mut comparison = Self::default();
        let columns = reference.columns.clone();
        for (slot, &row) in reference.rows.iter().enumerate() {
            for (column, &got) in columns.clone().zip(&c.row(row)[columns.clone()]) {
                let at = slot * columns.len() + column - columns.start;
                let (expected, magnitude) = (reference.expected[at], reference.magnitude[at]);
                let bound = error_bound.of_element(expected, magnitude);
                let error = (f64::from(got) - expected).abs();
                if !within(error, bound) && comparison.fault.is_none() {
                    comparison.fault = Some(Fault::Element { row, column, got, expected, bound });
                }
                comparison.scaled_error(error / bound);
                comparison.error_squares += error * error;
                comparison.squares += expected * expected;
            }
        }
        comparison
    }

    /// Both, of which this one comes first.
    pub(super) fn and(mut self, other: Self) -> Self {
        self.fault = self.fault.or(other.fault);
        self.scaled_error(other.max_scaled_error);
        self.error_squares += other.error_squares;
        self.squares += other.squares;
        self
    }

    /// Keeps the largest, and NaN.
    fn scaled_error(&mut self, scaled: f64) {
        if scaled > self.max_scaled_error || scaled.is_nan() {
            self.max_scaled_error = scaled;
        }
    }

    pub(super) fn verification(self, rows_checked: usize) -> Verification {
        let Self { fault, max_scaled_error, error_squares, squares } = self;
        // A result that is 0 and must be 0, or has no elements, has no error.
        let rel_error = if error_squares == 0.0 { 0.0 } else { (error_squares / squares).sqrt() };
        Verification { rel_error, max_scaled_error, rows_checked, fault }
    }
}
