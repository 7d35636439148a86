//! What all ranks do together: each problem is measured, and on one GPU alone; the process that has rank 0 says what came of it.

use crate::backend::Ranks;
use crate::cli::commands::complain;
use crate::cli::request::{RunRequest, Together};
use crate::measure::together::{self, Job, Measured, gather, row};
use crate::output::{self, Records};
use crate::verify::distributed::Combine;
use crate::{Error, Problem};

/// Measures each problem. Returns the exit code.
pub fn run(ranks: &mut dyn Ranks, request: &RunRequest, together: &Together) -> Result<u8, Error> {
    let file = request.json.as_deref().filter(|_| ranks.has_first());
    let mut records = Records::open(request.format, file)?;
    let mut exit_code = 0;
    for job in jobs(ranks, request, together)? {
        let measured = together::measure(ranks, &job)?;
        let alone = alone(ranks, &job)?;
        let tasks =
            if together.timeline.is_some() { gather(ranks, &measured.plans, &measured.spans)? } else { Vec::new() };
        if !ranks.has_first() {
            // The process that has rank 0 says what is wrong, for all.
            continue;
        }
        let mut rows = vec![row(ranks, &measured, alone.as_ref())];
        rows.extend(alone.as_ref().map(|alone| row(ranks, alone, Some(alone))));
        records.write(&rows, |is_first| output::together(&rows, is_first))?;
        if let Some(path) = &together.timeline {
            let timeline = together::timeline(ranks, &job, measured.samples.iterations(), &tasks);
            output::draw_timeline(path, &timeline)?;
            records.add(timeline)?;
        }
        let failures = [measured.failure(), alone.and_then(|alone| alone.failure())];
        exit_code = complain(&failures.into_iter().flatten().collect::<Vec<_>>(), exit_code);
    }
    Ok(exit_code)
}

/// What is to be measured, with one seed on all ranks.
fn jobs(ranks: &mut dyn Ranks, request: &RunRequest, together: &Together) -> Result<Vec<Job>, Error> {
    // A launcher's processes may each have drawn their own.
    let mut seed = [if ranks.has_first() { request.problems.seed() as f64 } else { 0.0 }];
    ranks.combine(Combine::Sum, &mut seed)?;
    let problems = request.problems.on(ranks.is_modelled())?;
    let (class, timing) = (together.class, together.timing);
    let job = |problem: Problem| {
        let problem = problem.with_elements(class.input(), class.input())?.with_seed(seed[0] as u64);
        let scheme = together.wanted.scheme(&together::of_class(&problem, class), ranks)?;
        Ok(Job { problem, class, scheme, timing })
    };
    problems.into_iter().map(job).collect()
}

/// The same on the first rank's GPU alone, where it has room for it; the others wait.
fn alone(ranks: &mut dyn Ranks, job: &Job) -> Result<Option<Measured>, Error> {
    let measured = match ranks.has_first().then(|| together::measure(ranks, &job.alone())) {
        Some(Err(error @ (Error::OutOfMemory { .. } | Error::OutOfHostMemory { .. }))) => {
            output::complain(&format!("note: one GPU alone is not measured: {error}"));
            None
        }
        measured => measured.transpose()?,
    };
    ranks.combine(Combine::Max, &mut [0.0])?;
    Ok(measured)
}
