use gpu_kernels::{Activation, STEPS, Schedule, Target, Tile};

use super::rule::{blocks, on_tensor_cores};
use super::*;
use crate::{Epilogue, Layout, Problem};

const OLD: (u32, u32) = (8, 0);
const HOPPER: (u32, u32) = (9, 0);

fn of_capability(compute_capability: (u32, u32)) -> Device {
    Device::new("Test GPU", compute_capability, 132)
}

fn product(m: u32, n: u32, k: u32) -> Product {
    Product::new(m, n, k).unwrap()
}

fn chosen(capability: (u32, u32), [m, n, k]: [u32; 3]) -> &'static Step {
    rule(&of_capability(capability), &product(m, n, k), AccuracyClass::Fp32Strict).unwrap()
}

/// The last step of the ladder that such a device runs, among those whose blocks have tiles of their own.
fn last(capability: (u32, u32)) -> &'static str {
    let device = of_capability(capability);
    let own = |step: &&Step| {
        step.precision == Precision::Fp32 && device.runs(step) && step.schedule == Schedule::DataParallel
    };
    STEPS.iter().rfind(own).unwrap().slug
}

fn table(entries: Vec<Entry>) -> Table {
    let text = String::new;
    let header =
        Header { device: "Test GPU".into(), driver: text(), cublas: text(), date: text(), commit: text(), how: text() };
    Table { header, entries }
}

#[test]
fn large_problems_get_the_last_step_with_a_tile_for_each_block() {
    for capability in [OLD, HOPPER] {
        assert_eq!(chosen(capability, [16384; 3]).slug, last(capability));
    }
}

#[test]
fn what_is_chosen_fills_the_device_where_something_does() {
    for capability in [OLD, HOPPER] {
        let device = of_capability(capability);
        for shape in [[512; 3], [1024; 3], [2048; 3], [4096; 3], [64, 8192, 8192], [8192, 64, 8192], [8192, 8192, 64]] {
            let [m, n, k] = shape;
            let step = chosen(capability, shape);
            assert!(device.runs(step));
            assert!(fills(step, &product(m, n, k), &device), "{} at {shape:?}", step.slug);
        }
    }
}

#[test]
fn of_as_many_blocks_those_with_the_smallest_tiles_are_chosen() {
    for shape in [[8, 8, 5632], [7, 1, 73], [5, 12, 12478], [1, 1, 1]] {
        let [m, n, k] = shape;
        let (product, device) = (product(m, n, k), of_capability(HOPPER));
        let step = chosen(HOPPER, shape);
        let area = |step: &Step| step.tile.bm * step.tile.bn;
        let others = gpu_kernels::runnable().filter(|step| step.precision == Precision::Fp32 && device.runs(step));
        let others = others.filter(|other| other.schedule == step.schedule && area(other) < area(step));
        assert!(others.map(|other| blocks(other, &product)).all(|count| count < blocks(step, &product)), "{shape:?}");
    }
}

#[test]
fn few_tiles_of_long_sums_are_shared() {
    let shares = |step: &Step| matches!(step.schedule, Schedule::SplitK { .. });
    if gpu_kernels::runnable().any(shares) {
        assert!(shares(chosen(HOPPER, [256, 256, 8192])));
        assert!(!shares(chosen(HOPPER, [256, 256, 8])), "there is nothing to share");
    }
}

#[test]
fn skinny_problems_get_tiles_that_lie_inside() {
    for [m, n, k] in [[64, 8192, 8192], [8192, 64, 8192]] {
        let Tile { bm, bn, .. } = chosen(HOPPER, [m, n, k]).tile;
        assert!(bm <= m && bn <= n, "{bm} x {bn} of {m} x {n}");
    }
}

#[test]
fn a_device_that_runs_nothing_gets_a_step_whose_error_says_so() {
    for class in AccuracyClass::ALL {
        let last = gpu_kernels::runnable().filter(|step| class.meets(step)).last();
        assert_eq!(rule(&of_capability((7, 5)), &product(4096, 4096, 4096), class), last);
    }
}

#[test]
fn empty_problems_have_a_kernel() {
    for shape in [[0, 5, 5], [5, 0, 5], [5, 5, 0]] {
        let _ = chosen(HOPPER, shape);
    }
}

#[test]
fn tensor_cores_get_the_widest_tiles_that_fill_the_device() {
    static WIDE: Step = Step {
        slug: "wide",
        precision: Precision::Fp16x3,
        tile: Tile { bm: 256, bn: 128, ..STEPS[0].tile },
        schedule: Schedule::Persistent,
        ..STEPS[0]
    };
    static OTHER: Step = Step { slug: "other", ..WIDE };
    static SMALL: Step = Step { slug: "small", tile: Tile { bm: 64, bn: 64, ..STEPS[0].tile }, ..WIDE };
    let device = of_capability(HOPPER);
    let chosen = |size, is_choice| {
        on_tensor_cores(vec![&WIDE, &OTHER, &SMALL], &device, &product(size, size, size), is_choice)
            .map(|step| step.slug)
    };
    assert_eq!(chosen(4096, true), Some("wide"));
    assert_eq!(chosen(1024, true), Some("small"), "256 tiles instead of 32");
    assert_eq!(chosen(600, true), Some("small"), "100 tiles for 132 SMs");
    assert_eq!((chosen(256, true), chosen(256, false)), (None, Some("small")));
    assert_eq!(on_tensor_cores(vec![], &device, &product(4096, 4096, 4096), false), None);
}

#[test]
fn what_was_measured_comes_before_the_rule() {
    let device = of_capability(HOPPER);
    let naive = Timed { step: &STEPS[0], ms: 1.0 };
    let class = AccuracyClass::Fp32Strict;
    let entry = Entry { shape: [4096; 3], class, first: naive, second: None, autotuned: None, cublas_ms: None };
    let table = table(vec![entry]);
    let auto = |table, size| choose(table, &device, &product(size, size, size), class).unwrap();
    assert_eq!(auto(Some(&table), 4000), Choice { step: &STEPS[0], reason: Reason::Measured([4096; 3]) });
    assert_eq!(auto(Some(&table), 64).reason, Reason::Rule, "too far away");
    assert_eq!(auto(None, 4096).reason, Reason::Rule);
    // A table of another kind of device: what this one cannot run is no choice.
    let hopper = gpu_kernels::runnable().find(|step| step.target == Target::Sm90a);
    if let Some(step) = hopper {
        let entry = Entry { first: Timed { step, ms: 1.0 }, ..entry };
        let Choice { step, reason } =
            super::choose(Some(&self::table(vec![entry])), &of_capability(OLD), &product(4096, 4096, 4096), class)
                .unwrap();
        assert_eq!((step.target, reason), (Target::Sm80, Reason::Rule));
    }
    // What was measured for another class is no answer.
    let other = Table { entries: vec![Entry { class: AccuracyClass::Fp32, ..entry }], ..table.clone() };
    assert_eq!(auto(Some(&other), 4096).reason, Reason::Rule);
    // So little that it is the CUDA cores' all the same: their table says which step.
    let small = Table { entries: vec![Entry { shape: [128; 3], ..entry }], ..table.clone() };
    let allowed = super::choose(Some(&small), &device, &product(128, 128, 128), AccuracyClass::Fp32);
    assert_eq!(allowed, Some(Choice { step: &STEPS[0], reason: Reason::Measured([128; 3]) }));
}

#[test]
fn an_epilogue_gets_a_kernel_that_has_it_where_the_fastest_has_not() {
    let (table, device) = (Table::of("NVIDIA H200"), Device::new("NVIDIA H200", HOPPER, 132));
    let relu = Epilogue { bias: None, activation: Activation::Relu };
    let planned = |problem: &Problem| plan(table, &device, problem, u64::MAX).unwrap();
    let slug = |problem: Problem| planned(&problem).step().slug;
    let problem = |m, n, k| Problem::new(m, n, k);
    for (shape, plain, fused) in [
        ([8192, 8192, 64], "warp-tiling", "autotuned/128x128t"),
        ([32, 32, 32], "smem-tiling", "split-k/32x32x4"),
        ([4096, 4096, 4096], "stream-k/256x128-16x8", "stream-k/256x128-16x8"),
    ] {
        let [m, n, k] = shape;
        assert_eq!((slug(problem(m, n, k)), slug(problem(m, n, k).with_epilogue(relu))), (plain, fused));
        let plan = planned(&problem(m, n, k).with_epilogue(relu));
        assert_eq!(plan.launches().last().map(|launch| launch.kernel), plan.step().fused);
    }
    // There, operands would be aligned first; and here, D is another matrix.
    let odd = problem(127, 129, 131);
    assert_eq!((slug(odd), slug(odd.with_epilogue(relu))), ("smem-tiling", "smem-tiling"));
    let apart = problem(8192, 8192, 64).with_epilogue(relu).with_d(Layout::row_major(8192));
    assert_eq!(slug(apart), "warp-tiling");
}

#[test]
fn autotuned_stands_for_its_best_variant() {
    let device = of_capability(HOPPER);
    for step in STEPS {
        let of = |table, size| variant(table, &device, &product(size, size, size), step);
        if step.slug != AUTOTUNED || step.variants.is_empty() {
            assert_eq!(of(None, 4096), (step, None), "{}", step.slug);
            continue;
        }
        let naive = Timed { step: &STEPS[0], ms: 1.0 };
        let best = step.variants.last().unwrap();
        let autotuned = Some(Timed { step: best, ms: 2.0 });
        let class = AccuracyClass::Fp32Strict;
        let entry = Entry { shape: [4096; 3], class, first: naive, second: None, autotuned, cublas_ms: None };
        let (table, near) = (table(vec![entry]), Some(Reason::Measured([4096; 3])));
        assert_eq!(of(Some(&table), 4096), (best, near));
        let (by_rule, reason) = of(Some(&table), 128);
        assert_eq!((by_rule.slug.split('/').next(), reason), (Some(AUTOTUNED), Some(Reason::Rule)));
    }
}
