//! Problems that are too large for the emulator's budget of time: a sample of blocks runs, and it is judged as strictly.

use std::collections::HashSet;
use std::time::Duration;

use gpu_kernels::{Element, Precision, STEPS, Schedule, Step, Tile};
use host::backend::emulator::{EmulatorBackend, MODELS};
use host::backend::{Backend, Kernel};
use host::measure::bench::{Comparison, Timing, compare};
use host::verify::{Coverage, Fault, verify_sample};
use host::{Error, Operands, Problem, PtxSource, output};

/// No time: what must run, runs all the same.
const NOTHING: Option<Duration> = Some(Duration::ZERO);

/// What must run of a grid that has all kinds: one block of each, and three at random.
const LEAST: u64 = 9 + 3;

fn emulator(ptx: PtxSource, budget: Option<Duration>) -> EmulatorBackend {
    EmulatorBackend::new(ptx, &MODELS[0], budget)
}

fn comparison(step: &'static Step, problem: &Problem, backend: &mut EmulatorBackend) -> Comparison {
    let timing = Timing { warmup: 2, iterations: None };
    compare(backend, &[Kernel::Step(step)], problem, timing, &mut |_| ()).unwrap()
}

/// The built-in module with the lines of the step's kernel changed or left out, as if out of a file.
fn changed(step: &Step, change: impl Fn(&str) -> Option<&str>) -> PtxSource {
    let text = PtxSource::BuiltIn.module(step).unwrap();
    let kernel = text.find(&format!(".entry {}(", step.kernel)).unwrap();
    let end = kernel + text[kernel..].find("\n}").unwrap();
    let lines: Vec<_> = text[kernel..end].lines().filter_map(change).collect();
    let text = text[..kernel].to_owned() + &lines.join("\n") + &text[end..];
    PtxSource::File { path: "changed.ptx".into(), text }
}

#[test]
fn every_class_of_blocks_runs_and_is_verified() {
    for step in STEPS {
        // Four clusters and a bit in each direction: three classes by three.
        let [along_n, along_m, _] = match (step.schedule, step.cluster) {
            // Adjacent blocks of the grid compute adjacent tiles of a column or row.
            (Schedule::Persistent { group }, _) => [group.columns, group.rows, 1],
            (_, cluster) => cluster,
        };
        let together: u64 = step.cluster.iter().map(|&blocks| u64::from(blocks)).product();
        let Tile { bm, bn, .. } = step.tile;
        let (m, n) = (4 * bm * along_m + bm.min(3), 4 * bn * along_n + bn.min(5));
        let problem = Problem::new(m, n, 75).unwrap().with_scalars(1.5, -0.5).unwrap();
        let mut backend = tests::emulator(step, PtxSource::BuiltIn, NOTHING);
        let comparison = comparison(step, &problem, &mut backend);
        assert!(comparison.failures.is_empty(), "{:?}", comparison.failures);
        let row = &comparison.rows[0];
        assert_eq!((row.verified, row.modelled, row.iterations, row.warmup), (true, true, 1, 0));
        let (sampled, all) = match (row.sampled_blocks, row.blocks) {
            // The plan says which blocks are a cluster, and how many beyond C complete it; so few may all be run.
            (sampled, Some(all)) if step.multicasts => (sampled.unwrap_or(all), all),
            of_row => {
                assert_eq!(of_row, (Some(LEAST * together), Some(25 * together)), "{}", step.slug);
                (LEAST * together, 25 * together)
            }
        };
        let most = match (step.precision, step.output) {
            (Precision::Tf32, _) | (_, Element::F16) => 1e-3,
            (_, Element::Bf16) => 1e-2,
            _ => 1e-6,
        };
        assert!(row.time_ms > 0.0 && row.rel_error < most, "{}: {}", step.slug, row.rel_error);
        assert!(sampled == all || output::table(&comparison).contains(&format!("{sampled} of {all}")));
        assert_eq!(backend.launches(step)[0].report.blocks_run, sampled);
    }
}

#[test]
fn stream_k_blocks_are_verified_without_those_after_them() {
    let step = gpu_kernels::find("stream-k").unwrap();
    // 140 tiles for 132 CTA slots, all of them stream-K tiles: a work unit is a tile and a bit.
    let problem = Problem::new(14 * step.tile.bm, 10 * step.tile.bn, 2 * step.tile.bk + 1).unwrap();
    let comparison = comparison(step, &problem, &mut emulator(PtxSource::BuiltIn, NOTHING));
    let row = &comparison.rows[0];
    assert_eq!((row.verified, row.sampled_blocks, row.blocks), (true, Some(8), Some(132)));
    assert!(comparison.failures.is_empty(), "{:?}", comparison.failures);
}

#[test]
fn a_full_run_counts_what_a_sample_estimates() {
    let step = gpu_kernels::find("2d-tiling").unwrap();
    let problem = Problem::new(1024, 1024, 64).unwrap();
    let counters = |budget| {
        let mut backend = emulator(PtxSource::BuiltIn, budget);
        let comparison = comparison(step, &problem, &mut backend);
        let row = &comparison.rows[0];
        assert_eq!(row.sampled_blocks, budget.map(|_| LEAST));
        assert_eq!((row.blocks, row.verified), (Some(64), true));
        let counters = backend.launches(step)[0].report.counters.clone();
        (counters, row.time_ms)
    };
    let (full, full_ms) = counters(None);
    let (estimate, estimated_ms) = counters(NOTHING);
    assert_eq!(full.thread_fmas, 1024 * 1024 * 64);
    assert_eq!((full.instructions, full_ms), (estimate.instructions, estimated_ms), "all blocks do the same here");
}

#[test]
fn enough_time_is_a_full_run() {
    let step = gpu_kernels::find("vectorized").unwrap();
    let problem = Problem::new(300, 400, 20).unwrap();
    let comparison = comparison(step, &problem, &mut emulator(PtxSource::BuiltIn, Some(Duration::from_secs(60))));
    assert_eq!((comparison.rows[0].sampled_blocks, comparison.rows[0].rows_checked), (None, 300));
}

#[test]
fn tall_problems_run_slab_by_slab() {
    let step = &STEPS[0];
    let m = 65_535 * step.tile.bm + 40;
    let problem = Problem::new(m, 1, 3).unwrap();
    let (fresh, mut backend) = (Operands::random(&problem).unwrap(), emulator(PtxSource::BuiltIn, NOTHING));
    backend.upload(&fresh).unwrap();
    let coverage = backend.run(Kernel::Step(step), &problem).unwrap();
    let Coverage::Sample { regions, blocks, .. } = coverage else { panic!("all blocks ran") };
    assert_eq!((blocks, backend.launches(step).len()), (u64::from(m.div_ceil(step.tile.bm)), 2));
    let last = regions.iter().map(|region| region.rows.end).max();
    assert_eq!(last, Some(m as usize));
    assert_eq!(regions.iter().collect::<HashSet<_>>().len(), regions.len());
    assert_eq!(verify_sample(&problem, step.precision, &fresh, &backend.download().unwrap(), &regions).fault, None);
    assert!(backend.time(Kernel::Step(step), &problem, 0, 1, &mut || ()).unwrap()[0] > 0.0);
}

#[test]
fn wrong_arithmetic_in_a_sample_is_noticed() {
    let step = gpu_kernels::find("2d-tiling").unwrap();
    let forgets_products = changed(step, |line| (!line.contains("fma.rn.f32")).then_some(line));
    let problem = Problem::new(700, 700, 40).unwrap();
    let comparison = comparison(step, &problem, &mut emulator(forgets_products, NOTHING));
    assert_eq!(comparison.rows[0].sampled_blocks, Some(LEAST));
    assert!(matches!(comparison.failures[..], [Error::NotVerified { fault: Fault::Element { .. }, .. }]));
}

#[test]
fn what_the_checkers_find_is_an_error() {
    let step = gpu_kernels::find("smem-tiling").unwrap();
    let stores_nothing = || changed(step, |line| (!line.contains("st.shared")).then_some(line));
    let problem = Problem::new(200, 200, 40).unwrap();
    for budget in [None, NOTHING] {
        let comparison = comparison(step, &problem, &mut emulator(stores_nothing(), budget));
        let [Error::Emulated { kernel: "smem-tiling", finding }] = &comparison.failures[..] else {
            panic!("{:?}", comparison.failures)
        };
        assert!(finding.starts_with("uninitialised: line "), "{finding}");
    }
}

#[test]
fn operands_must_be_there_and_of_the_problem() {
    let kernel = Kernel::Step(&STEPS[0]);
    let problem = Problem::new(5, 6, 7).unwrap();
    let mut backend = emulator(PtxSource::BuiltIn, None);
    let refused = |result: Result<Coverage, Error>| match result {
        Err(Error::Emulator { reason, .. }) => reason,
        other => panic!("{other:?}"),
    };
    assert!(refused(backend.run(kernel, &problem)).contains("none were uploaded"));
    assert!(matches!(backend.download(), Err(Error::Emulator { .. })));
    backend.upload(&Operands::random(&problem).unwrap()).unwrap();
    let other = Problem::new(6, 5, 7).unwrap();
    assert!(refused(backend.run(kernel, &other)).contains("another problem"));
    assert!(matches!(backend.time(kernel, &problem, 0, 1, &mut || ()), Err(Error::Emulator { .. })));
    assert_eq!(backend.run(kernel, &problem).unwrap(), Coverage::Whole { blocks: Some(1) });
    assert!(backend.time(kernel, &problem, 0, 3, &mut || ()).unwrap().len() == 3);
    assert!(matches!(backend.prepare(Kernel::CUBLAS), Err(Error::NoCublas { .. })));
}
