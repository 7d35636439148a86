//! The check of a result that is computed as a whole.

use gpu_kernels::Precision;
use rand::{SeedableRng, rngs::SmallRng};

use super::Operands;
use super::comparison::Comparison;
use super::error_bound::ErrorBound;
use super::freivalds::Freivalds;
use super::reference::{Reference, choose_rows};
use super::surroundings::{guard_fault, input_fault};
use super::verification::Verification;
use crate::{Matrix, Problem};

/// Checks results of one problem. Building it costs much more than a check.
///
/// ```
/// use gpu_kernels::Precision;
/// use host::backend::{BackendChoice, Options, open};
/// use host::verify::Fault;
/// use host::measure::kernels;
/// use host::{Kernel, Operands, Problem, Verifier};
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
        let mut verification = self.verify_c(&result.c, precision);
        verification.fault =
            verification.fault.or_else(|| guard_fault(result)).or_else(|| input_fault(self.fresh, result));
        verification
    }

    /// Checks the elements of C as a kernel of that arithmetic left them, and nothing around them.
    #[must_use]
    pub fn verify_c(&self, c: &Matrix, precision: Precision) -> Verification {
        let error_bound = ErrorBound::new(&self.problem, precision);
        let comparison = Comparison::of(&self.reference, &error_bound, c);
        let mut verification = comparison.verification(self.reference.rows.len());
        verification.fault = verification.fault.or_else(|| self.freivalds.check(c, &error_bound));
        verification
    }
}
