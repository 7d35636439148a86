//! Error bounds, by the arithmetic of a kernel.

use gpu_kernels::{Element, Precision};

use super::element;
use crate::Problem;

/// The unit roundoff u of fp32: 2^-24, the largest relative error of one rounding.
pub const UNIT_ROUNDOFF: f64 = f32::EPSILON as f64 / 2.0;

/// What a hi/lo split of two significands of 11 bits adds to the bound of a product, in units of u: 2^-23 of the product for each
/// rounded lo, 2^-22 for the omitted lo * lo, and as much again for truncation in short sums.
const HI_LO_SPLIT: f64 = 16.0;

/// The largest relative error of a TF32 operand: the tensor cores truncate it to a significand of 11 bits.
const TRUNCATION: f64 = 1.0 / (1 << 10) as f64;

/// The tolerance of a sum of elements with random signs, in standard deviations of a sum whose terms err by one unit each; a
/// term errs by a third of a unit at most.
const MARGIN: f64 = 8.0;

/// The same for elements rounded to 16 bits, in halves of their last bits. Each error is one of these at most, uniform, and
/// independent of the others: a sum exceeds this once in 10^13 (it is sub-Gaussian, with a third of the variance that Hoeffding's
/// inequality takes), which is once in millions of results.
const MARGIN_OF_ROUNDING: f64 = 4.5;

/// The fewest products that one MMA instruction adds with a single truncation.
const PRODUCTS_PER_TRUNCATION: f64 = 8.0;

/// The error bounds of one kernel on one problem.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ErrorBound {
    /// Of an element before its last rounding, relative to |alpha| |A| |B| + |beta| |C|.
    sum: f64,
    /// Of the last rounding, relative to the element.
    rounding: f64,
    /// Absolute, of an element: underflow.
    underflow: f64,
    /// Of a weighted sum of elements, relative to the root of the sum of squares of all products in it.
    walk: f64,
}

impl ErrorBound {
    pub(crate) fn new(problem: &Problem, precision: Precision) -> Self {
        let k = f64::from(problem.k);
        // A sum of k products, the factor alpha and the addition of beta*C round k + 2 times, in any order: the error is at
        // most (k + 2) u times the sum of absolute values. Higham, "Accuracy and Stability of Numerical Algorithms",
        // section 3.1. The tensor cores truncate, which doubles the bound. Each TF32 operand errs by less than 2^-10; products of
        // 16-bit numbers are exact.
        let roundings = k + 2.0;
        let sum = match precision {
            Precision::Fp32 => roundings * UNIT_ROUNDOFF,
            Precision::Fp16x3 | Precision::Tf32x3 => (roundings + HI_LO_SPLIT) * UNIT_ROUNDOFF,
            Precision::F16 | Precision::Bf16 => roundings * 2.0 * UNIT_ROUNDOFF,
            Precision::Tf32 => roundings * 2.0 * UNIT_ROUNDOFF + 2.0 * TRUNCATION,
        };
        // Rounding errors of a sum grow like a random walk. Truncation is biased toward 0 as long as the sum keeps its sign: its
        // errors add up within an element, with random signs across elements. The error of an operand has the sign of the
        // product, which is random.
        let truncation = roundings.sqrt() + k / PRODUCTS_PER_TRUNCATION;
        let walk = match precision {
            Precision::Fp32 => roundings.sqrt() * UNIT_ROUNDOFF,
            Precision::Fp16x3 | Precision::Tf32x3 => (roundings + HI_LO_SPLIT).sqrt() * UNIT_ROUNDOFF,
            Precision::F16 | Precision::Bf16 => truncation * UNIT_ROUNDOFF,
            Precision::Tf32 => truncation * UNIT_ROUNDOFF + TRUNCATION,
        };
        let rounding = match problem.output {
            Element::F32 => 0.0, // counted above
            Element::F16 | Element::Bf16 => element::unit_roundoff(problem.output),
        };
        Self { sum, rounding, underflow: element::smallest(problem.output), walk: MARGIN * walk }
    }

    /// The bound of an element of this value, whose terms have these absolute values in sum.
    pub(crate) fn of_element(&self, expected: f64, magnitude: f64) -> f64 {
        let sum = self.sum * magnitude;
        sum + self.rounding * (expected.abs() + sum) + self.underflow
    }

    /// The tolerance of a sum of elements with weights whose absolute values are `weights` in sum: `squares` is the sum of squares of all
    /// products in them, `written` that of the powers of two at or below the elements as they were written, to which their rounding
    /// errors are proportional. Both have the weights in them.
    pub(crate) fn of_weighted_sum(&self, weights: f64, squares: f64, written: f64) -> f64 {
        let rounding = MARGIN_OF_ROUNDING * self.rounding * written.sqrt();
        self.walk * squares.sqrt() + rounding + weights * self.underflow
    }
}
