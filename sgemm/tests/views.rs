//! Random problems on random views of one buffer, against f64: alone and in groups.

#![cfg(all(feature = "emulator", feature = "sm80", feature = "sm90"))]

mod support;

use proptest::prelude::*;
use sgemm::emulator::{Arguments, Emulator};
use sgemm::plan::Plan;
use support::{Case, buffers, cases};

/// The arguments of a case, of views of two buffers.
fn arguments<'a>(case: &Case, buffer: &'a [f32], result: &'a mut [f32]) -> Arguments<'a, f32> {
    let [alpha, beta] = case.scalars;
    Arguments::new(alpha, &buffer[case.a.first..], &buffer[case.b.first..], beta, &mut result[case.c.first..])
}

fn plan(emulator: &Emulator, case: &Case) -> Plan {
    emulator.plan(&case.problem(), u64::MAX).expect("a kernel")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn products_of_views_are_those_of_f64(case in cases(40), buffer in buffers()) {
        let emulator = Emulator::of("h200").expect("it is known");
        let plan = plan(&emulator, &case);
        let mut result = buffer.clone();
        emulator.run(&plan, arguments(&case, &buffer, &mut result)).expect("a clean run");
        case.check(plan.step().slug, &buffer, &result)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    /// Problems of a group have sizes, layouts and classes of their own, and each twice, with matrices of its own.
    #[test]
    fn a_group_is_each_of_its_products(
        cases in prop::collection::vec(cases(24), 0..4),
        buffer in buffers(),
        other in buffers(),
    ) {
        let emulator = Emulator::of("h200").expect("it is known");
        let runs: Vec<_> = cases.iter().flat_map(|case| [(case, &buffer), (case, &other)]).collect();
        let plans: Vec<_> = runs.iter().map(|(case, _)| plan(&emulator, case)).collect();
        let mut results: Vec<_> = runs.iter().map(|(_, buffer)| buffer.to_vec()).collect();
        let given = runs.iter().zip(&mut results).map(|((case, buffer), result)| arguments(case, buffer, result));
        emulator.run_group(&plans, &mut given.collect::<Vec<_>>()).expect("clean runs");
        for (((case, buffer), plan), result) in runs.into_iter().zip(&plans).zip(&results) {
            case.check(plan.step().slug, buffer, result)?;
        }
    }
}
