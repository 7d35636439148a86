//! The plan for a problem: that of the best kernel whose workspace is small enough.

use gpu_kernels::{Schedule, Step};

use super::fused::fused;
use super::rule::{blocks, fills};
use super::{Table, choose, is_usable, pinned};
use crate::plan::{Oriented, Plan};
use crate::problem::Determinism;
use crate::{Device, Error, Problem, Product, modules};

/// The plan of the kernel that suits problem and device best, of those in the problem's accuracy class that do with `limit` bytes
/// of workspace. `table` is what was measured on this device.
///
/// ```
/// use sgemm::select::{Table, plan};
/// use sgemm::{Device, Problem};
///
/// let device = Device::new("NVIDIA H200", (9, 0), 132);
/// let problem = Problem::new(4096, 4096, 4096);
/// let best = plan(Table::of(&device.name), &device, &problem, u64::MAX)?;
/// // The fastest kernel keeps partial tiles; without a workspace it is another.
/// let frugal = plan(Table::of(&device.name), &device, &problem, 0)?;
/// assert!(best.workspace_bytes() > 0 && frugal.workspace_bytes() == 0);
/// # Ok::<(), sgemm::Error>(())
/// ```
///
/// # Errors
/// Those of [`Problem::validate`]; [`Error::WorkspaceLimit`] where none does with so little; [`Error::Unsupported`] where the device
/// runs no kernel of that class; [`Error::NoModule`] where those that it runs are not built in.
pub fn plan(table: Option<&Table>, device: &Device, problem: &Problem, limit: u64) -> Result<Plan, Error> {
    problem.validate()?;
    let product = Oriented::new(problem)?.product(problem);
    let is_pinned = problem.determinism == Determinism::PerElement;
    let family = is_pinned.then(|| pinned::family(device, product.k, problem.class));
    let choose = if is_pinned { pinned::pinned } else { choose };
    let chosen = choose(table, device, &product, problem.class).map(|choice| choice.step);
    let chosen = chosen.filter(|step| is_usable(device, step));
    let in_fused = chosen.filter(|_| !is_pinned).and_then(|step| fused(table, device, &product, problem, step));
    let chosen = in_fused.map(|choice| choice.step).or(chosen);
    let is_in_family = |step: &Step| family.as_ref().is_none_or(|is_in| is_in(step));
    let meets = |step: &&'static Step| problem.class.admits(step.precision) && is_in_family(step);
    let mut others: Vec<_> = gpu_kernels::runnable().filter(meets).filter(|step| device.runs(step)).collect();
    others.sort_by_key(|step| std::cmp::Reverse(preference(step, &product, device)));
    let (others, left_out): (Vec<_>, Vec<_>) = others.into_iter().partition(|step| is_usable(device, step));
    let mut refused = None;
    for step in chosen.into_iter().chain(others) {
        match Plan::new(step, problem, device.sm_count) {
            Ok(plan) if plan.workspace_bytes() <= limit => return Ok(plan),
            Ok(plan) => {
                let least = refused.map_or(u64::MAX, |least| least).min(plan.workspace_bytes());
                refused = Some(least);
            }
            // It makes another C than is asked for; another one may do.
            Err(Error::Elements { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    if let Some(least) = refused {
        return Err(Error::WorkspaceLimit { limit, least });
    }
    let would_do = |step: &&'static Step| Plan::new(step, problem, device.sm_count).is_ok();
    let no_module = left_out.into_iter().find(would_do).and_then(|step| modules::built_in(step.target).err());
    let unsupported = || device.check_runs(gpu_kernels::runnable().find(meets)?).err();
    let no_output = Error::Output { input: problem.input, output: problem.output };
    Err(no_module.or_else(unsupported).unwrap_or(no_output))
}

/// Large where a step suits the problem: its precision is the fastest, its blocks fill the device, with large tiles, or there are
/// many; the ladder's last ones first.
fn preference(step: &Step, product: &Product, device: &Device) -> impl Ord + use<> {
    let fills = fills(step, product, device);
    let is_whole = step.schedule == Schedule::DataParallel || step.schedule == Schedule::Persistent;
    let area = u64::from(step.tile.bm.min(product.m)) * u64::from(step.tile.bn.min(product.n));
    let number = gpu_kernels::runnable().position(|other| other.slug == step.slug);
    (fills, is_whole, if fills { area } else { blocks(step, product) }, number)
}
