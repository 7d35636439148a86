//! What kernels' times depend on and is the same for all of them.

use gpu_kernels::{Ab, Step};

use crate::plan::{Oriented, Stored};
use crate::{Error, Problem};

/// The alignment of rows from which on it makes no difference, in bytes.
const EVEN: u64 = 16;

/// A problem on a device, as far as it is the same for all kernels.
pub(super) struct Given<'a> {
    pub(super) problem: &'a Problem,
    pub(super) oriented: Oriented,
    pub(super) sm_count: u32,
    /// Of m, n and k; 0 where one is 0.
    pub(super) log_sizes: [f64; 3],
    /// [`Work::uneven`](super::Work::uneven).
    pub(super) uneven: [f64; 3],
    /// Bytes of A, of B and of C.
    pub(super) bytes: [f64; 3],
}

impl<'a> Given<'a> {
    /// Of a problem that is valid.
    pub(super) fn new(problem: &'a Problem, sm_count: u32) -> Result<Self, Error> {
        let oriented = Oriented::new(problem)?;
        let [m, n, k] = [oriented.m, oriented.n, oriented.k].map(f64::from);
        let [of_input, of_output] = [problem.input, problem.output].map(|element| u64::from(element.bytes()));
        let unevenness_of = |rows: &Stored, alignment| unevenness(alignment, rows.ld * of_input);
        let uneven = [
            unevenness_of(&oriented.operands.a, oriented.alignments.a),
            unevenness_of(&oriented.operands.b, oriented.alignments.b),
            unevenness(EVEN, oriented.ldd * of_output),
        ];
        let log_sizes = [m, n, k].map(|size| size.max(1.0).ln());
        let bytes = [m * k * of_input as f64, k * n * of_input as f64, m * n * of_output as f64];
        Ok(Self { problem, oriented, sm_count, log_sizes, uneven, bytes })
    }

    /// Launches before a step's, of all problems.
    pub(super) fn prepasses(&self, step: &Step) -> Ab<f64> {
        let passes = self.oriented.passes(step).zip(self.oriented.matrices(self.problem));
        passes.map(|(passes, matrices)| f64::from(passes.count()) * matrices as f64)
    }
}

/// Of rows so many bytes apart, the first of which begins at a multiple of so many.
fn unevenness(alignment: u64, ld: u64) -> f64 {
    f64::from(EVEN.trailing_zeros().saturating_sub(alignment.trailing_zeros().min(ld.trailing_zeros()))) / 2.0
}
