//! The constants of all kernels together, such that choosing by predictions costs little: from those of least squares, down the slope of
//! what a choice by soft predictions costs on average.
//!
//! ```text
//!   a choice costs  Σ p ln(time / least time),   p ~ predicted^(-1 / SOFTNESS)
//!   beside it       FAITH (Σ least squares / 2 + Σ (PRIOR away from the start)² / 2)
//! ```
//!
//! Powers begin here, at 0: least squares would spend them on what matters for no choice.

use gpu_kernels::Step;
use sgemm::select::{Cost, Memory, POWERS};

use super::constants::{CONSTANTS, exponentials, logarithms};
use super::least_squares::{slope, weight};
use super::{Kernel, Sample, fastest};

/// How much faster a kernel must be predicted to be for its choice to be about sure, as a logarithm: as far as predictions are off.
const SOFTNESS: f64 = 0.08;

/// What predicting times counts beside choosing well, and staying near the start beside that.
const FAITH: f64 = 0.15;
const PRIOR: f64 = 0.3;

/// The method is Adam's: steps of about the same size for all constants, first longer ones, then shorter ones.
const STEPS: [(u32, f64); 2] = [(150, 0.03), (80, 0.009)];
const MOMENTUM: f64 = 0.9;
const SQUARES: f64 = 0.99;
const LEAST_SLOPE: f64 = 1e-3;

/// Samples of a kernel from which on it has powers: those of fewer would say nothing of other shapes.
pub(super) const ENOUGH: usize = 64;

/// The memory's constants are those of all kernels, and move less.
const MEMORY_PACE: f64 = 0.3;
const MEMORY: usize = 3;

/// How much the bases of powers differ among shapes, so that all powers move at the pace of the constants: logarithms of sizes, of blocks and
/// of how unequal their numbers are, and unevenness.
const SPREADS: [f64; POWERS] = [2.5, 2.5, 2.5, 2.0, 0.6, 0.6, 0.6, 0.6];

/// The largest power, either way: what corrects more than what it corrects is beside the model.
const MOST_POWER: f64 = 1.0;

/// A difference of logarithms, for slopes.
const DIFFERENCE: f64 = 1e-4;

/// A constant on its way.
#[derive(Clone, Copy)]
struct Moving {
    at: f64,
    mean: f64,
    square: f64,
}

impl Moving {
    fn new(at: f64) -> Self {
        Self { at, mean: 0.0, square: 0.0 }
    }

    /// The step of that number, from 1 on.
    fn step(&mut self, number: i32, slope: f64, length: f64) {
        self.mean = MOMENTUM * self.mean + (1.0 - MOMENTUM) * slope;
        self.square = SQUARES * self.square + (1.0 - SQUARES) * slope * slope;
        let mean = self.mean / (1.0 - MOMENTUM.powi(number));
        let scale = (self.square / (1.0 - SQUARES.powi(number))).sqrt();
        self.at -= length * mean / (scale + LEAST_SLOPE);
    }
}

/// Where samples are among those of the kernels: `[kernel, sample]` of each sample of a choice, and the logarithm of what it costs.
type Choice = Vec<([usize; 2], f64)>;

/// Moves the constants of the kernels, and returns those of the memory.
pub(super) fn refine(kernels: &mut [Kernel], memory: Memory, choices: &[Vec<Sample>], sm_count: u32) -> Memory {
    let choices: Vec<_> = choices.iter().map(|samples| located(kernels, samples)).collect();
    let start: Vec<_> = kernels.iter().map(|kernel| logarithms(&kernel.cost)).collect();
    let mut constants: Vec<_> = start.iter().map(|start| start.map(Moving::new)).collect();
    let mut powers = vec![[Moving::new(0.0); POWERS]; kernels.len()];
    let bases: Vec<_> = kernels.iter().map(|kernel| bases(kernel, sm_count)).collect();
    let mut of_memory = [memory.launch, memory.pass_gbps, memory.gbps].map(|constant| Moving::new(constant.ln()));
    let lengths = STEPS.into_iter().flat_map(|(count, length)| (0..count).map(move |_| length));
    for (number, length) in (1..).zip(lengths) {
        let memory = of(&of_memory);
        let predicted = predicted(kernels, &memory, sm_count);
        let mut slopes = slopes_of_choices(&choices, &predicted);
        let mut memory_slopes = [0.0; MEMORY];
        for (index, kernel) in kernels.iter_mut().enumerate() {
            let (predicted, slopes) = (&predicted[index], &mut slopes[index]);
            let (constants, start, powers) = (&mut constants[index], &start[index], &mut powers[index]);
            for ((ranked, predicted), slope_of_choice) in kernel.samples.iter().zip(predicted).zip(slopes.iter_mut()) {
                let residual = predicted - ranked.sample.us.ln();
                *slope_of_choice += FAITH * weight(residual, ranked.behind).powi(2) * slope(residual);
            }
            // How the sum grows with what another cost and memory predict.
            let along = |cost: &Cost, memory: &Memory| {
                let grows = |((ranked, predicted), slope): ((&super::Ranked, &f64), &f64)| {
                    slope * (cost.time(&ranked.sample.work, memory, sm_count).ln() - predicted) / DIFFERENCE
                };
                kernel.samples.iter().zip(predicted).zip(slopes.iter()).map(grows).sum::<f64>()
            };
            let at = constants.map(|constant| constant.at);
            let of_constants: [f64; CONSTANTS] = std::array::from_fn(|constant| {
                let cost = exponentials(&moved(at, constant), &kernel.cost, kernel.least_k_tile);
                along(&cost, &memory) + FAITH * PRIOR * PRIOR * (at[constant] - start[constant])
            });
            for (constant, slope) in memory_slopes.iter_mut().enumerate() {
                let mut moved = of_memory;
                moved[constant].at += DIFFERENCE;
                *slope += along(&kernel.cost, &of(&moved));
            }
            for (constant, slope) in constants.iter_mut().zip(of_constants) {
                constant.step(number, slope, length);
            }
            kernel.cost = exponentials(&constants.map(|constant| constant.at), &kernel.cost, kernel.least_k_tile);
            if kernel.samples.len() < ENOUGH {
                continue;
            }
            for (power, moving) in powers.iter_mut().enumerate() {
                // The logarithm of a time is linear in its powers.
                let slope =
                    bases[index].iter().zip(slopes.iter()).map(|(bases, slope)| slope * bases[power]).sum::<f64>();
                moving.step(number, slope + FAITH * PRIOR * PRIOR * moving.at, length);
                let most = MOST_POWER * SPREADS[power];
                moving.at = moving.at.clamp(-most, most);
                kernel.cost.powers[power] = moving.at / SPREADS[power];
            }
        }
        for (constant, slope) in of_memory.iter_mut().zip(memory_slopes) {
            constant.step(number, slope, MEMORY_PACE * length);
        }
    }
    of(&of_memory)
}

/// Of each sample of a kernel, in spreads.
fn bases(kernel: &Kernel, sm_count: u32) -> Vec<[f64; POWERS]> {
    let of_sample = |ranked: &super::Ranked| {
        let bases = kernel.cost.bases(&ranked.sample.work, sm_count);
        std::array::from_fn(|power| bases[power] / SPREADS[power])
    };
    kernel.samples.iter().map(of_sample).collect()
}

fn moved(mut at: [f64; CONSTANTS], constant: usize) -> [f64; CONSTANTS] {
    at[constant] += DIFFERENCE;
    at
}

fn of(constants: &[Moving; MEMORY]) -> Memory {
    let [launch, pass_gbps, gbps] = constants.map(|constant| constant.at.exp());
    Memory { launch, pass_gbps, gbps }
}

/// The logarithms of what is predicted for the samples of each kernel.
fn predicted(kernels: &[Kernel], memory: &Memory, sm_count: u32) -> Vec<Vec<f64>> {
    let of_kernel = |kernel: &Kernel| {
        let of_sample = |ranked: &super::Ranked| kernel.cost.time(&ranked.sample.work, memory, sm_count).ln();
        kernel.samples.iter().map(of_sample).collect()
    };
    kernels.iter().map(of_kernel).collect()
}

/// Samples of a problem as a choice among kernels.
fn located(kernels: &[Kernel], samples: &[Sample]) -> Choice {
    let least = fastest(samples);
    let place = |sample: &Sample| {
        let is_own = |own: &Step, problem: usize| own == sample.step && problem == sample.problem;
        let kernel = kernels.iter().position(|kernel| kernel.steps.contains(&sample.step))?;
        let samples = &kernels[kernel].samples;
        let own = samples.iter().position(|ranked| is_own(ranked.sample.step, ranked.sample.problem))?;
        Some(([kernel, own], (sample.us / least).ln()))
    };
    samples.iter().filter_map(place).collect()
}

/// By how much the cost of all choices grows with the logarithm of each prediction.
fn slopes_of_choices(choices: &[Choice], predicted: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let mut slopes: Vec<_> = predicted.iter().map(|of_kernel| vec![0.0; of_kernel.len()]).collect();
    for choice in choices {
        let times = || choice.iter().map(|([kernel, sample], _)| predicted[*kernel][*sample]);
        let least = times().fold(f64::INFINITY, f64::min);
        let likely: Vec<_> = times().map(|time| ((least - time) / SOFTNESS).exp()).collect();
        let sum = likely.iter().sum::<f64>();
        let mean = choice.iter().zip(&likely).map(|((_, cost), likely)| cost * likely).sum::<f64>() / sum;
        for (([kernel, sample], cost), likely) in choice.iter().zip(likely) {
            slopes[*kernel][*sample] -= likely / sum * (cost - mean) / SOFTNESS;
        }
    }
    slopes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slopes_are_those_of_what_soft_choices_cost() {
        let costs = [0.3, 0.0, 0.9];
        let choice: Choice = costs.into_iter().enumerate().map(|(sample, cost)| ([0, sample], cost)).collect();
        let cost = |predicted: &[f64]| {
            let likely: Vec<_> = predicted.iter().map(|time| (-time / SOFTNESS).exp()).collect();
            let sum = likely.iter().sum::<f64>();
            likely.iter().zip(costs).map(|(likely, cost)| likely / sum * cost).sum::<f64>()
        };
        let predicted = vec![1.02, 1.05, 1.1];
        let slopes = slopes_of_choices(&[choice], std::slice::from_ref(&predicted));
        for (sample, slope) in slopes[0].iter().enumerate() {
            let mut moved = predicted.clone();
            moved[sample] += 1e-6;
            let numeric = (cost(&moved) - cost(&predicted)) / 1e-6;
            assert!((slope - numeric).abs() < 1e-4, "{sample}: {slope} instead of {numeric}");
        }
    }
}
