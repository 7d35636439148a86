//! What choosing another kernel would gain.

use gpu_kernels::Step;
use results::KernelTime;
use sgemm::plan::Plan;

use super::check::Check;
use super::verified;
use crate::backend::cuda::Sequences;
use crate::backend::{Case, Kernel, Rotation};
use crate::{AccuracyClass, Error};

/// Kernels that took up to so many times the fastest one's time, and milliseconds more, in the better of two first looks are timed in
/// sequences: one product between two events says no more, and now and then far less.
const NOT_FAR: f64 = 3.0;
const SLACK_MS: f64 = 0.003;

/// Rounds over these.
const FIRST_ROUNDS: u32 = 3;

/// Those that are as close to the fastest one then are timed again beside the chosen one, so many at the most, in so many rounds.
const CLOSE: f64 = 1.1;
const FINALISTS: usize = 6;
const ROUNDS: u32 = 7;

/// The time of the chosen kernel, as a multiple of that of the fastest one.
#[derive(Debug, Clone, PartialEq)]
pub struct Regret {
    /// The fastest kernel; the chosen one where no other is faster.
    pub best: &'static Step,
    /// The chosen one's time over its time.
    pub factor: f64,
    /// What kernels took: those that are far slower in a first look, not in sequences.
    pub times: Vec<KernelTime>,
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
        let looks = [sequences.time_once(number)?, sequences.time_once(number)?];
        others.push((number, step, looks[0].min(looks[1])));
    }
    let (candidates, far) = near(chosen, others);
    let numbers = numbers_of(&candidates);
    sequences.record(&numbers[1..], rotation)?;
    let times = medians(&sequences.time_graphs(&numbers, rotation, FIRST_ROUNDS)?);
    let candidates: Vec<_> =
        candidates.into_iter().zip(times).map(|((number, step, _), ms)| (number, step, ms)).collect();
    let kernel_time = |(_, step, time_ms): &Candidate| KernelTime { kernel: step.slug.to_owned(), time_ms: *time_ms };
    let kernel_times = candidates.iter().chain(&far).map(kernel_time).collect();
    let finalists = finalists(candidates);
    let times = medians(&sequences.time_graphs(&numbers_of(&finalists), rotation, ROUNDS)?);
    let (best, factor) = fastest(&times);
    let (number, best, _) = finalists[best];
    if number != chosen.0 {
        let c = sequences.run_recorded(number)?;
        verified(case, Kernel::Step(best), &check.verify(&c, best.precision)?)?;
    }
    Ok(Regret { best, factor, times: kernel_times })
}

fn numbers_of(candidates: &[Candidate]) -> Vec<usize> {
    candidates.iter().map(|(number, ..)| *number).collect()
}

/// Of each place over the rounds.
fn medians(rounds: &[Vec<f64>]) -> Vec<f64> {
    let places = rounds.first().map_or(0, Vec::len);
    (0..places).map(|place| super::median(rounds.iter().map(|round| round[place]))).collect()
}

/// The chosen kernel and those of the others that are not far slower than the fastest, and the others.
fn near(chosen: Candidate, others: Vec<Candidate>) -> (Vec<Candidate>, Vec<Candidate>) {
    let least = others.iter().fold(chosen.2, |least, other| least.min(other.2));
    let (near, far): (Vec<_>, Vec<_>) = others.into_iter().partition(|(.., ms)| *ms <= NOT_FAR * least + SLACK_MS);
    (std::iter::once(chosen).chain(near).collect(), far)
}

/// The first one, and those of the others that are close to the fastest, the fastest first.
fn finalists(mut candidates: Vec<Candidate>) -> Vec<Candidate> {
    let chosen = candidates.remove(0);
    candidates.sort_by(|one, other| one.2.total_cmp(&other.2));
    let least = candidates.first().map_or(chosen.2, |fastest| fastest.2.min(chosen.2));
    candidates.retain(|(.., ms)| *ms <= CLOSE * least);
    candidates.truncate(FINALISTS);
    std::iter::once(chosen).chain(candidates).collect()
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
        let all = |chosen: f64, others: &[f64]| {
            let others = others.iter().zip(1..).map(|(ms, number)| (number, step, *ms)).collect();
            near((0, step, chosen), others).0
        };
        let numbers = |chosen: f64, others: &[f64]| numbers_of(&finalists(all(chosen, others)));
        assert_eq!(numbers(5.0, &[2.0, 1.0, 1.05, 1.4]), [0, 2, 3], "however slow the chosen one is");
        assert_eq!(numbers(1.0, &[2.0, 1.05]), [0, 2]);
        assert_eq!(numbers(1.0, &[1.0; 20]).len(), 1 + FINALISTS);
        assert_eq!(numbers(1.0, &[]), [0]);
        assert_eq!(numbers_of(&all(0.004, &[0.014, 0.016, 0.001])), [0, 3], "microseconds more are no difference");
    }

    #[test]
    fn regret_is_over_the_fastest() {
        assert_eq!(fastest(&[3.0, 4.0, 2.0]), (2, 1.5));
        assert_eq!(fastest(&[2.0, 2.0, 4.0]), (0, 1.0), "of equal ones, the chosen one");
        assert_eq!(fastest(&[1.0]), (0, 1.0));
    }
}
