//! Small problems that every step runs before it is measured: what one large problem goes through by chance, or never.

use gpu_kernels::Step;

use crate::backend::{Backend, Kernel};
use crate::verify::{Coverage, special, verify_sample};
use crate::{Error, Operands, Problem, Verifier};

/// Adjacent elements of a thread, at most.
const ENDS: u32 = 8;

/// Runs and verifies the probes of a step.
///
/// # Errors
/// [`Error::NotVerified`] of the first that is wrong, or why it does not run.
pub(super) fn run(backend: &mut dyn Backend, step: &'static Step) -> Result<(), Error> {
    let kernel = Kernel::Step(step);
    let special = special::problems(step)?.into_iter().map(|problem| (problem, true));
    for (problem, is_special) in special.chain(random(step)?.into_iter().map(|problem| (problem, false))) {
        let problem = problem.for_kernel(kernel)?;
        let mut fresh = Operands::random(&problem)?;
        if is_special {
            special::fill(&mut fresh);
        } else if !problem.reads_inputs() {
            [&mut fresh.a, &mut fresh.b].into_iter().for_each(|matrix| matrix.fill(f32::NAN));
        }
        backend.prepare(kernel)?;
        backend.upload(&fresh)?;
        let coverage = backend.run(kernel, &problem)?;
        let result = backend.download()?;
        let fault = match &coverage {
            Coverage::Sample { regions, .. } if !is_special => {
                verify_sample(&problem, kernel.precision(), &fresh, &result, regions).fault
            }
            Coverage::Sample { .. } => None,
            Coverage::Whole { .. } if is_special => special::fault(&problem, &fresh, &result),
            Coverage::Whole { .. } => Verifier::new(&problem, &fresh).verify(&result, kernel.precision()).fault,
        };
        if let Some(fault) = fault {
            let sgemm::Product { m, n, k, .. } = *problem;
            return Err(Error::NotVerified { kernel: kernel.name(), m, n, k, fault });
        }
    }
    Ok(())
}

/// A long sum in few elements, which splits of k share; whole tiles whose rows have gaps, where C is read; the first row and column of the
/// next tiles, where it is not; the last ones before them; ends of rows and columns at each place of a thread's elements, with gaps behind
/// them, and of sums at as many places of a k-tile; and no products.
fn random(step: &Step) -> Result<Vec<Problem>, Error> {
    let tile = step.tile;
    let long = Problem::new(5, 6, 4200)?.with_seed(1);
    let (n, k) = (2 * tile.bn, 2 * tile.bk);
    let whole = Problem::new(tile.bm, n, k)?.with_leading_dimensions(k + 8, n + 3, n + 32)?;
    let (n, k) = (tile.bn + 3, k + 1);
    let next = Problem::new(tile.bm + 1, n, k)?.with_leading_dimensions(k + 8, n + 3, n + 32)?;
    let last = |size: u32| (size - 1).max(1);
    let last = [(last(tile.bm), tile.bn + 1), (tile.bm + 1, last(tile.bn))];
    let last = last.into_iter().map(|(m, n)| Problem::new(m, n, tile.bk + 1));
    let ends = (0..ENDS).map(|end| {
        let k = 16 + 5 * end;
        Problem::new(9 + end, 8 + ENDS - end, k)?.with_leading_dimensions(k + 8, 21, 23)
    });
    let none = [Problem::new(3, 6, 0), Problem::new(9, 10, 17)?.with_scalars(0.0, -0.5)];
    let problems = [long, whole.with_scalars(1.0, -0.5)?.with_seed(3), next.with_scalars(-0.75, 0.0)?.with_seed(4)];
    problems.into_iter().map(Ok).chain(last).chain(ends).chain(none).collect()
}
