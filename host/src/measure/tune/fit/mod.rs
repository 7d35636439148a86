//! Constants of kernels by which the fastest are chosen: first those that predict the times which were measured, for each kernel by
//! itself, then all together, such that choosing by predictions costs little.

mod candidates;
mod constants;
mod least_squares;
mod ranking;

use std::collections::BTreeMap;

use gpu_kernels::{Precision, Step, Tile};
use results::peak_gflops;
use sgemm::AccuracyClass;
use sgemm::select::{Cost, Memory, Work};

use self::constants::digits;

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
#[derive(Debug, Clone, Copy)]
struct Ranked {
    sample: Sample,
    behind: f64,
}

/// The device that kernels were timed on.
#[derive(Debug, Clone, Copy)]
pub struct Timed {
    /// Its SMs.
    pub sm_count: u32,
    /// Such as `(9, 0)`.
    pub compute_capability: (u32, u32),
    /// Its highest SM clock.
    pub sm_clock_mhz: u32,
}

impl Timed {
    /// Microseconds that an SM's units take for the products of a k-tile. Choosing depends on ratios of times alone: without this, all
    /// constants could shrink together, and mislead where problems are larger than those that were timed.
    fn least_k_tile(self, step: &Step) -> f64 {
        let Tile { bm, bn, bk, .. } = step.tile;
        let peak = peak_gflops(step.precision.name(), self.compute_capability, 1, self.sm_clock_mhz);
        peak.map_or(0.0, |gflops| 2e-3 * f64::from(bm) * f64::from(bn) * f64::from(bk) / gflops)
    }
}

/// Steps that are one kernel but for the type of their elements, and so have the same constants, and what was measured of them.
struct Kernel {
    steps: Vec<&'static Step>,
    samples: Vec<Ranked>,
    cost: Cost,
    least_k_tile: f64,
}

/// Fewer samples say nothing of a kernel.
const LEAST_SAMPLES: usize = 8;

/// The constants of the memory and of all kernels with enough samples, on a device.
#[must_use]
pub fn fit(samples: &[Sample], device: Timed) -> (Memory, Vec<(&'static Step, Cost)>) {
    let (problems, sm_count) = (by_problem(samples), device.sm_count);
    let mut memory = memory(samples);
    let mut kernels = kernels(&problems, device);
    for kernel in &mut kernels {
        kernel.cost = least_squares::fit(kernel.steps[0], &kernel.samples, &memory, device);
    }
    let choices = choices(&problems);
    memory = ranking::refine(&mut kernels, memory, &choices, sm_count);
    for kernel in &mut kernels {
        kernel.cost = constants::rounded(kernel.cost);
    }
    let Memory { launch, pass_gbps, gbps } = memory;
    let memory = Memory { launch: digits(launch), pass_gbps: digits(pass_gbps), gbps: digits(gbps) };
    let costs = kernels.iter().flat_map(|kernel| kernel.steps.iter().map(|step| (*step, kernel.cost)));
    let costs: Vec<_> = costs.collect();
    let candidates = candidates::candidates(&choices, &costs, &memory, sm_count);
    // As constants are: of kernels that are alike, the records may have timed one only.
    let alike = |step: &Step| kernels.iter().find(|kernel| kernel.steps.contains(&step));
    let is_candidate = |step: &Step| {
        alike(step).is_some_and(|kernel| kernel.steps.iter().any(|other| candidates.contains(&other.slug)))
    };
    // In the order of the registry.
    let costs = gpu_kernels::runnable().filter_map(|step| {
        let (step, cost) = costs.iter().find(|(other, _)| *other == step)?;
        Some((*step, Cost { is_candidate: is_candidate(step), ..*cost }))
    });
    (memory, costs.collect())
}

/// The root mean square of what predictions are off, as logarithms.
#[must_use]
pub fn error(samples: &[Sample], step: &Step, cost: &Cost, memory: &Memory, sm_count: u32) -> f64 {
    let own: Vec<_> = samples.iter().filter(|sample| sample.step == step).collect();
    let squares = own.iter().map(|sample| (cost.time(&sample.work, memory, sm_count) / sample.us).ln().powi(2));
    (squares.sum::<f64>() / own.len().max(1) as f64).sqrt()
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

/// What there is to choose among: of each problem the samples that each accuracy class admits, where these are others.
fn choices(problems: &[Vec<Sample>]) -> Vec<Vec<Sample>> {
    let mut choices: Vec<Vec<Sample>> = Vec::new();
    for samples in problems {
        let mut last = 0;
        // From the class of few kernels to that of many.
        for class in AccuracyClass::ALL {
            let admitted = samples.iter().filter(|sample| class.admits(sample.step.precision));
            let admitted: Vec<_> = admitted.copied().collect();
            if admitted.len() > last {
                last = admitted.len();
                choices.push(admitted);
            }
        }
    }
    choices
}

/// All kernels with enough samples, with a guess of their constants.
fn kernels(problems: &[Vec<Sample>], device: Timed) -> Vec<Kernel> {
    let mut kernels: Vec<Kernel> = Vec::new();
    for step in gpu_kernels::runnable() {
        match kernels.iter_mut().find(|kernel| are_alike(kernel.steps[0], step)) {
            Some(kernel) => kernel.steps.push(step),
            None => kernels.push(Kernel {
                steps: vec![step],
                samples: Vec::new(),
                cost: Cost::guess(step),
                least_k_tile: device.least_k_tile(step),
            }),
        }
    }
    for samples in problems {
        let fastest = fastest(samples);
        for sample in samples {
            let ranked = Ranked { sample: *sample, behind: sample.us / fastest };
            let own = kernels.iter_mut().find(|kernel| kernel.steps.contains(&sample.step));
            own.into_iter().for_each(|kernel| kernel.samples.push(ranked));
        }
    }
    kernels.retain(|kernel| kernel.samples.len() >= LEAST_SAMPLES);
    kernels
}

/// Whether two steps differ in which 16 bits their elements have, and in nothing that takes time.
fn are_alike(one: &Step, other: &Step) -> bool {
    let shape = |step: &Step| (step.base, step.tile, step.block, step.cluster, step.schedule, step.output.bytes());
    let is_half = |step: &Step| matches!(step.precision, Precision::F16 | Precision::Bf16);
    is_half(one) && is_half(other) && one.precision != other.precision && shape(one) == shape(other)
}

/// A guess of the memory's constants: a kernel was seen to move almost as much as it can.
fn memory(samples: &[Sample]) -> Memory {
    const OF_PASSES: f64 = 0.8;
    let of_sample = |sample: &Sample| sample.work.bytes / sample.us * 1e-3;
    let most = samples.iter().filter(|sample| sample.work.passes == 0.0).map(of_sample).fold(100.0, f64::max);
    Memory { launch: 1.5, pass_gbps: OF_PASSES * most, gbps: most }
}

#[cfg(test)]
mod tests;
