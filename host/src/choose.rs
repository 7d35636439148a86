//! What `auto` stands for: looked up where something was measured, by a rule of thumb elsewhere.

use gpu_kernels::{Precision, STEPS, Schedule, Step};

use crate::backend::Device;
use crate::tuned::Table;
use crate::{Problem, Promise};

/// The step of which the table says the best variant.
pub(crate) const AUTOTUNED: &str = "autotuned";

/// The least length of the sums that a block of split k is worth, in slices.
const LEAST_SLICES: u32 = 4;

/// Why a kernel was chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// It was the fastest at the nearest shape that was measured on this device: m, n, k.
    Measured([u32; 3]),
    /// No such shape was measured: a rule, from how its blocks fill the device.
    Rule,
}

/// What `auto` stands for; `None` only where there is no step that keeps the promise.
pub(crate) fn auto(
    table: Option<&Table>,
    device: &Device,
    problem: &Problem,
    promise: Promise,
) -> Option<(&'static Step, Reason)> {
    let is_usable = |step: &&Step| promise.keeps(step) && device.check_runs(step).is_ok();
    measured(table, problem, |entry| Some(entry.first.step).filter(|step| entry.promise == promise && is_usable(step)))
        .or_else(|| match rule(device, problem, promise)? {
            // Which of these it is, another promise's table knows better.
            step if step.precision == Precision::Fp32 && promise != Promise::Fp32Strict => {
                auto(table, device, problem, Promise::Fp32Strict)
            }
            step => Some((step, Reason::Rule)),
        })
}

/// The variant of a step that suits device and problem: of `autotuned` the fastest one, of all others their own.
pub(crate) fn variant(
    table: Option<&Table>,
    device: &Device,
    problem: &Problem,
    step: &'static Step,
) -> (&'static Step, Option<Reason>) {
    if step.slug != AUTOTUNED || step.variants.is_empty() || device.check_runs(step).is_err() {
        return (step, None);
    }
    let found = measured(table, problem, |entry| entry.autotuned.map(|timed| timed.step));
    let of_step = || std::iter::once(step).chain(step.variants);
    let by_rule = || {
        widest(of_step().filter(|step| fills(step, problem, device)), problem)
            .or_else(|| most_blocks(of_step(), problem))
    };
    let (chosen, reason) = found.or_else(|| Some((by_rule()?, Reason::Rule))).unwrap_or((step, Reason::Rule));
    (chosen, Some(reason))
}

fn measured(
    table: Option<&Table>,
    problem: &Problem,
    wanted: impl Fn(&crate::tuned::Entry) -> Option<&'static Step>,
) -> Option<(&'static Step, Reason)> {
    let (entry, step) = table?.nearest(problem, wanted)?;
    Some((step, Reason::Measured(entry.shape)))
}

/// The first precision that keeps the promise and has something for the problem: of those on the tensor cores, the widest
/// tiles that fill the device, or else the most blocks. Where it may also be the CUDA cores, so few blocks that half of the
/// device is idle are not worth it. On a device that can run none, the last step, whose error will say so.
fn rule(device: &Device, problem: &Problem, promise: Promise) -> Option<&'static Step> {
    let has_choice = promise.precisions().len() > 1;
    let of = |precision: Precision| match precision {
        Precision::Fp32 => on_cuda_cores(device, problem),
        _ => {
            let keeps = |step: &&Step| step.precision == precision && promise.keeps(step);
            let runs = |step: &&Step| keeps(step) && device.check_runs(step).is_ok();
            on_tensor_cores(gpu_kernels::runnable().filter(runs).collect(), device, problem, has_choice)
        }
    };
    let last = || gpu_kernels::runnable().filter(|step| promise.keeps(step)).last();
    promise.precisions().iter().find_map(|precision| of(*precision)).or_else(last)
}

/// Of steps in one precision, the first with the widest tiles that fill the device, or with the most blocks; `None` where half
/// of the device would be idle, and there is a choice.
fn on_tensor_cores(
    steps: Vec<&'static Step>,
    device: &Device,
    problem: &Problem,
    is_choice: bool,
) -> Option<&'static Step> {
    let backwards = || steps.iter().rev().copied();
    let that_fill = backwards().filter(|step| fills(step, problem, device));
    let chosen = widest(that_fill, problem).or_else(|| most_blocks(backwards(), problem));
    chosen.filter(|step| !is_choice || 2 * blocks(step, problem) >= u64::from(device.sm_count))
}

/// The last step of the ladder with a tile for each block, and one for every multiprocessor, since idle multiprocessors cost
/// more than a better tile gains; or, where one whose blocks share the sums of a tile fills the device with larger tiles,
/// that one. Where none has so many, the one with the most blocks.
fn on_cuda_cores(device: &Device, problem: &Problem) -> Option<&'static Step> {
    let runs = |step: &&Step| step.precision == Precision::Fp32 && device.check_runs(step).is_ok();
    let shares = |step: &&Step| matches!(step.schedule, Schedule::SplitK { .. });
    // Streamed tiles gain little where tiles are many, and cost the emulator much, which must run all of them.
    let mut alone = STEPS.iter().filter(runs).filter(|step| step.schedule == Schedule::Tiles);
    let last = alone.rfind(|step| fills(step, problem, device));
    let shared = gpu_kernels::runnable().filter(runs).filter(shares).filter(|step| is_long_enough(step, problem));
    let shared = widest(shared.filter(|step| fills(step, problem, device)), problem);
    match (last, shared) {
        (Some(last), Some(shared)) => Some(if area(shared, problem) > area(last, problem) { shared } else { last }),
        (None, None) => {
            let worthwhile = gpu_kernels::runnable().filter(runs).filter(|step| is_long_enough(step, problem));
            most_blocks(worthwhile, problem)
        }
        (one, other) => one.or(other),
    }
}

/// Elements of C in a tile.
fn area(step: &Step, problem: &Problem) -> u32 {
    step.tile.bm.min(problem.m) * step.tile.bn.min(problem.n)
}

/// Blocks that have tiles of their own, or shares of one, to compute.
fn blocks(step: &Step, problem: &Problem) -> u64 {
    let parts = if let Schedule::SplitK { parts } = step.schedule { parts } else { 1 };
    let tiles = u64::from(problem.m.div_ceil(step.tile.bm)) * u64::from(problem.n.div_ceil(step.tile.bn));
    tiles * u64::from(parts)
}

fn fills(step: &Step, problem: &Problem, device: &Device) -> bool {
    blocks(step, problem) >= u64::from(device.sm_count)
}

/// Whether each of the blocks that share a tile gets something to do.
fn is_long_enough(step: &Step, problem: &Problem) -> bool {
    let Schedule::SplitK { parts } = step.schedule else { return true };
    problem.k / parts >= LEAST_SLICES * step.tile.bk
}

/// The last of those with the largest tile.
fn widest(steps: impl Iterator<Item = &'static Step>, problem: &Problem) -> Option<&'static Step> {
    steps.max_by_key(|step| area(step, problem))
}

/// The last of those with the most blocks.
fn most_blocks(steps: impl Iterator<Item = &'static Step>, problem: &Problem) -> Option<&'static Step> {
    steps.max_by_key(|step| blocks(step, problem))
}

#[cfg(test)]
mod tests;
