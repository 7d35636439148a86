//! What a check finds.

use crate::error::Fault;

/// The outcome of a check.
#[derive(Debug, Clone, PartialEq)]
pub struct Verification {
    /// ||C - reference|| / ||reference|| in the Frobenius norm, over the elements that were compared one by one.
    pub rel_error: f64,
    /// The largest componentwise error as a share of its error bound: at most 1 in a right result.
    pub max_scaled_error: f64,
    /// Whole rows that were compared element by element; 0 where it was the regions of a sample.
    pub rows_checked: usize,
    /// The first thing found wrong; `None` where the result is right.
    pub fault: Option<Fault>,
}

impl Verification {
    /// Whether the result is right.
    #[must_use]
    pub fn passed(&self) -> bool {
        self.fault.is_none()
    }
}

/// Whether an error is within its bound. NaN, which fails every comparison, and infinity never are, whatever the bound has become.
pub(crate) fn within(error: f64, bound: f64) -> bool {
    error <= bound && error.is_finite()
}
