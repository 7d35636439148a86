//! The names that `--kernel` takes.

use gpu_kernels::STEPS;

use crate::backend::BASELINES;
use crate::measure::kernels::GROUPS;
use crate::{Error, output};

/// Prints each name with what it stands for: the name first, so that scripts can cut it out.
pub fn list() -> Result<u8, Error> {
    let steps = STEPS.iter().map(|step| (step.slug, step.summary));
    let baselines = BASELINES.iter().map(|baseline| (baseline.name, baseline.summary));
    let names: Vec<_> = steps.chain(baselines).chain(GROUPS).collect();
    let width = names.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let lines: String = names.iter().map(|(name, summary)| format!("{name:width$}  {summary}\n")).collect();
    output::print(&lines)?;
    Ok(0)
}
