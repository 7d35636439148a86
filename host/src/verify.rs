//! Whether a result is right. Every row and column is checked (Freivalds, in f64), chosen rows element by element
//! ([`crate::reference`]), and everything around the elements bit by bit.
//!
//! An element may be (k + 2) 2^-24 of its sum of absolute products away from f64, in fp32: N. J. Higham, "Accuracy and Stability
//! of Numerical Algorithms", section 3.1. Signed sums of whole rows and columns find what chosen rows miss: R. Freivalds,
//! "Probabilistic machines can use less running time", 1977.

use gpu_kernels::Precision;
use rand::{SeedableRng, rngs::SmallRng};

use crate::freivalds::Freivalds;
use crate::matrix::Damage;
use crate::reference::{Reference, choose_rows};
use crate::{Operands, Problem};

mod allowance;
mod comparison;
mod sample;

pub(crate) use allowance::Allowance;
use comparison::Comparison;
pub use sample::verify_sample;

/// The largest relative error of one fp32 rounding: 2^-24.
pub const UNIT_ROUNDOFF: f64 = f32::EPSILON as f64 / 2.0;

/// Checks results of one problem. Building it costs much more than a check.
///
/// ```
/// use gpu_kernels::Precision;
/// use host::backend::{BackendChoice, Options, open};
/// use host::verify::Fault;
/// use host::{Kernel, Operands, Problem, Verifier, kernels};
///
/// let problem = Problem::new(40, 40, 40)?.with_seed(3);
/// let fresh = Operands::random(&problem)?;
/// let mut backend = open(BackendChoice::Emulator, Options::default())?.backend;
/// backend.upload(&fresh)?;
/// backend.run(Kernel::Step(kernels::find("2d-tiling")?), &problem)?;
/// let mut result = backend.download()?;
///
/// let verifier = Verifier::new(&problem, &fresh);
/// let verification = verifier.verify(&result, Precision::Fp32);
/// assert!(verification.passed() && verification.rel_error < 1e-6);
///
/// // One element that is off by a thousandth is found, wherever it is.
/// result.c.set(39, 7, result.c.get(39, 7) + 1e-3);
/// let verification = verifier.verify(&result, Precision::Fp32);
/// assert!(matches!(verification.fault, Some(Fault::Element { row: 39, column: 7, .. })));
/// # Ok::<(), host::Error>(())
/// ```
#[derive(Debug)]
pub struct Verifier<'a> {
    problem: Problem,
    fresh: &'a Operands,
    reference: Reference,
    freivalds: Freivalds,
}

/// The outcome of a check.
#[derive(Debug, Clone, PartialEq)]
pub struct Verification {
    /// ||C - reference|| / ||reference|| in the Frobenius norm, over the elements that were compared one by one.
    pub rel_error: f64,
    /// The largest error of an element, as a share of what is allowed: at most 1 in a right result.
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
        /// The allowed error.
        bound: f64,
    },
    /// A row's signed sum is off, by Freivalds' check.
    #[error("row {row} of C is wrong: its signed sum is off by {error:.1e}, {bound:.1e} is allowed")]
    Row {
        /// The row.
        row: usize,
        /// The error of its sum.
        error: f64,
        /// The allowed error.
        bound: f64,
    },
    /// A column's signed sum is off, by Freivalds' check.
    #[error("column {column} of C is wrong: its signed sum is off by {error:.1e}, {bound:.1e} is allowed")]
    Column {
        /// The column.
        column: usize,
        /// The error of its sum.
        error: f64,
        /// The allowed error.
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

impl<'a> Verifier<'a> {
    /// Prepares the checks for a problem. `fresh` holds the operands as they are before a kernel runs, drawn by
    /// [`Operands::random`]: the check of whole rows and columns relies on their distribution.
    #[must_use]
    pub fn new(problem: &Problem, fresh: &'a Operands) -> Self {
        // Another stream than the operands'.
        let mut rng = SmallRng::seed_from_u64(!problem.seed);
        let rows = choose_rows(problem, &mut rng);
        Self {
            problem: *problem,
            fresh,
            reference: Reference::new(problem, fresh, rows, 0..problem.n as usize),
            freivalds: Freivalds::new(problem, fresh, &mut rng),
        }
    }

    /// Checks the operands as a kernel of that arithmetic left them.
    #[must_use]
    pub fn verify(&self, result: &Operands, precision: Precision) -> Verification {
        let allowance = Allowance::new(&self.problem, precision);
        let mut verification =
            Comparison::of(&self.reference, &allowance, &result.c).verification(self.reference.rows.len());
        verification.fault = verification
            .fault
            .or_else(|| self.freivalds.check(&result.c, &allowance))
            .or_else(|| guard_fault(result))
            .or_else(|| input_fault(self.fresh, result));
        verification
    }
}

/// An input that was written.
fn input_fault(fresh: &Operands, result: &Operands) -> Option<Fault> {
    [('A', &fresh.a, &result.a), ('B', &fresh.b, &result.b)].into_iter().find_map(|(matrix, fresh, result)| {
        let (row, column) = fresh.first_difference(result)?;
        Some(Fault::Input { matrix, row, column })
    })
}

/// Whether an error is allowed. NaN is not, which fails every comparison, nor is infinity, whatever the bound has become.
pub(crate) fn within(error: f64, bound: f64) -> bool {
    error <= bound && error.is_finite()
}

fn guard_fault(result: &Operands) -> Option<Fault> {
    [('A', &result.a), ('B', &result.b), ('C', &result.c)]
        .into_iter()
        .find_map(|(matrix, elements)| Some(Fault::Guard { matrix, damage: elements.damage()? }))
}

#[cfg(test)]
mod tests;
