//! What choosing another kernel would gain.

use gpu_kernels::Step;
use sgemm::plan::Plan;

use super::check::Check;
use super::verified;
use crate::backend::cuda::Sequences;
use crate::backend::{Case, Kernel, Rotation};
use crate::{AccuracyClass, Error};

/// Kernels that took up to so many times the fastest one's time, and microseconds more, in a first look are timed again, so many at the
/// most: one product between two events says no more.
const CLOSE: f64 = 1.3;
const SLACK_MS: f64 = 0.003;
const FINALISTS: usize = 6;

/// Rounds over all finalists.
const ROUNDS: u32 = 7;

/// The time of the chosen kernel, as a multiple of that of the fastest one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Regret {
    /// The fastest kernel; the chosen one where no other is faster.
    pub best: &'static Step,
    /// The chosen one's time over its time.
    pub factor: f64,
    /// Kernels that were timed.
    pub timed: u32,
}

/// A kernel that was added to the sequences: its number there, the step, and the milliseconds of one product.
pub type Candidate = (usize, &'static Step, f64);

/// Times every kernel of the class that the device runs on the case, the close ones in alternation with the chosen one, and verifies the
/// fastest.
///
/// # Errors
/// What the device says of one of them; [`Error::NotVerified`] where the fastest one's result is wrong.
pub fn regret(
    sequences: &mut Sequences,
    check: &Check,
    case: &Case,
    class: AccuracyClass,
    chosen: Candidate,
    rotation: Rotation,
) -> Result<Regret, Error> {
    let problem = case.problem(class);
    let (sm_count, gpu) = (sequences.device().sm_count, sequences.device().gpu());
    let mut others = Vec::new();
    for step in
        gpu_kernels::runnable().filter(|step| class.admits(step.precision) && gpu.runs(step) && *step != chosen.1)
    {
        // It makes another C, or has no room for so long a k.
        let Ok(plan) = Plan::new(step, &problem, sm_count) else { continue };
        let number = sequences.add_step(plan)?;
        others.push((number, step, sequences.time_once(number)?));
    }
    let timed = others.len() as u32 + 1;
    let finalists = finalists(chosen, others);
    let numbers: Vec<_> = finalists.iter().map(|(number, ..)| *number).collect();
    sequences.record(&numbers[1..], rotation)?;
    let times = sequences.time_graphs(&numbers, rotation, ROUNDS)?;
    let times =
        (0..numbers.len()).map(|place| super::median(times.iter().map(|round| round[place]))).collect::<Vec<_>>();
    let (best, factor) = fastest(&times);
    let (number, best, _) = finalists[best];
    if number != chosen.0 {
        let c = sequences.run(number)?;
        verified(case, Kernel::Step(best), &check.verify(&c, best.precision)?)?;
    }
    Ok(Regret { best, factor, timed })
}

/// The chosen kernel, and those of the others that are close to the fastest, the fastest first.
fn finalists(chosen: Candidate, mut others: Vec<Candidate>) -> Vec<Candidate> {
    others.sort_by(|one, other| one.2.total_cmp(&other.2));
    let least = others.first().map_or(chosen.2, |fastest| fastest.2.min(chosen.2));
    others.retain(|(.., ms)| *ms <= CLOSE * least + SLACK_MS);
    others.truncate(FINALISTS);
    std::iter::once(chosen).chain(others).collect()
}

/// The place of the least time, and the first time as a multiple of it.
fn fastest(times: &[f64]) -> (usize, f64) {
    let least = |best: usize, place: usize| if times[place] < times[best] { place } else { best };
    let best = (0..times.len()).fold(0, least);
    (best, times[0] / times[best])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_that_are_close_are_timed_again_beside_the_chosen_one() {
        let step = &gpu_kernels::STEPS[0];
        let numbers = |chosen: f64, others: &[f64]| {
            let others = others.iter().zip(1..).map(|(ms, number)| (number, step, *ms)).collect();
            finalists((0, step, chosen), others).iter().map(|(number, ..)| *number).collect::<Vec<_>>()
        };
        assert_eq!(numbers(5.0, &[2.0, 1.0, 1.2, 1.4]), [0, 2, 3], "however slow the chosen one is");
        assert_eq!(numbers(1.0, &[2.0, 1.25]), [0, 2]);
        assert_eq!(numbers(0.004, &[0.008, 0.009]), [0, 1], "microseconds more are no difference");
        assert_eq!(numbers(1.0, &[1.0; 20]).len(), 1 + FINALISTS);
        assert_eq!(numbers(1.0, &[]), [0]);
    }

    #[test]
    fn regret_is_over_the_fastest() {
        assert_eq!(fastest(&[3.0, 4.0, 2.0]), (2, 1.5));
        assert_eq!(fastest(&[2.0, 2.0, 4.0]), (0, 1.0), "of equal ones, the chosen one");
        assert_eq!(fastest(&[1.0]), (0, 1.0));
    }
}
