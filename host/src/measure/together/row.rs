//! A product over several ranks as a record.

use super::{Measured, name};
use crate::backend::Ranks;
use crate::measure::rows::{Row, Timed};

/// The record of what this process, which has rank 0, measured. `alone` is the same on one GPU, where that was measured.
#[must_use]
pub fn row(ranks: &dyn Ranks, measured: &Measured, alone: Option<&Measured>) -> Row {
    let Measured { job, samples, check, conditions, plans, .. } = measured;
    let (kernel, precision) = measured.kernel().unwrap_or(("none", job.class.precisions()[0]));
    let timed = Timed {
        backend: ranks.name(),
        device: ranks.device(),
        is_modelled: ranks.is_modelled(),
        problem: &job.problem,
        timing: job.timing,
        samples,
        conditions: *conditions,
    };
    let row = timed.row(kernel, precision);
    let count = job.scheme.grid.ranks();
    Row {
        l2: if ranks.is_modelled() { row.l2 } else { "as the run before left it".to_owned() },
        percent_of_peak: row.percent_of_peak.map(|percent| percent / count as f64),
        gpus: Some(count),
        scheme: Some(name(&job.scheme, job.local().sizes())),
        efficiency: alone.map(|alone| efficiency(measured, alone)),
        rel_error: check.rel_error,
        max_scaled_error: check.max_scaled_error,
        workspace_bytes: plans.first().map(sgemm::distributed::Plan::workspace_bytes),
        verified: check.fault.is_none(),
        ..row
    }
}

/// The speed of all GPUs as a share of that of as many GPUs, each of which were as fast as one alone.
#[must_use]
pub fn efficiency(measured: &Measured, alone: &Measured) -> f64 {
    let count = measured.job.scheme.grid.ranks() as f64;
    alone.samples.median() / (count * measured.samples.median())
}
