//! Splits of k that the plan makes: clusters of every size, and planes of several clusters, of one problem and of a batch.

use gpu_kernels::{Splits, Step};

use super::{Case, Executor, cases, check_in_its_types};

/// Checks a step of [`Schedule::PlannedSplitK`](gpu_kernels::Schedule::PlannedSplitK) on problems of every number of splits.
///
/// # Errors
/// The first case that fails, and how.
pub fn run(step: &'static Step, executor: &impl Executor) -> Result<(), String> {
    let (tile, sm_count) = (step.tile, executor.sm_count());
    let [m, n] = [(tile.bm - 1).max(1), (tile.bn / 2).clamp(1, tile.bn)];
    // The last k-tile is not complete, and splits differ in their number of k-tiles.
    let mut found: Vec<(Splits, u32)> = Vec::new();
    for k in (0..1 << 20).step_by(tile.bk as usize).map(|whole| whole + tile.bk / 2 + 1) {
        let splits = step.splits(m, n, k, 1, sm_count);
        if found.iter().all(|&(other, _)| other != splits) {
            found.push((splits, k));
        }
        if splits.planes > 1 {
            break;
        }
    }
    let is_enough = found.iter().any(|(splits, _)| *splits == Splits { cluster: Splits::MAX_CLUSTER, planes: 1 })
        && found.iter().any(|(splits, _)| splits.planes > 1);
    if !is_enough {
        return Err(format!("clusters and planes that no k has: {found:?}"));
    }
    for (number, (splits, k)) in found.into_iter().enumerate() {
        let batches: &[usize] = if splits.planes == 1 { &[1, 3] } else { &[1] };
        for &batch in batches {
            let sizes = [m, n, k];
            // Any order and epilogue; D apart has one problem per launch.
            let case = cases(number)[(number * 3 + batch) % 8];
            let apart = [Some(0), Some(7)];
            let case = Case { batch: (batch, apart), d_by_columns: None, are_scalars_on_device: false, ..case };
            check_in_its_types(step, sizes, case, executor)?;
        }
    }
    Ok(())
}
