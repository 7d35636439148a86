//! Splits of k that the plan makes: clusters of every size, and planes of several clusters, of one problem and of a batch; and groups of
//! blocks that share k-tiles.

use gpu_kernels::{Group, Precision, Splits, Step};
use sgemm::plan::Plan;

use super::{Case, Executor, Number, Operands, cases, check_in_its_types};

/// Checks a step of [`Schedule::PlannedSplitK`](gpu_kernels::Schedule::PlannedSplitK) on problems of every number of splits.
///
/// # Errors
/// The first case that fails, and how.
pub fn run(step: &'static Step, executor: &impl Executor) -> Result<(), String> {
    let (tile, sm_count) = (step.tile, executor.sm_count());
    // A row of the tile that is stored by single elements has some in each of its vectors.
    let [m, n] = [(tile.bm - 1).max(1), (tile.bn / 2 + 5).min(tile.bn)];
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
    if step.multicasts {
        // The elements of 16 bits have one code.
        if step.precision != Precision::Bf16 {
            run_long(step, executor)?;
        }
        run_groups(step, executor)?;
    }
    Ok(())
}

/// Plans for one SM, on which k is hardly split.
struct OfOneSm<'a, E>(&'a E);

impl<E: Executor> Executor for OfOneSm<'_, E> {
    fn sm_count(&self) -> u32 {
        1
    }

    fn seed(&self) -> u64 {
        self.0.seed()
    }

    fn run<I: Number, O: Number>(&self, plan: Plan, operands: Operands<'_, I, O>) -> Result<(), String> {
        self.0.run(plan, operands)
    }
}

/// Checks a step on a C that ends in its only tile, with so long a k that no more than that is loaded: of rows, and of panels.
fn run_long(step: &'static Step, executor: &impl Executor) -> Result<(), String> {
    let [m, n] = [step.tile.bm / 2 - 3, step.tile.bn / 4 + 1];
    let executor = OfOneSm(executor);
    let is_long = |&k: &u32| step.splits(m, n, k, 1, executor.sm_count()).have_long_k(k);
    let k = (1..1 << 20).step_by(step.tile.bk as usize).find(is_long).ok_or("no k is long")?;
    for by_columns in [false, true] {
        let case = cases(0)[0];
        let case = Case { by_columns: [by_columns, by_columns, false], batch: (1, [Some(0); 2]), ..case };
        let case = Case { d_by_columns: None, are_scalars_on_device: false, ..case };
        check_in_its_types(step, [m, n, k], case, &executor)?;
    }
    Ok(())
}

/// Checks a step whose blocks share k-tiles in groups of every shape, with and without splits.
fn run_groups(step: &'static Step, executor: &impl Executor) -> Result<(), String> {
    let tile = step.tile;
    let mut found: Vec<(Group, bool)> = Vec::new();
    for (rows, columns) in [(1, 2), (2, 1), (2, 2), (1, 4), (4, 1), (3, 3)] {
        for k_tiles in [3, 8, 12, 16, 24, 48, 96] {
            // Rows of 16 bytes and more, which do not end with a cache line; the last tiles are not full.
            let [m, n, k] = [rows * tile.bm - 8, columns * tile.bn - 8, k_tiles * tile.bk - 8];
            let splits = step.splits(m, n, k, 1, executor.sm_count());
            let group = step.group(m, n, 1, splits, executor.sm_count());
            if group == Group::ALONE || found.contains(&(group, splits.cluster > 1)) {
                continue;
            }
            found.push((group, splits.cluster > 1));
            let number = found.len();
            let scalars = if number.is_multiple_of(2) { [1.0, 0.0] } else { [2.0, -0.5] };
            let case =
                Case { batch: (1, [Some(0); 2]), scalars, gap: 0, is_unaligned: false, ..cases(number)[number % 8] };
            let case = Case { d_by_columns: None, are_scalars_on_device: false, ..case };
            check_in_its_types(step, [m, n, k], case, executor)?;
        }
    }
    let has = |of: fn(Group) -> u32| found.iter().any(|&(group, _)| of(group) > 1);
    if has(|group| group.columns) && has(|group| group.rows) && found.iter().any(|&(_, is_split)| is_split) {
        Ok(())
    } else {
        Err(format!("groups that no problem has: {found:?}"))
    }
}
