//! Which kernel: the one whose predicted time is the least, or what was measured for just that shape.

mod best;
mod bound;
mod cost;
mod given;
mod guess;
mod pinned;
mod table;

use gpu_kernels::{Ab, Step};

pub use best::plan;
pub use cost::{Cost, Memory, POWERS, Work};
use given::Given;
pub use pinned::pinned;
pub use table::{Entry, Header, Table};

use crate::plan::{Oriented, Plan};
use crate::{Device, Error, Problem, modules};

/// Why a kernel was chosen.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Reason {
    /// It was the fastest at this very shape when the device was tuned.
    Measured,
    /// Its predicted time, in microseconds, is the least.
    Predicted(f64),
}

/// A kernel, and why it was chosen.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Choice {
    /// The kernel.
    pub step: &'static Step,
    /// Why.
    pub reason: Reason,
}

/// The kernel for a problem, of those that meet its class; `None` where the device runs none that does.
///
/// ```
/// use sgemm::select::{Table, choose};
/// use sgemm::{AccuracyClass, Device, Problem};
///
/// let device = Device::new("NVIDIA H200", (9, 0), 132);
/// let problem = Problem::new(4096, 4096, 4096);
/// let choice = choose(Table::of(&device), &device, &problem)?.expect("one meets the default class");
/// assert!(AccuracyClass::default().admits(choice.step.precision));
/// # Ok::<(), sgemm::Error>(())
/// ```
///
/// # Errors
/// Those of [`Problem::validate`].
pub fn choose(table: &Table, device: &Device, problem: &Problem) -> Result<Option<Choice>, Error> {
    problem.validate()?;
    let prediction = Prediction::new(table, device, problem)?;
    let suits = |step: &Step| prediction.suits(step);
    let measured = table.measured(problem).filter(|step| suits(step));
    let predicted = || prediction.least(|step, cost| cost.is_candidate && suits(step));
    let any = || prediction.least(|step, _| suits(step));
    Ok(measured.map(|step| Choice { step, reason: Reason::Measured }).or_else(predicted).or_else(any))
}

/// The variant of a step that suits device and problem; the step itself where it has none.
///
/// # Errors
/// Those of [`Problem::validate`].
pub fn variant(
    table: &Table,
    device: &Device,
    problem: &Problem,
    step: &'static Step,
) -> Result<Option<Choice>, Error> {
    problem.validate()?;
    let is_one =
        |other: &Step| other.slug == step.slug || step.variants.iter().any(|variant| variant.slug == other.slug);
    Ok(Prediction::new(table, device, problem)?.least(|other, _| is_one(other) && is_usable(device, other)))
}

/// The predicted time of a plan, in microseconds.
///
/// # Errors
/// Those of [`Problem::validate`]; [`Error::Unsupported`] where the table knows nothing of its kernel.
pub fn predicted_us(table: &Table, device: &Device, plan: &Plan) -> Result<f64, Error> {
    let prediction = Prediction::new(table, device, plan.problem())?;
    let of_step = table.costs.iter().find(|(step, _)| step.slug == plan.step().slug);
    let unknown = || Error::Unsupported {
        kernel: plan.step().slug,
        needs: plan.step().target.devices(),
        device: device.name.clone(),
        compute_capability: device.compute_capability,
    };
    of_step.map(|(step, cost)| prediction.time(step, cost)).ok_or_else(unknown)
}

/// Predicted times of kernels for a problem.
struct Prediction<'a> {
    table: &'a Table,
    device: &'a Device,
    given: Given<'a>,
}

impl<'a> Prediction<'a> {
    /// Of a problem that is valid.
    fn new(table: &'a Table, device: &'a Device, problem: &'a Problem) -> Result<Self, Error> {
        Ok(Self { table, device, given: Given::new(problem, device.sm_count)? })
    }

    /// Whether the device runs it, its module is built in, it meets the problem's class, and is made for so many rows and columns.
    fn suits(&self, step: &Step) -> bool {
        let Given { problem, oriented: Oriented { m, n, .. }, .. } = self.given;
        problem.admits(step) && problem.can_use(step) && step.is_made_for(m, n) && is_usable(self.device, step)
    }

    /// The time of a kernel with these constants, in microseconds.
    fn time(&self, step: &Step, cost: &Cost) -> f64 {
        cost.time(&Work::new(step, &self.given), &self.table.memory, self.given.sm_count)
    }

    /// The one with the least time of those that suit. Most need no more than a look to be ruled out, and a closer look without the others'.
    fn least(&self, suits: impl Fn(&Step, &Cost) -> bool) -> Option<Choice> {
        let Self { table: Table { costs, memory, .. }, given, .. } = self;
        let suiting = costs.iter().filter(|(step, cost)| suits(step, cost));
        let mut bounded: Vec<_> =
            suiting.map(|entry| (entry.1.least_time(entry.0, given, memory, 0.0), entry)).collect();
        let by_bound = |one: &(f64, _), other: &(f64, _)| one.0.total_cmp(&other.0);
        let first = (0..bounded.len()).min_by(|one, other| by_bound(&bounded[*one], &bounded[*other]))?;
        let (_, (first, cost)) = bounded.swap_remove(first);
        let (mut least, mut best) = (self.time(first, cost), *first);
        bounded.retain(|(bound, _)| *bound < least);
        bounded.sort_unstable_by(by_bound);
        for (bound, (step, cost)) in bounded {
            if bound >= least {
                break;
            }
            let Ab { a, b } = given.prepasses(step);
            if a + b > 0.0 && cost.least_time(step, given, memory, a + b) >= least {
                continue;
            }
            let time = self.time(step, cost);
            if time < least {
                (least, best) = (time, *step);
            }
        }
        Some(Choice { step: best, reason: Reason::Predicted(least) })
    }

    /// All that suit, the fastest first.
    fn ranked(&self, suits: impl Fn(&Step) -> bool) -> Vec<&'static Step> {
        let suiting = self.table.costs.iter().filter(|(step, _)| suits(step));
        let mut timed: Vec<_> = suiting.map(|(step, cost)| (*step, self.time(step, cost))).collect();
        timed.sort_by(|(_, one), (_, other)| one.total_cmp(other));
        timed.into_iter().map(|(step, _)| step).collect()
    }
}

/// Whether a device runs it, and its module is built in.
fn is_usable(device: &Device, step: &Step) -> bool {
    device.runs(step) && modules::built_in(step.target).is_ok()
}

#[cfg(test)]
mod tests;
