//! Grades kernels of f32 by their error in every element: inputs from a seed, results that are exact but for a double-double's last
//! bits, and the ratio of an error to what a guarantee allows. Nothing here is taken from a kernel.
//!
//! The inputs are those of [`host::measure::accuracy`], probes of what a hi/lo split loses, and tests 2, 4 and 6 of J. Demmel, X. Li,
//! J. Langou, W. Pereira, M. Gates and C. Rubio Gonzalez, "How to grade the accuracy of an implementation of the BLAS", 2024.

mod exact;
mod guarantee;
mod inputs;
mod kernels;

pub use exact::{Element, reference};
pub use guarantee::{UNIT_ROUNDOFF, bound, grade, slope};
pub use inputs::Kind;
pub use kernels::{Graded, multiply};

/// C' = alpha\*A\*B + beta\*C, all of them row-major without padding.
#[derive(Debug, Clone)]
pub struct Case {
    /// Rows of C, columns of C, length of the sums.
    pub sizes: [usize; 3],
    /// The factor of A\*B.
    pub alpha: f32,
    /// The factor of C.
    pub beta: f32,
    /// m x k.
    pub a: Vec<f32>,
    /// k x n.
    pub b: Vec<f32>,
    /// m x n, and not read where beta is 0.
    pub c: Vec<f32>,
}

impl Case {
    /// A\*B.
    #[must_use]
    pub fn product(sizes: [usize; 3], a: Vec<f32>, b: Vec<f32>) -> Self {
        Self { sizes, alpha: 1.0, beta: 0.0, a, b, c: vec![f32::NAN; sizes[0] * sizes[1]] }
    }

    /// The same with these factors and this C.
    #[must_use]
    pub fn with_c(self, alpha: f32, beta: f32, c: Vec<f32>) -> Self {
        Self { alpha, beta, c, ..self }
    }
}
