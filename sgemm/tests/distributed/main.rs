//! Products over several ranks, on emulated devices: exact results against f64 for any grid, the bits of one device, the order of tasks,
//! and what becomes of a run where a rank fails.

#![cfg(all(feature = "distributed", feature = "emulator", feature = "f16"))]

mod case;
mod order;

use std::sync::LazyLock;

use case::{Numbers, cases};
use half::{bf16, f16};
use proptest::prelude::*;
use sgemm::distributed::{Blocks, Cluster, Fault, Grid, Plan, Scheme, Work};
use sgemm::emulator::{Arguments, Emulator};
use sgemm::{AccuracyClass, Determinism, Element, Error, Problem};

static EMULATOR: LazyLock<Emulator> = LazyLock::new(|| Emulator::of("h200").expect("it is known"));

fn plans(problem: &Problem, scheme: &Scheme) -> Result<Vec<Plan>, Error> {
    (0..scheme.grid.ranks()).map(|rank| Plan::new(problem, scheme, rank, EMULATOR.device())).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    /// No two tasks touch the same memory at the same time, unless both read; and none goes beyond what is reserved.
    #[test]
    fn tasks_that_share_memory_are_ordered(case in cases(90, 6)) {
        let rank = case.seed as usize % case.scheme.grid.ranks();
        let plan = Plan::with_leading_dimensions(&case.problem(), &case.scheme, rank, EMULATOR.device(), case.leading(rank)).unwrap();
        order::check(&plan)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    /// Small integers, whose products and sums are exact in every arithmetic.
    #[test]
    fn any_grid_gives_the_product(case in cases(40, 3)) {
        match case.class.input() {
            Element::F32 => case.run::<f32, f32>(&EMULATOR)?,
            Element::F16 => case.run::<f16, f16>(&EMULATOR)?,
            Element::Bf16 => case.run::<bf16, bf16>(&EMULATOR)?,
        }
    }

    /// With all of k in each product, a rank's elements have the bits of one device's.
    #[test]
    fn the_bits_are_those_of_one_device(
        [m, n, k] in [1_usize..60, 1_usize..60, 1_usize..90],
        [rows, columns] in prop::array::uniform2(1_usize..4),
        block in 1_usize..20,
        is_cyclic: bool,
        class in prop::sample::select(vec![AccuracyClass::Fp32Strict, AccuracyClass::Fp32, AccuracyClass::Tf32]),
        seed: u64,
    ) {
        let problem = Problem::new(m, n, k).with_accuracy(class).with_determinism(Determinism::PerElement);
        let grid = Grid { rows, columns, layers: 1 };
        let scheme = if is_cyclic { Scheme::block_cyclic(rows, columns, block) } else { Scheme::panels([m, n, k], grid) };
        let numbers = Numbers::reals(&problem, seed);
        let mut expected = vec![0.0_f32; m * n];
        let plan = EMULATOR.plan(&problem, u64::MAX).unwrap();
        EMULATOR.run(&plan, Arguments::new(1.5, &numbers.a, &numbers.b, 0.0, &mut expected)).unwrap();
        let plans = plans(&problem, &scheme).unwrap();
        let [a, b, mut c] = numbers.shares(&scheme, &problem);
        Cluster::new(&EMULATOR, seed).run(&plans, 1.5, &a, &b, 0.0, &mut c).unwrap();
        for (rank, c) in c.iter().enumerate() {
            let [local_rows, local_columns] = scheme.share(&problem, rank).c;
            for (i, j) in (0..local_rows).flat_map(|i| (0..local_columns).map(move |j| (i, j))) {
                let [row, column] = scheme.global_c(&problem, rank, [i, j]);
                prop_assert_eq!(c[i * local_columns + j].to_bits(), expected[row * n + column].to_bits());
            }
        }
    }
}

/// Three ranks, and two gathers of B for each.
fn small() -> (Problem, Scheme, Numbers) {
    let problem = Problem::new(20, 24, 18);
    let scheme = Scheme { blocks: Blocks { m: 7, n: 24, k: 6 }, ..Scheme::row_panels(problem.sizes(), 3) };
    (problem, scheme.with_chunks(sgemm::distributed::Chunks { m: 1, n: 3 }), Numbers::reals(&problem, 5))
}

#[test]
fn whichever_rank_dies_is_named_by_those_that_wait() {
    let (problem, scheme, numbers) = small();
    let plans = plans(&problem, &scheme).unwrap();
    let [a, b, c] = numbers.shares(&scheme, &problem);
    for rank in 0..3 {
        for (task, what) in plans[rank].tasks().iter().enumerate() {
            let cluster = Cluster::new(&EMULATOR, 1).with_fault(Fault::Dies { rank, task });
            let error = cluster.run(&plans, 1.0, &a, &b, 0.0, &mut c.clone()).unwrap_err();
            let Error::Collective { rank: waiting, reason, .. } = &error else { panic!("{error}") };
            // After the last gather, nobody waits for it.
            let is_waited_for =
                plans[rank].tasks()[task..].iter().any(|task| matches!(task.work, Work::AllGather { .. }));
            if is_waited_for {
                assert!(*waiting != rank && *reason == format!("rank {rank} did not come"), "{what}: {error}");
            } else {
                assert_eq!((*waiting, reason.as_str()), (rank, "it did not end"), "{what}");
            }
        }
    }
}

#[test]
fn a_slow_rank_changes_no_bit() {
    let (problem, scheme, numbers) = small();
    let plans = plans(&problem, &scheme).unwrap();
    let [a, b, c] = numbers.shares(&scheme, &problem);
    let run = |cluster: Cluster<'_>| {
        let mut c = c.clone();
        let spans = cluster.run(&plans, 1.0, &a, &b, 0.0, &mut c).unwrap();
        (c, spans.last().unwrap().end_us)
    };
    let (expected, time) = run(Cluster::new(&EMULATOR, 1));
    for rank in 0..3 {
        let (c, slower) = run(Cluster::new(&EMULATOR, 2).with_fault(Fault::Slow { rank, factor: 50.0 }));
        assert!(c == expected && slower > 10.0 * time);
    }
}

#[test]
fn what_ranks_were_given_must_agree() {
    let (problem, scheme, numbers) = small();
    let mut plans = plans(&problem, &scheme).unwrap();
    let [a, b, mut c] = numbers.shares(&scheme, &problem);
    let cluster = Cluster::new(&EMULATOR, 1);
    plans[2] = Plan::new(&Problem::new(20, 25, 18), &scheme, 2, EMULATOR.device()).unwrap();
    let error = cluster.run(&plans, 1.0, &a, &b, 0.0, &mut c).unwrap_err();
    assert_eq!(error.to_string(), "rank 2 was given n = 25, rank 0 24: they must be the same");
    let error = cluster.run(&plans[..2], 1.0, &a, &b, 0.0, &mut c).unwrap_err();
    assert_eq!(error, Error::Ranks { ranks: 3, given: 2 });
    plans[2] = Plan::new(&problem, &scheme, 2, EMULATOR.device()).unwrap();
    let short = [a[0].as_slice(), &a[1], &a[2][1..]];
    let error = cluster.run(&plans, 1.0, &short, &b, 0.0, &mut c).unwrap_err();
    assert_eq!(error, Error::ShortBuffer { operand: "A", elements: 6 * 18 - 1, least: 6 * 18 });
}

#[test]
fn what_one_device_alone_can_do_is_refused() {
    let scheme = Scheme::row_panels([4, 4, 4], 2);
    let plan = |problem: Problem, rank| Plan::new(&problem, &scheme, rank, EMULATOR.device()).unwrap_err().to_string();
    let problem = Problem::new(4, 4, 4);
    assert_eq!(plan(problem, 2), "rank 2: the grid has ranks 0 to 1");
    let batch = problem.with_batch(2, [16, 16, 16]);
    assert_eq!(plan(batch, 0), "a batch cannot be distributed: multiply on one device, or in parts");
    let layers = Scheme::panels([4, 4, 4], Grid { rows: 1, columns: 1, layers: 2 });
    let per_element = problem.with_determinism(Determinism::PerElement);
    let error = Plan::new(&per_element, &layers, 0, EMULATOR.device()).unwrap_err();
    assert!(matches!(error, Error::NotDistributed { .. }), "{error}");
}
