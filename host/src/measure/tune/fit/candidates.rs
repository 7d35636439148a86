//! The kernels to choose among.

use gpu_kernels::Step;
use sgemm::select::{Cost, Memory};

use super::Sample;

/// As long as choosing by predictions costs no more without one, the one is given up without which it costs least. What is predicted of a
/// kernel that is hardly ever the fastest can only mislead.
pub(super) fn candidates(
    choices: &[Vec<Sample>],
    costs: &[(&'static Step, Cost)],
    memory: &Memory,
    sm_count: u32,
) -> Vec<&'static str> {
    // Of each kernel of a choice: what is predicted, and the logarithm of what it took.
    let timed = |sample: &Sample| {
        let (step, cost) = costs.iter().find(|(step, _)| *step == sample.step)?;
        Some((step.slug, cost.time(&sample.work, memory, sm_count), sample.us.ln()))
    };
    let of_choice = choices.iter().map(|samples| samples.iter().filter_map(timed).collect::<Vec<_>>());
    let of_choice: Vec<_> = of_choice.filter(|times| !times.is_empty()).collect();
    let lost = |left: &[&str]| {
        let of_left = |times: &Vec<(&str, f64, f64)>| {
            let left = times.iter().filter(|(slug, ..)| left.contains(slug));
            let chosen = left.min_by(|(_, one, _), (_, other, _)| one.total_cmp(other));
            chosen.map_or(f64::INFINITY, |(.., logarithm)| *logarithm)
        };
        of_choice.iter().map(of_left).sum::<f64>()
    };
    let mut left: Vec<_> = costs.iter().map(|(step, _)| step.slug).collect();
    let mut now = lost(&left);
    loop {
        let without = |slug: &str| left.iter().copied().filter(|other| *other != slug).collect::<Vec<_>>();
        let tried = left.iter().map(|slug| (lost(&without(slug)), *slug));
        match tried.min_by(|(one, _), (other, _)| one.total_cmp(other)) {
            Some((lost, slug)) if lost <= now => (left, now) = (without(slug), lost),
            _ => return left,
        }
    }
}
