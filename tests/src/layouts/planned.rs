//! Splits of k that the plan makes: clusters of every size, and planes of several clusters, of one problem and of a batch.

use gpu_kernels::{Schedule, Splits, Step};

use super::{Case, Executor, cases, check_in_its_types};

/// Checks a step of [`Schedule::PlannedSplitK`] on problems of every number of splits.
///
/// # Errors
/// The first case that fails, and how.
pub fn run(step: &'static Step, executor: &impl Executor) -> Result<(), String> {
    let Schedule::PlannedSplitK { least_k, .. } = step.schedule else { return Err("its splits are fixed".into()) };
    let tile = step.tile;
    // The last k-tile is not complete, and splits differ in their number of k-tiles.
    let k_of = |splits: u32| splits * least_k + tile.bk + 3;
    let clusters = (1..=Splits::MAX_CLUSTER).map(|cluster| (Splits { cluster, planes: 1 }, k_of(cluster) - tile.bk));
    let planes =
        [2, 3].map(|planes| (Splits { cluster: Splits::MAX_CLUSTER, planes }, k_of(planes * 4 * Splits::MAX_CLUSTER)));
    for (number, (splits, k)) in clusters.chain(planes).enumerate() {
        let batches: &[usize] = if splits.planes == 1 { &[1, 3] } else { &[1] };
        for &batch in batches {
            let sizes = [(tile.bm - 1).max(1), (tile.bn / 2 + number as u32).clamp(1, tile.bn), k];
            let [m, n, k] = sizes;
            let planned = step.splits(m, n, k, batch as u32, executor.sm_count());
            if planned != splits {
                return Err(format!("{sizes:?}, {batch} problems: {planned:?} instead of {splits:?}"));
            }
            // Any order and epilogue; D apart has one problem per launch.
            let case = cases(number)[(number * 3 + batch) % 8];
            let apart = [Some(0), Some(7)];
            let case = Case { batch: (batch, apart), d_by_columns: None, are_scalars_on_device: false, ..case };
            check_in_its_types(step, sizes, case, executor)?;
        }
    }
    Ok(())
}
