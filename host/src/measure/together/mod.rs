//! Verifies and times one product over several ranks, and the same on one GPU alone.

mod ran;
mod row;
mod scheme;
mod timeline;

use gpu_kernels::Precision;
use sgemm::distributed::{Chunks, Plan, Scheme, Span, Work};

pub use ran::{Ran, gather};
pub use row::{efficiency, row};
pub use scheme::{Wanted, name};
pub use timeline::timeline;

use super::measurement::{Samples, Timing, automatic_iterations};
use crate::backend::{Conditions, Ranks};
use crate::verify::distributed::{Check, Combine, Drawn, Part, alone, check};
use crate::verify::memory;
use crate::{AccuracyClass, Error, Matrix, Operands, Problem};

/// A product to be measured.
#[derive(Debug, Clone, Copy)]
pub struct Job {
    /// The problem, of the elements that the class takes.
    pub problem: Problem,
    /// What the kernels must meet.
    pub class: AccuracyClass,
    /// How it is distributed.
    pub scheme: Scheme,
    /// How it is timed.
    pub timing: Timing,
}

/// What came of it.
#[derive(Debug, Clone)]
pub struct Measured {
    /// The job.
    pub job: Job,
    /// How long runs took: each as long as its slowest rank.
    pub samples: Samples,
    /// Whether the last run's result is right.
    pub check: Check,
    /// Clocks and power right after the timed runs, of this process's first device.
    pub conditions: Option<Conditions>,
    /// The plans of the ranks of this process.
    pub plans: Vec<Plan>,
    /// When their tasks ran, in the last run.
    pub spans: Vec<Span>,
}

/// Verifies and times a product. All processes call it with the same job; where its scheme has one rank and there are more, only the one
/// that has rank 0.
///
/// Each run begins when all ranks are ready, and takes as long as the slowest. Before the last one, C is what it was before the first:
/// NaN where beta is 0. It is the last one whose result is verified.
///
/// ```
/// use host::backend::emulator::{EmulatedRanks, MODELS};
/// use host::measure::bench::Timing;
/// use host::measure::together::{Job, measure};
/// use host::{AccuracyClass, Problem};
/// use sgemm::distributed::Scheme;
///
/// let problem = Problem::new(40, 30, 20)?.with_seed(1);
/// let scheme = Scheme::row_panels([40, 30, 20], 3);
/// let timing = Timing { warmup: 0, iterations: None };
/// let job = Job { problem, class: AccuracyClass::Fp32, scheme, timing };
/// let mut ranks = EmulatedRanks::new(&MODELS[0], 3, 1);
/// let measured = measure(&mut ranks, &job)?;
/// assert_eq!(measured.check.fault, None);
/// assert!(measured.check.rel_error < 1e-6 && measured.samples.median() > 0.0);
/// # Ok::<(), host::Error>(())
/// ```
///
/// # Errors
/// [`Error::OutOfHostMemory`]; those of [`Ranks`].
pub fn measure(ranks: &mut dyn Ranks, job: &Job) -> Result<Measured, Error> {
    let Job { problem, class, scheme, timing } = *job;
    let is_alone = scheme.grid.ranks() < ranks.count();
    let local = job.local();
    let plans = ranks.place(&local, &scheme)?.to_vec();
    let drawn = Drawn::new(&problem);
    let parts: Vec<_> = plans.iter().map(|plan| Part::new(&scheme, &local, plan.rank())).collect();
    check_host_memory(&parts)?;
    let fresh = parts.iter().map(|part| drawn.operands(part)).collect::<Result<Vec<_>, _>>()?;
    ranks.upload(&fresh)?;

    let run = |ranks: &mut dyn Ranks| {
        if !is_alone {
            ranks.combine(Combine::Max, &mut [0.0])?;
        }
        let mut time_ms = [ranks.run(problem.alpha, problem.beta)?];
        if !is_alone {
            ranks.combine(Combine::Max, &mut time_ms)?;
        }
        Ok::<_, Error>(time_ms[0] as f32)
    };
    let mut times = Vec::new();
    if !ranks.is_modelled() {
        (0..timing.warmup).try_for_each(|_| run(ranks).map(drop))?;
        let iterations = match timing.iterations {
            Some(iterations) => iterations,
            None => automatic_iterations(run(ranks)?),
        };
        for _ in 1..iterations {
            times.push(run(ranks)?);
        }
        ranks.upload_c(&fresh.iter().map(|operands| &operands.c).collect::<Vec<&Matrix>>())?;
    }
    times.push(run(ranks)?);
    let (conditions, spans) = (ranks.conditions(), ranks.spans()?);
    let results = ranks.download()?;
    ranks.clear();
    let matrices: [&[Operands]; 2] = [&fresh, &results];
    let check = if is_alone {
        check(&drawn, class, &parts, matrices, &mut alone)
    } else {
        check(&drawn, class, &parts, matrices, &mut |how, values| ranks.combine(how, values))
    }?;
    Ok(Measured { job: *job, samples: Samples::new(&times), check, conditions, plans, spans })
}

/// The library's problem, in that class.
#[must_use]
pub fn of_class(problem: &Problem, class: AccuracyClass) -> sgemm::Problem {
    sgemm::Problem::from(problem.gemm).with_accuracy(class)
}

/// Fails where the host has no room for the matrices of these ranks twice: as they were drawn, and as a run left them.
fn check_host_memory(parts: &[Part]) -> Result<(), Error> {
    let elements = |[rows, columns]: &[Vec<usize>; 2]| rows.len() as u64 * columns.len() as u64;
    let all: u64 = parts.iter().map(|part| elements(&part.a) + elements(&part.b) + elements(&part.c)).sum();
    let (needed, available) = (all.saturating_mul(2 * size_of::<f32>() as u64), memory::available());
    if needed > available { Err(Error::OutOfHostMemory { needed, available }) } else { Ok(()) }
}

impl Job {
    /// The library's problem.
    #[must_use]
    pub fn local(&self) -> sgemm::Problem {
        of_class(&self.problem, self.class)
    }

    /// The same on one GPU.
    #[must_use]
    pub fn alone(self) -> Self {
        let scheme = Scheme::row_panels(self.local().sizes(), 1).with_chunks(Chunks { m: 1, n: 1 });
        Self { scheme, ..self }
    }
}

impl Measured {
    /// The kernel of the largest product of this process's first rank, and its arithmetic; `None` where there is no product.
    #[must_use]
    pub fn kernel(&self) -> Option<(&'static str, Precision)> {
        let plan = self.plans.first()?;
        let products = plan.tasks().iter().filter_map(|task| match &task.work {
            Work::Product(product) => plan.gemms().get(product.gemm),
            _ => None,
        });
        let largest = products.max_by(|one, other| one.problem().flops().total_cmp(&other.problem().flops()))?;
        Some((largest.step().slug, largest.step().precision))
    }

    /// The error where the result is wrong.
    #[must_use]
    pub fn failure(&self) -> Option<Error> {
        let sgemm::Product { m, n, k, .. } = self.job.problem.gemm;
        let fault = self.check.fault.clone()?;
        Some(Error::NotVerifiedTogether { ranks: self.job.scheme.grid.ranks(), m, n, k, fault })
    }
}
