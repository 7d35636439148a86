//! What is asked of a launch, wherever it runs.

use anyhow::{Context, Result, bail};
use gpu_kernels::{Schedule, Step};
use host::backend::Backend;
use host::measure::bench::{Timing, compare};
use host::{Kernel, Operands, Problem, Verifier};

use crate::contract;

/// The contract, and that a launch leaves the workspace as it was: the next one needs it so.
///
/// # Errors
/// What is not so.
pub fn keeps_the_contract(step: &'static Step, backend: &mut dyn Backend) -> Result<()> {
    let kernel = Kernel::Step(step);
    let problem = Problem::new(12, 401, 7)?.for_kernel(kernel)?;
    let fresh = Operands::random(&problem)?;
    backend.prepare(kernel)?;
    backend.upload(&fresh)?;
    for _ in 0..3 {
        backend.run(kernel, &problem)?;
    }
    // What the last one leaves is its own: it finds neither a result nor partial tiles.
    backend.restore(&fresh.c)?;
    backend.run(kernel, &problem)?;
    if let Some(fault) = Verifier::new(&problem, &fresh).verify(&backend.download()?, kernel.precision()).fault {
        bail!("after four launches: {fault}");
    }
    let failures = contract::failures(&contract::run(backend, step)?);
    match failures.first() {
        None => Ok(()),
        Some(first) => bail!("{} cases, the first of them: {first}", failures.len()),
    }
}

/// Runs it on a problem of many blocks, aligned and not, and times it: that is more than one launch.
///
/// # Errors
/// What is wrong with the result or its record.
pub fn is_verified(step: &'static Step, backend: &mut dyn Backend) -> Result<()> {
    for n in [1440, 1441] {
        let problem = Problem::new(27, n, 33)?.with_scalars(1.5, -0.5)?;
        let timing = Timing { warmup: 2, iterations: Some(3) };
        let comparison = compare(backend, &[Kernel::Step(step)], &problem, timing, &mut |_| ())?;
        if let Some(error) = comparison.failures.first() {
            bail!("{error}");
        }
        let row = comparison.rows.first().context("it did not run")?;
        let asks = step.maps.is_some() || step.schedule != Schedule::DataParallel || !step.prepasses.is_empty();
        let (is_sample, workspace_bytes) = (row.sampled_blocks.is_some(), row.workspace_bytes);
        if row.modelled != is_sample || workspace_bytes.is_none_or(|bytes| bytes > 0 && !asks) {
            bail!("{row:?}");
        }
    }
    Ok(())
}
