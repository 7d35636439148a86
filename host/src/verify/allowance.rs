//! How large errors may be, by the arithmetic of a kernel.

use gpu_kernels::{Element, Precision};

use super::UNIT_ROUNDOFF;
use crate::{Problem, element};

/// Roundings that two parts of 11 bits cost a product beyond those of f32, at most: 2^-23 of it for each factor whose low
/// part is rounded, 2^-22 for the product of low parts that is left out, and as much again where few products are cut off.
const OF_PARTS: f64 = 16.0;

/// What a factor loses of itself, at most, where the tensor cores see its first 11 bits.
const CUT: f64 = 1.0 / (1 << 10) as f64;

/// Allowed error of a sum of many elements with random signs, in units of the standard deviation that it would have if
/// nothing but these units counted; what is one unit, is a third of it at most.
const MARGIN: f64 = 8.0;

/// The same for roundings of elements to 16 bits: each is at most a unit, and independent of the others, so that sums beyond
/// this come once in 10^7 runs by Hoeffding's inequality, and far more rarely as elements are not all just above a power of two.
const MARGIN_OF_ROUNDING: f64 = 4.0;

/// Products that the tensor cores add up at once, cutting off what does not fit, at least.
const AT_ONCE: f64 = 8.0;

/// Allowed errors of one kernel on one problem.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Allowance {
    /// Of an element's sum, as a share of its sum of absolute values.
    sum: f64,
    /// Of what becomes of that, as a share of itself.
    rounding: f64,
    /// Of an element, on top.
    underflow: f64,
    /// Of a signed sum of elements, as a share of the root of the sum of squares of all products in it.
    walk: f64,
}

impl Allowance {
    pub(crate) fn new(problem: &Problem, precision: Precision) -> Self {
        let k = f64::from(problem.k);
        // A sum of k products, the factor alpha and the addition of beta*C round k + 2 times, in any order: the error is at
        // most (k + 2) u times the sum of absolute values. Higham, "Accuracy and Stability of Numerical Algorithms",
        // section 3.1. The tensor cores do not round, they cut off, which is twice as much. Each factor of TF32 loses
        // less than 2^-10 before it is multiplied; products of 16-bit numbers are exact.
        let roundings = k + 2.0;
        let sum = match precision {
            Precision::Fp32 => roundings * UNIT_ROUNDOFF,
            Precision::Fp16x3 | Precision::Tf32x3 => (roundings + OF_PARTS) * UNIT_ROUNDOFF,
            Precision::F16 | Precision::Bf16 => roundings * 2.0 * UNIT_ROUNDOFF,
            Precision::Tf32 => roundings * 2.0 * UNIT_ROUNDOFF + 2.0 * CUT,
        };
        // Rounding errors of a sum grow like a random walk. What is cut off points to 0 as long as the sum keeps its sign: it
        // adds up, though with one sign in one element and another in the next. What factors lose has the sign of the
        // product, which is random.
        let cut_off = roundings.sqrt() + k / AT_ONCE;
        let walk = match precision {
            Precision::Fp32 => roundings.sqrt() * UNIT_ROUNDOFF,
            Precision::Fp16x3 | Precision::Tf32x3 => (roundings + OF_PARTS).sqrt() * UNIT_ROUNDOFF,
            Precision::F16 | Precision::Bf16 => cut_off * UNIT_ROUNDOFF,
            Precision::Tf32 => cut_off * UNIT_ROUNDOFF + CUT,
        };
        let rounding = match problem.output {
            Element::F32 => 0.0, // is one of those above
            Element::F16 | Element::Bf16 => element::unit_roundoff(problem.output),
        };
        Self { sum, rounding, underflow: element::smallest(problem.output), walk: MARGIN * walk }
    }

    /// Of an element with this sum of absolute values.
    pub(crate) fn of_element(&self, expected: f64, magnitude: f64) -> f64 {
        let sum = self.sum * magnitude;
        sum + self.rounding * (expected.abs() + sum) + self.underflow
    }

    /// Of the signed sum of so many elements: `squares` is the sum of squares of all products in them, `written` that of the
    /// elements as they were written, whose rounding errors are in proportion to them.
    pub(crate) fn of_signed_sum(&self, terms: u32, squares: f64, written: f64) -> f64 {
        let rounding = MARGIN_OF_ROUNDING * self.rounding * written.sqrt();
        self.walk * squares.sqrt() + rounding + f64::from(terms) * self.underflow
    }
}
