//! The plan for a problem: that of the best kernel whose workspace is small enough.

use gpu_kernels::Step;

use super::{Prediction, Table, choose, pinned};
use crate::plan::Plan;
use crate::problem::Determinism;
use crate::{Device, Error, Problem, modules};

/// The plan of the kernel that suits problem and device best, of those in the problem's accuracy class that do with `limit` bytes
/// of workspace.
///
/// ```
/// use sgemm::select::{Table, plan};
/// use sgemm::{Device, Problem};
///
/// let device = Device::new("NVIDIA H200", (9, 0), 132);
/// let problem = Problem::new(4096, 4096, 4096);
/// let best = plan(Table::of(&device), &device, &problem, u64::MAX)?;
/// // The fastest kernel keeps partial tiles; without a workspace it is another.
/// let frugal = plan(Table::of(&device), &device, &problem, 0)?;
/// assert!(best.workspace_bytes() > 0 && frugal.workspace_bytes() == 0);
/// # Ok::<(), sgemm::Error>(())
/// ```
///
/// # Errors
/// Those of [`Problem::validate`]; [`Error::WorkspaceLimit`] where none does with so little; [`Error::Unsupported`] where the device
/// runs no kernel of that class; [`Error::NoModule`] where those that it runs are not built in.
pub fn plan(table: &Table, device: &Device, problem: &Problem, limit: u64) -> Result<Plan, Error> {
    let is_pinned = problem.determinism == Determinism::PerElement;
    let chosen = if is_pinned { pinned(table, device, problem)? } else { choose(table, device, problem)? };
    let Some(chosen) = chosen else { return Err(none_suits(device, problem)) };
    let plan = Plan::new(chosen.step, problem, device.sm_count);
    match plan {
        Ok(plan) if plan.workspace_bytes() <= limit => return Ok(plan),
        // Another one may split operands differently, or not at all.
        Ok(_) | Err(Error::TooLarge { .. } | Error::TooManyBlocks { .. }) => {}
        Err(error) => return Err(error),
    }
    let prediction = Prediction::new(table, device, problem)?;
    let family = is_pinned.then(|| pinned::family(device, problem));
    let suits = |step: &Step| prediction.suits(step) && family.as_ref().is_none_or(|is_in| is_in(step));
    let (mut least, mut failed) = (None, None);
    for step in prediction.ranked(suits) {
        match Plan::new(step, problem, device.sm_count) {
            Ok(plan) if plan.workspace_bytes() <= limit => return Ok(plan),
            Ok(plan) => least = Some(least.map_or(u64::MAX, |least: u64| least).min(plan.workspace_bytes())),
            Err(error) => failed = Some(error),
        }
    }
    let over = least.map(|least| Error::WorkspaceLimit { limit, least });
    Err(over.or(failed).unwrap_or_else(|| none_suits(device, problem)))
}

/// Why no kernel suits.
fn none_suits(device: &Device, problem: &Problem) -> Error {
    let meets = |step: &&'static Step| problem.admits(step) && problem.can_use(step);
    let Some(one) = gpu_kernels::runnable().find(meets) else {
        return Error::Output { input: problem.input, output: problem.output };
    };
    let runs = gpu_kernels::runnable().filter(meets).find(|step| device.runs(step));
    let missing = runs.and_then(|step| modules::built_in(step.target).err());
    let unsupported = || device.check_runs(one).err();
    missing.or_else(unsupported).unwrap_or(Error::Output { input: problem.input, output: problem.output })
}
