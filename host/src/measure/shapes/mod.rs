//! Shapes in bulk: what the library chooses for each, beside cuBLAS, in time and in how much faster another kernel would be.

mod check;
pub(crate) mod random;
mod regret;
mod rounds;
mod set;

use results::SCHEMA;
pub use results::ShapeTiming;
use sgemm::plan::{Bindings, Buffers, Plan};
use sgemm::select;

use self::check::Products;
use self::regret::{Regret, regret};
use self::rounds::alternate;
pub use self::set::Set;
use crate::backend::cuda::Sequences;
use crate::backend::ptx::toolchain;
use crate::backend::{Case, Device, Kernel, Rotation, now};
use crate::measure::tables::Table;
use crate::verify::{Numbers, Verification};
use crate::{AccuracyClass, Baseline, Error};

/// Rounds of plain calls, whose median counts.
const CALL_ROUNDS: u32 = 3;

/// What is measured of each case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wanted {
    /// The accuracy class.
    pub class: AccuracyClass,
    /// Whether all kernels of the class are timed, to see what choosing another one would gain.
    pub regret: bool,
}

/// Draws what the operands of the cases are cut out of, and copies it to the device.
///
/// # Errors
/// [`Error::OutOfMemory`] and [`Error::OutOfHostMemory`].
pub fn supply(sequences: &mut Sequences, cases: &[Case], class: AccuracyClass) -> Result<Numbers, Error> {
    let numbers = Numbers::new(class.input(), sequences.numbers_needed(cases, class.input()))?;
    sequences.supply(&numbers)?;
    Ok(numbers)
}

/// Verifies and times what the library chooses for a case, beside cuBLAS, on operands cut out of the numbers that were supplied.
///
/// # Errors
/// [`Error::NotVerified`] where the result is wrong; what the library says where it has no kernel for the case; what the device says;
/// [`Error::Interrupted`].
pub fn measure(
    sequences: &mut Sequences,
    numbers: &Numbers,
    set: &Set,
    case: &Case,
    wanted: Wanted,
) -> Result<ShapeTiming, Error> {
    let Wanted { class, .. } = wanted;
    let device = sequences.device().clone();
    let gpu = device.gpu();
    let plan = select::plan(Table::of(&gpu), &gpu, &case.problem(class), u64::MAX)?;
    let (step, launches, workspace_bytes) = (plan.step(), launches(&plan), plan.workspace_bytes());
    let baseline = Baseline::of_class(class);
    sequences.place(case)?;
    let sides = [sequences.add_step(plan)?, sequences.add_cublas(baseline)];

    let products = Products::new(case, numbers)?;
    let check = products.check();
    verified(case, Kernel::Step(step), &check.verify(&sequences.run(sides[0])?, step.precision)?)?;

    let first = [sequences.time_once(sides[0])?, sequences.time_once(sides[1])?];
    let rotation = Rotation::new(first[0].min(first[1]), launches, sequences.copy_bytes()?, device.l2_bytes);
    sequences.record(&sides, rotation)?;
    let round_ms = f64::from(rotation.products) * (first[0] + first[1]);
    let rounds = alternate(round_ms, |rounds| Ok(pairs(sequences.time_graphs(&sides, rotation, rounds)?)))?;
    let conditions = sequences.conditions();
    // What was timed, once more.
    let verification = check.verify(&sequences.run_recorded(sides[0])?, step.precision)?;
    verified(case, Kernel::Step(step), &verification)?;
    let of_cublas = check.verify(&sequences.run_recorded(sides[1])?, baseline.precision)?;
    let calls = sequences.time_calls(&sides, rotation, CALL_ROUNDS)?;
    let calls = [0, 1].map(|side| median(calls.iter().map(|round| round[side])));
    let regret = if wanted.regret {
        Some(regret(sequences, &check, case, class, (sides[0], step, first[0]), rotation)?)
    } else {
        None
    };

    let [time_ms, cublas_ms] = rounds.means();
    let [m, n, k] = case.sizes;
    let [op_a, op_b] = case.ops.map(|op| op.name().to_owned());
    let Device { compute_capability: (major, minor), sm_count, max_clock_mhz, driver, cuda, cublas, name, .. } = device;
    Ok(ShapeTiming {
        schema: SCHEMA,
        set: set.name.clone(),
        class: class.name().to_owned(),
        m,
        n,
        k,
        op_a,
        op_b,
        order: case.order.name().to_owned(),
        batch: case.batch,
        count: case.count,
        kernel: step.slug.to_owned(),
        baseline: baseline.name.to_owned(),
        launches,
        workspace_bytes,
        time_ms,
        cublas_ms,
        ratio: rounds.ratio(),
        ratio_error: rounds.error(),
        rounds: rounds.count(),
        settled: rounds.are_settled(),
        products: rotation.products,
        copies: rotation.copies,
        l2: rotation.l2().to_owned(),
        calls_ms: calls[0],
        cublas_calls_ms: calls[1],
        calls_ratio: calls[1] / calls[0],
        best_kernel: regret.as_ref().map(|Regret { best, .. }| best.slug.to_owned()),
        regret: regret.as_ref().map(|Regret { factor, .. }| *factor),
        kernels: regret.map_or_else(Vec::new, |Regret { times, .. }| times),
        rel_error: verification.rel_error,
        verified: verification.passed(),
        cublas_verified: of_cublas.passed(),
        device: name,
        compute_capability: format!("{major}.{minor}"),
        sm_count,
        max_sm_clock_mhz: max_clock_mhz,
        driver,
        cuda,
        cublas,
        cublas_math: baseline.math.to_owned(),
        sm_clock_mhz: conditions.map(|conditions| conditions.sm_clock_mhz),
        power_w: conditions.map(|conditions| conditions.power_w),
        date: now(),
        commit: env!("HOST_COMMIT").to_owned(),
        toolchain: Some(toolchain()),
    })
}

/// Fails where a kernel's result is wrong.
fn verified(case: &Case, kernel: Kernel, verification: &Verification) -> Result<(), Error> {
    let [m, n, k] = case.sizes;
    let wrong = |fault| Error::NotVerified { kernel: kernel.name(), m, n, k, fault };
    verification.fault.map_or(Ok(()), |fault| Err(wrong(fault)))
}

/// Launches of a product, all of its batch.
fn launches(plan: &Plan) -> usize {
    let bindings = Bindings::new(Buffers::default(), 1.0, 0.0);
    (0..plan.rounds()).map(|index| plan.needed(index, &bindings).count()).sum()
}

fn pairs(rounds: Vec<Vec<f64>>) -> Vec<[f64; 2]> {
    rounds.into_iter().map(|round| [round[0], round[1]]).collect()
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut sorted: Vec<f64> = values.collect();
    sorted.sort_by(f64::total_cmp);
    results::quantile(&sorted, 0.5)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::Op;

    #[test]
    fn launches_of_a_batch_are_those_that_each_product_has() {
        let plain = Plan::new(&gpu_kernels::STEPS[0], &Case::new([40, 50, 60]).problem(AccuracyClass::Fp32Strict), 3);
        assert_eq!(launches(&plain.unwrap()), 1);
        let case = Case { batch: 5, ops: [Op::T, Op::N], ..Case::new([40, 50, 60]) };
        let plan = Plan::new(&gpu_kernels::STEPS[0], &case.problem(AccuracyClass::Fp32Strict), 3).unwrap();
        assert_eq!(launches(&plan), 10, "each has its own A, which is transposed");
    }

    #[test]
    fn every_class_has_a_plan_for_every_layout() {
        let device = crate::backend::Device::of_capability((9, 0)).gpu();
        for class in AccuracyClass::ALL {
            for ops in [[Op::N, Op::N], [Op::T, Op::N], [Op::N, Op::T], [Op::T, Op::T]] {
                let case = Case { ops, order: crate::backend::Order::Column, batch: 2, ..Case::new([33, 1, 77]) };
                let plan = select::plan(Table::of(&device), &device, &case.problem(class), u64::MAX).unwrap();
                assert!(class.admits(plan.step().precision));
            }
        }
    }
}
