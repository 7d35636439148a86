//! Whether a result is right. Every row and column is checked (Freivalds, in f64), chosen rows element by element
//! ([`mod@reference`]), and everything around the elements bit by bit.
//!
//! An element may be (k + 2) 2^-24 of its sum of absolute products away from f64, in fp32: N. J. Higham, "Accuracy and Stability
//! of Numerical Algorithms", section 3.1. Signed sums of whole rows and columns find what chosen rows miss: R. Freivalds,
//! "Probabilistic machines can use less running time", 1977.

mod comparison;
mod coverage;
pub mod distributed;
pub mod element;
mod error_bound;
mod freivalds;
mod groups;
pub mod matrix;
pub(crate) mod memory;
mod numbers;
mod operands;
mod problem;
pub mod reference;
mod sample;
pub mod special;
mod surroundings;
mod verification;
mod verifier;

pub use coverage::{Coverage, Region};
pub(crate) use error_bound::ErrorBound;
pub use error_bound::UNIT_ROUNDOFF;
pub use matrix::Matrix;
pub use numbers::Numbers;
pub use operands::Operands;
pub use problem::Problem;
pub use sample::verify_sample;
pub use verification::Verification;
pub(crate) use verification::within;
pub use verifier::Verifier;

pub use crate::error::Fault;

#[cfg(test)]
mod tests;
