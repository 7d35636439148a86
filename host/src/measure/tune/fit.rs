//! Constants of kernels that predict the times which were measured: least squares of the logarithms, by the method of Levenberg and
//! Marquardt.

use std::collections::BTreeMap;

use gpu_kernels::{Precision, Step};
use sgemm::select::{Cost, Memory, Work};

/// What a kernel took for something.
#[derive(Debug, Clone, Copy)]
pub struct Sample {
    /// Which problem: samples of one have the same number.
    pub problem: usize,
    /// The kernel.
    pub step: &'static Step,
    /// What it had to do.
    pub work: Work,
    /// How long that took, in microseconds.
    pub us: f64,
}

/// A sample, and its time over that of the fastest kernel for the same problem.
struct Ranked {
    sample: Sample,
    behind: f64,
}

/// Fewer samples say nothing of a kernel.
const LEAST_SAMPLES: usize = 8;

/// What can be told apart: constants, and how far from a guess they are drawn where nothing else decides.
const CONSTANTS: usize = 8;
const PRIOR: f64 = 0.03;

/// A residual beyond this counts less than its square: launches now and then, and what the model does not know.
const OUTLIER: f64 = 0.15;

const ITERATIONS: u32 = 40;

/// How far a constant of the memory moves in a step of the search.
const MEMORY_STEPS: [f64; 3] = [1.5, 1.2, 1.07];

/// Threads of an SM.
const SM_THREADS: u32 = 2048;

/// The constants of the memory and of all kernels with enough samples, on a device of so many SMs.
#[must_use]
pub fn fit(samples: &[Sample], sm_count: u32) -> (Memory, Vec<(&'static Step, Cost)>) {
    let problems = by_problem(samples);
    let steps: Vec<_> = gpu_kernels::runnable()
        .map(|step| (step, ranked(&problems).filter(|ranked| ranked.sample.step == step).collect::<Vec<_>>()))
        .filter(|(_, samples)| samples.len() >= LEAST_SAMPLES)
        .collect();
    let of = |memory: Memory| -> Vec<(&'static Step, Cost)> {
        steps.iter().filter_map(|(step, samples)| Some((*step, kernel(step, samples, &memory, sm_count)?))).collect()
    };
    let error = |memory: Memory| regret(&problems, &of(memory), &memory, sm_count);
    let mut memory = Memory { launch: 1.3, pass_gbps: 3600.0, gbps: 4300.0 };
    let mut least = error(memory);
    for factor in MEMORY_STEPS {
        loop {
            let Memory { launch, pass_gbps, gbps } = memory;
            let tries = [factor, 1.0 / factor].into_iter().flat_map(|factor| {
                [
                    Memory { launch: launch * factor, ..memory },
                    Memory { pass_gbps: pass_gbps * factor, ..memory },
                    Memory { gbps: gbps * factor, ..memory },
                ]
            });
            let tried = tries.map(|memory| (error(memory), memory));
            let best = tried.min_by(|(one, _), (other, _)| one.total_cmp(other));
            let Some((error, better)) = best.filter(|(error, _)| *error < least) else { break };
            (least, memory) = (error, better);
        }
    }
    let costs = of(memory);
    let candidates = candidates(&problems, &costs, &memory, sm_count);
    let candidate = |step: &Step| candidates.contains(&step.slug);
    let finished = |(step, cost)| (step, Cost { is_candidate: candidate(step), ..rounded(cost) });
    let costs = costs.into_iter().map(finished).collect();
    let Memory { launch, pass_gbps, gbps } = memory;
    (Memory { launch: digits(launch), pass_gbps: digits(pass_gbps), gbps: digits(gbps) }, costs)
}

/// The root mean square of what predictions are off, as logarithms.
#[must_use]
pub fn error(samples: &[Sample], step: &Step, cost: &Cost, memory: &Memory, sm_count: u32) -> f64 {
    let own: Vec<_> = samples.iter().filter(|sample| sample.step == step).collect();
    let squares = own.iter().map(|sample| (cost.time(&sample.work, memory, sm_count) / sample.us).ln().powi(2));
    (squares.sum::<f64>() / own.len().max(1) as f64).sqrt()
}

/// The samples of each problem that has some.
fn by_problem(samples: &[Sample]) -> Vec<Vec<Sample>> {
    let mut problems = BTreeMap::<_, Vec<_>>::new();
    for sample in samples {
        problems.entry(sample.problem).or_default().push(*sample);
    }
    problems.into_values().collect()
}

/// The time of the fastest kernel for a problem, in microseconds.
fn fastest(samples: &[Sample]) -> f64 {
    samples.iter().map(|sample| sample.us).fold(f64::INFINITY, f64::min)
}

/// All samples, ranked in their problem.
fn ranked(problems: &[Vec<Sample>]) -> impl Iterator<Item = Ranked> {
    problems.iter().flat_map(|samples| {
        let fastest = fastest(samples);
        samples.iter().map(move |sample| Ranked { sample: *sample, behind: sample.us / fastest })
    })
}

/// The sample of the kernel that is predicted to be the fastest of those for a problem that are candidates.
#[must_use]
pub fn chosen(samples: &[Sample], costs: &[(&'static Step, Cost)], memory: &Memory, sm_count: u32) -> Option<Sample> {
    let predicted = |sample: &Sample| {
        let (_, cost) = costs.iter().find(|(step, cost)| cost.is_candidate && *step == sample.step)?;
        Some((cost.time(&sample.work, memory, sm_count), *sample))
    };
    let predicted = samples.iter().filter_map(predicted);
    predicted.min_by(|(one, _), (other, _)| one.total_cmp(other)).map(|(_, sample)| sample)
}

/// The kernels to choose among: as long as choosing by predictions costs no more without one, the one is given up without which it
/// costs least. What is predicted of a kernel that is hardly ever the fastest can only mislead.
fn candidates(
    problems: &[Vec<Sample>],
    costs: &[(&'static Step, Cost)],
    memory: &Memory,
    sm_count: u32,
) -> Vec<&'static str> {
    // Of each kernel for a problem: what is predicted, and the logarithm of what it took.
    let timed = |sample: &Sample| {
        let (step, cost) = costs.iter().find(|(step, _)| *step == sample.step)?;
        Some((step.slug, cost.time(&sample.work, memory, sm_count), sample.us.ln()))
    };
    // Once for all kernels that ran, and once for those of fp32, which the strictest class is left with.
    let of_all = problems.iter().map(|samples| samples.iter().filter_map(timed).collect::<Vec<_>>());
    let is_fp32 = |sample: &&Sample| sample.step.precision == Precision::Fp32;
    let of_fp32 = problems.iter().map(|samples| samples.iter().filter(is_fp32).filter_map(timed).collect());
    let of_problem: Vec<_> = of_all.chain(of_fp32).filter(|times| !times.is_empty()).collect();
    let lost = |left: &[&str]| {
        let of_left = |times: &Vec<(&str, f64, f64)>| {
            let left = times.iter().filter(|(slug, ..)| left.contains(slug));
            let chosen = left.min_by(|(_, one, _), (_, other, _)| one.total_cmp(other));
            chosen.map_or(f64::INFINITY, |(.., logarithm)| *logarithm)
        };
        of_problem.iter().map(of_left).sum::<f64>()
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

/// The mean logarithm of what choosing by predictions costs. The memory's constants are chosen by it: they are the same for all kernels,
/// most of which are never chosen.
fn regret(problems: &[Vec<Sample>], costs: &[(&'static Step, Cost)], memory: &Memory, sm_count: u32) -> f64 {
    let of_problem = |samples: &Vec<Sample>| {
        let chosen = chosen(samples, costs, memory, sm_count)?;
        Some((chosen.us / fastest(samples)).ln())
    };
    let logarithms: Vec<_> = problems.iter().filter_map(of_problem).collect();
    logarithms.iter().sum::<f64>() / logarithms.len().max(1) as f64
}

/// The best constants of a kernel over the numbers of blocks that may fit on an SM.
fn kernel(step: &'static Step, samples: &[Ranked], memory: &Memory, sm_count: u32) -> Option<Cost> {
    let fits = (1..=Cost::most_slots(step, SM_THREADS))
        .map(|slots| levenberg_marquardt(Cost { slots, ..Cost::guess(step) }, samples, memory, sm_count));
    fits.min_by(|(one, _), (other, _)| one.total_cmp(other)).map(|(_, cost)| cost)
}

/// The constants near `guess` with the least error, and that error.
fn levenberg_marquardt(guess: Cost, samples: &[Ranked], memory: &Memory, sm_count: u32) -> (f64, Cost) {
    let guessed = logarithms(guess);
    let residuals = |at: &[f64; CONSTANTS]| -> Vec<f64> {
        let cost = exponentials(at, guess);
        let of_sample = |Ranked { sample, behind }: &Ranked| {
            let residual = (cost.time(&sample.work, memory, sm_count) / sample.us).ln();
            // What is far behind is not chosen, unless its time is predicted to be far shorter than it is.
            let weight = if residual > 0.0 { 1.0 / (behind * behind) } else { 1.0 };
            weight * damped(residual)
        };
        let drawn = at.iter().zip(guessed).map(|(at, guessed)| PRIOR * (at - guessed));
        samples.iter().map(of_sample).chain(drawn).collect()
    };
    let squared = |residuals: &[f64]| residuals.iter().map(|residual| residual * residual).sum::<f64>();
    let (mut at, mut damping) = (guessed, 1e-2);
    let mut now = residuals(&at);
    for _ in 0..ITERATIONS {
        const STEP: f64 = 1e-4;
        let columns: [Vec<f64>; CONSTANTS] = std::array::from_fn(|constant| {
            let mut moved = at;
            moved[constant] += STEP;
            residuals(&moved).iter().zip(&now).map(|(moved, now)| (moved - now) / STEP).collect()
        });
        let dot = |one: &[f64], other: &[f64]| one.iter().zip(other).map(|(one, other)| one * other).sum::<f64>();
        let mut matrix: [[f64; CONSTANTS]; CONSTANTS] =
            std::array::from_fn(|i| std::array::from_fn(|j| dot(&columns[i], &columns[j])));
        for (i, row) in matrix.iter_mut().enumerate() {
            row[i] += damping * (row[i] + 1e-9);
        }
        let gradient = std::array::from_fn(|i| -dot(&columns[i], &now));
        let moved: [f64; CONSTANTS] = {
            let step = solve(matrix, gradient);
            std::array::from_fn(|i| at[i] + step[i].clamp(-1.0, 1.0))
        };
        let then = residuals(&moved);
        if squared(&then) < squared(&now) {
            let gained = 1.0 - squared(&then) / squared(&now);
            (at, now, damping) = (moved, then, damping / 3.0);
            if gained < 1e-5 {
                break;
            }
        } else {
            damping *= 4.0;
        }
    }
    (squared(&now), exponentials(&at, guess))
}

/// A residual whose square grows like its size beyond [`OUTLIER`].
fn damped(residual: f64) -> f64 {
    let square = (1.0 + (residual / OUTLIER).powi(2)).sqrt() - 1.0;
    residual.signum() * OUTLIER * (2.0 * square).sqrt()
}

/// Solves a symmetric positive definite system by elimination.
fn solve(mut matrix: [[f64; CONSTANTS]; CONSTANTS], mut right: [f64; CONSTANTS]) -> [f64; CONSTANTS] {
    for pivot in 0..CONSTANTS {
        for row in pivot + 1..CONSTANTS {
            let factor = matrix[row][pivot] / matrix[pivot][pivot];
            let above = matrix[pivot];
            matrix[row].iter_mut().zip(above).for_each(|(value, above)| *value -= factor * above);
            right[row] -= factor * right[pivot];
        }
    }
    for row in (0..CONSTANTS).rev() {
        let known = (row + 1..CONSTANTS).map(|column| matrix[row][column] * right[column]).sum::<f64>();
        right[row] = (right[row] - known) / matrix[row][row];
    }
    right
}

fn logarithms(cost: Cost) -> [f64; CONSTANTS] {
    let Cost { start, round, latency, k_tile, tile, partial, gbps, uneven, .. } = cost;
    [start, round, latency, k_tile, tile, partial, gbps, uneven].map(|constant| constant.max(1e-4).ln())
}

fn exponentials(at: &[f64; CONSTANTS], cost: Cost) -> Cost {
    let [start, round, latency, k_tile, tile, partial, gbps, uneven] = at.map(f64::exp);
    Cost { start, round, latency, k_tile, tile, partial, gbps, uneven, ..cost }
}

/// Four digits of each.
fn rounded(cost: Cost) -> Cost {
    let Cost { start, round, latency, k_tile, tile, partial, gbps, uneven, .. } = cost;
    let [start, round, latency] = [start, round, latency].map(digits);
    let [k_tile, tile, partial, gbps, uneven] = [k_tile, tile, partial, gbps, uneven].map(digits);
    Cost { start, round, latency, k_tile, tile, partial, gbps, uneven, ..cost }
}

fn digits(value: f64) -> f64 {
    format!("{value:.3e}").parse().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use sgemm::{AccuracyClass, Problem};

    use super::*;

    #[test]
    fn constants_are_found_again() {
        let step = gpu_kernels::find("split-k/64x128x4").unwrap();
        let memory = Memory { launch: 1.0, pass_gbps: 2500.0, gbps: 4300.0 };
        let guess = Cost::guess(step);
        let truth =
            Cost { start: 1.7 * guess.start, latency: 0.6 * guess.latency, k_tile: 1.4 * guess.k_tile, ..guess };
        let sizes = [17, 64, 130, 512, 1000, 2048, 4096];
        let shapes = sizes.into_iter().flat_map(|m| sizes.map(|n| sizes.map(|k| [m, n, k]))).flatten();
        let samples: Vec<_> = shapes
            .enumerate()
            .map(|(number, [m, n, k])| {
                let problem = Problem::new(m, n, k).with_accuracy(AccuracyClass::Fp32);
                let work = Work::of(step, &problem, 132).unwrap();
                Sample { problem: number, step, work, us: truth.time(&work, &memory, 132) }
            })
            .collect();
        let (found, costs) = fit(&samples, 132);
        let [(of, cost)] = costs.as_slice() else { panic!("{costs:?}") };
        assert_eq!(*of, step);
        assert!(error(&samples, step, cost, &found, 132) < 0.02, "{cost:?} {found:?} instead of {truth:?}");
    }

    #[test]
    fn systems_are_solved() {
        // Symmetric, and its diagonal outweighs the rest.
        let matrix = std::array::from_fn(|i| {
            std::array::from_fn(|j: usize| if i == j { 4.0 + i as f64 } else { 1.0 / (1 + i.abs_diff(j)) as f64 })
        });
        let x: [f64; CONSTANTS] = std::array::from_fn(|i| i as f64 - 2.5);
        let right = std::array::from_fn(|i: usize| (0..CONSTANTS).map(|j| matrix[i][j] * x[j]).sum());
        let found = solve(matrix, right);
        assert!(found.iter().zip(x).all(|(found, x)| (found - x).abs() < 1e-12), "{found:?}");
    }
}
