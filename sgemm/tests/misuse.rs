//! What a program can do wrong, each with the one error that says so. Nothing is launched then, and nothing is written.

#![cfg(all(feature = "emulator", feature = "f16"))]

use gpu_kernels::MAX_SIZE;
use half::{bf16, f16};
use sgemm::emulator::{Arguments, Emulator};
use sgemm::plan::Plan;
use sgemm::select::{self, Table};
use sgemm::{
    AccuracyClass, BiasPer, Determinism, Device, Element, Epilogue, Error, LONGEST_TF32_SPLIT_K, Layout, Problem,
    Scalar, Scalars,
};

const FAR: usize = usize::MAX / 4;

/// 4 x 5 by 6.
fn problem() -> Problem {
    Problem::new(4, 5, 6)
}

fn rows(ld: usize) -> Layout {
    Layout::row_major(ld)
}

fn columns(ld: usize) -> Layout {
    Layout::column_major(ld)
}

fn layouts(a: Layout, b: Layout, c: Layout) -> Problem {
    problem().with_layouts(a, b, c)
}

fn too_short(name: &'static str, value: usize, least: usize) -> Error {
    Error::LeadingDimension { name, value, least }
}

fn overlapping(operand: &'static str, stride: usize) -> Error {
    Error::BatchStride { operand, stride, elements: 20 }
}

/// Problems that are none.
fn bad_problems() -> Vec<(Problem, Error)> {
    let most = MAX_SIZE as usize;
    let (a, b, c) = (rows(6), rows(5), rows(5));
    let skewed = Layout { row_stride: 7, column_stride: 9 };
    let strides = |operand| Error::Strides { operand, row_stride: 7, column_stride: 9 };
    let too_large = |name| Error::TooLarge { name, value: most + 1, most };
    let too_far = |operand| Error::ExtentOverflow { operand };
    let apart = problem().with_d(rows(5));
    let elements = |input, output| problem().with_elements(input, output);
    let output = |input, output| Error::Output { input, output };
    let class = |input, class: AccuracyClass| elements(input, input).with_accuracy(class);
    let no_class = |input, class| Error::Accuracy { class, input };
    let alignment = |operand, bytes| Error::BadAlignment { operand, bytes, element: Element::F32 };
    use AccuracyClass::{Bf16, F16, Fp32, Fp32Strict, Tf32};
    vec![
        (Problem::new(most + 1, 5, 6), too_large("m")),
        (Problem::new(4, most + 1, 6), too_large("n")),
        (Problem::new(4, 5, most + 1), too_large("k")),
        (layouts(rows(5), b, c), too_short("lda", 5, 6)),
        (layouts(rows(0), b, c), too_short("lda", 0, 6)),
        (layouts(a, rows(4), c), too_short("ldb", 4, 5)),
        (layouts(a, b, rows(4)), too_short("ldc", 4, 5)),
        (layouts(columns(3), b, c), too_short("lda", 3, 4)),
        (layouts(a, columns(5), c), too_short("ldb", 5, 6)),
        (layouts(a, b, columns(3)), too_short("ldc", 3, 4)),
        (problem().with_d(rows(4)), too_short("ldd", 4, 5)),
        (problem().with_d(columns(3)), too_short("ldd", 3, 4)),
        (layouts(skewed, b, c), strides("A")),
        (layouts(a, skewed, c), strides("B")),
        (layouts(a, b, skewed), strides("C")),
        (problem().with_d(skewed), strides("D")),
        (layouts(rows(FAR), b, c), too_far("A")),
        (layouts(columns(FAR), b, c), too_far("A")),
        (layouts(a, rows(FAR), c), too_far("B")),
        (layouts(a, b, rows(FAR)), too_far("C")),
        (problem().with_d(columns(FAR)), too_far("D")),
        (problem().with_batch(3, [FAR, 0, 20]), too_far("A")),
        (problem().with_batch(3, [0, FAR, 20]), too_far("B")),
        (problem().with_batch(3, [0, 0, FAR]), too_far("C")),
        (problem().with_batch(usize::MAX, [1, 0, 20]), too_far("A")),
        (apart.with_batch(3, [0; 3]).with_batch_stride_d(FAR), too_far("D")),
        (problem().with_batch(2, [24, 30, 0]), overlapping("C", 0)),
        (problem().with_batch(2, [24, 30, 1]), overlapping("C", 1)),
        (problem().with_batch(2, [24, 30, 19]), overlapping("C", 19)),
        (apart.with_batch(2, [24, 30, 20]), overlapping("D", 0)),
        (apart.with_batch(2, [24, 30, 20]).with_batch_stride_d(19), overlapping("D", 19)),
        (
            layouts(a, b, rows(10)).with_batch(3, [0, 0, 5]),
            Error::BatchStride { operand: "C", stride: 5, elements: 35 },
        ),
        (problem().with_alignment(0, 16), alignment("A", 0)),
        (problem().with_alignment(2, 16), alignment("A", 2)),
        (problem().with_alignment(12, 16), alignment("A", 12)),
        (problem().with_alignment(16, 0), alignment("B", 0)),
        (problem().with_alignment(16, 1), alignment("B", 1)),
        (problem().with_alignment(16, 24), alignment("B", 24)),
        (
            elements(Element::F16, Element::F16).with_alignment(1, 2),
            Error::BadAlignment { operand: "A", bytes: 1, element: Element::F16 },
        ),
        (elements(Element::F32, Element::F16), output(Element::F32, Element::F16)),
        (elements(Element::F32, Element::Bf16), output(Element::F32, Element::Bf16)),
        (elements(Element::F16, Element::Bf16), output(Element::F16, Element::Bf16)),
        (elements(Element::Bf16, Element::F16), output(Element::Bf16, Element::F16)),
        (class(Element::F32, F16), no_class(Element::F32, F16)),
        (class(Element::F32, Bf16), no_class(Element::F32, Bf16)),
        (class(Element::F16, Fp32Strict), no_class(Element::F16, Fp32Strict)),
        (class(Element::F16, Fp32), no_class(Element::F16, Fp32)),
        (class(Element::F16, Tf32), no_class(Element::F16, Tf32)),
        (class(Element::F16, Bf16), no_class(Element::F16, Bf16)),
        (class(Element::Bf16, F16), no_class(Element::Bf16, F16)),
        (class(Element::Bf16, Tf32), no_class(Element::Bf16, Tf32)),
    ]
}

#[test]
fn a_problem_that_is_none_says_why() {
    let emulator = Emulator::of("h200").unwrap();
    let cases = bad_problems();
    assert!(cases.len() >= 50);
    for (problem, error) in cases {
        assert_eq!(problem.validate(), Err(error.clone()), "{problem:?}");
        assert_eq!(emulator.plan(&problem, u64::MAX), Err(error.clone()), "{problem:?}");
        let step = gpu_kernels::find("naive").unwrap();
        assert_eq!(Plan::new(step, &problem, 132), Err(error.clone()), "{problem:?}");
        assert_eq!(error.to_string().lines().count(), 1);
    }
}

/// What the arguments have that they should not have.
#[derive(Clone, Copy)]
enum Extra {
    Nothing,
    Bias(usize),
    DeviceScalars,
}

/// Runs the problem on buffers of so many elements.
fn run<I: Scalar + Default, O: Scalar + Default + PartialEq + std::fmt::Debug>(
    problem: &Problem,
    [a, b, result]: [usize; 3],
    extra: Extra,
) -> Error {
    let emulator = Emulator::of("h200").unwrap();
    let plan = emulator.plan(problem, u64::MAX).unwrap();
    let (a, b, mut result) = (vec![I::default(); a], vec![I::default(); b], vec![O::default(); result]);
    let untouched = result.clone();
    let bias = vec![O::default(); if let Extra::Bias(elements) = extra { elements } else { 0 }];
    let arguments = Arguments::new(1.0, &a, &b, 1.0, &mut result);
    let arguments = match extra {
        Extra::Nothing => arguments,
        Extra::Bias(_) => arguments.with_bias(&bias),
        Extra::DeviceScalars => arguments.with_device_scalars(),
    };
    let error = emulator.run(&plan, arguments).unwrap_err();
    assert_eq!(result, untouched, "nothing is half-written");
    assert_eq!(error.to_string().lines().count(), 1);
    error
}

fn short(operand: &'static str, elements: usize, least: usize) -> Error {
    Error::ShortBuffer { operand, elements, least }
}

const ENOUGH: [usize; 3] = [24, 30, 20];

#[test]
fn short_buffers_are_named_with_what_they_need() {
    let same = Extra::Nothing;
    let plain = problem();
    assert_eq!(run::<f32, f32>(&plain, [23, 30, 20], same), short("A", 23, 24));
    assert_eq!(run::<f32, f32>(&plain, [24, 29, 20], same), short("B", 29, 30));
    assert_eq!(run::<f32, f32>(&plain, [24, 30, 19], same), short("C", 19, 20));
    assert_eq!(run::<f32, f32>(&plain, [0, 0, 0], same), short("A", 0, 24));
    let padded = layouts(rows(10), columns(8), columns(7));
    assert_eq!(run::<f32, f32>(&padded, [35, 60, 60], same), short("A", 35, 36));
    assert_eq!(run::<f32, f32>(&padded, [36, 37, 60], same), short("B", 37, 38));
    assert_eq!(run::<f32, f32>(&padded, [36, 38, 31], same), short("C", 31, 32));
    let batch = plain.with_batch(3, [24, 0, 25]);
    assert_eq!(run::<f32, f32>(&batch, [71, 30, 70], same), short("A", 71, 72));
    assert_eq!(run::<f32, f32>(&batch, [72, 30, 69], same), short("C", 69, 70));
    let bias = plain.with_epilogue(Epilogue { bias: Some(BiasPer::Row), ..Epilogue::default() });
    assert_eq!(run::<f32, f32>(&bias, ENOUGH, Extra::Bias(3)), short("bias", 3, 4));
    let bias = plain.with_epilogue(Epilogue { bias: Some(BiasPer::Column), ..Epilogue::default() });
    assert_eq!(run::<f32, f32>(&bias, ENOUGH, Extra::Bias(4)), short("bias", 4, 5));
}

#[test]
fn buffers_are_of_the_problems_types() {
    let wrong = |takes, found| Error::Elements { kernel: "the plan", takes, found };
    use Element::{Bf16, F16, F32};
    let halves = problem().with_elements(F16, F16);
    assert_eq!(run::<f16, f16>(&problem(), ENOUGH, Extra::Nothing), wrong([F32; 2], [F16; 2]));
    assert_eq!(run::<f32, f32>(&halves, ENOUGH, Extra::Nothing), wrong([F16; 2], [F32; 2]));
    assert_eq!(run::<bf16, bf16>(&halves, ENOUGH, Extra::Nothing), wrong([F16; 2], [Bf16; 2]));
    assert_eq!(run::<f16, f32>(&halves, ENOUGH, Extra::Nothing), wrong([F16; 2], [F16, F32]));
    let mixed = problem().with_elements(F16, F32);
    assert_eq!(run::<f16, f16>(&mixed, ENOUGH, Extra::Nothing), wrong([F16, F32], [F16; 2]));
}

#[test]
fn what_the_problem_asks_for_is_there_and_nothing_else() {
    let of = |operand, is_needed| Error::Buffers { operand, is_needed };
    let plain = problem();
    let bias = plain.with_epilogue(Epilogue { bias: Some(BiasPer::Row), ..Epilogue::default() });
    assert_eq!(run::<f32, f32>(&bias, ENOUGH, Extra::Nothing), of("bias", true));
    assert_eq!(run::<f32, f32>(&plain, ENOUGH, Extra::Bias(4)), of("bias", false));
    let device = plain.with_scalars(Scalars::Device);
    assert_eq!(run::<f32, f32>(&device, ENOUGH, Extra::Nothing), of("alpha", true));
    assert_eq!(run::<f32, f32>(&plain, ENOUGH, Extra::DeviceScalars), of("alpha", false));
    let apart = plain.with_d(rows(5));
    assert_eq!(run::<f32, f32>(&apart, ENOUGH, Extra::Nothing), of("D", true));

    let emulator = Emulator::of("h200").unwrap();
    let (a, b, c, mut d) = ([0.0_f32; 24], [0.0_f32; 30], [0.0_f32; 20], [1.0_f32; 20]);
    let mut run = |problem: &Problem, beta, c: Option<&[f32]>| {
        let plan = emulator.plan(problem, u64::MAX).unwrap();
        emulator.run(&plan, Arguments::with_d(1.0, &a, &b, beta, c, &mut d))
    };
    assert_eq!(run(&plain, 0.0, None), Err(of("D", false)));
    assert_eq!(run(&apart, 1.0, None), Err(of("C", true)));
    assert_eq!(run(&apart, 1.0, Some(&c[..19])), Err(short("C", 19, 20)));
    assert_eq!(run(&apart, 0.0, None), Ok(()));
    assert_eq!(d, [0.0; 20]);
}

#[test]
fn a_group_is_checked_before_any_of_it_runs() {
    let emulator = Emulator::of("h200").unwrap();
    let small = Problem::new(2, 2, 2);
    let plans = [problem(), small, problem()].map(|problem| emulator.plan(&problem, u64::MAX).unwrap());
    let (a, b) = ([1.0_f32; 24], [1.0_f32; 30]);
    let run = |plans: &[Plan], operands: &[&[f32]], results: &mut [[f32; 20]]| {
        let given = operands.iter().zip(results).map(|(a, c)| Arguments::new(1.0, a, &b, 1.0, c.as_mut_slice()));
        emulator.run_group(plans, &mut given.collect::<Vec<_>>())
    };
    let mut results = [[2.0_f32; 20]; 4];
    let short_of_one = run(&plans, &[&a, &a, &a[..23]], &mut results);
    assert_eq!(short_of_one, Err(Error::InGroup { index: 2, error: Box::new(short("A", 23, 24)) }));
    let text = short_of_one.unwrap_err().to_string();
    assert_eq!(text, "problem 2 of the group, counted from 0: A has 23 elements; the problem reaches 24");
    let count = |given| Err(Error::GroupCount { problems: 3, given });
    assert_eq!(run(&plans, &[&a, &a], &mut results), count(2));
    assert_eq!(run(&plans, &[a.as_slice(); 4], &mut results), count(4));
    assert_eq!(run(&plans, &[], &mut results), count(0));
    assert_eq!(run(&[], &[&a], &mut results), Err(Error::GroupCount { problems: 0, given: 1 }));
    assert_eq!(run(&[], &[], &mut results), Ok(()));
    assert_eq!(results, [[2.0; 20]; 4], "nothing is half-written");
    assert_eq!(run(&plans, &[a.as_slice(); 3], &mut results), Ok(()));
    assert_eq!((results[0][19], results[1][..5].to_vec(), results[3][0]), (8.0, vec![4.0, 4.0, 4.0, 4.0, 2.0], 2.0));
}

#[test]
fn devices_and_workspaces_that_do_not_do_are_named() {
    let old = Device::new("Old GPU", (7, 5), 68);
    let ampere = Device::new("Ampere", (8, 0), 108);
    let of = |device: &Device, problem: &Problem| {
        select::plan(Table::of(device), device, problem, u64::MAX).unwrap_err().to_string()
    };
    assert!(of(&old, &problem()).ends_with("needs compute capability 8.0 or later; Old GPU has 7.5"));
    let halves = problem().with_elements(Element::F16, Element::F16);
    assert!(of(&ampere, &halves).ends_with("needs compute capability 9.0 (Hopper); Ampere has 8.0"));
    // Rows of 5 and 6 elements are copied for TMA, and no other kernel adds in that order.
    let pinned = halves.with_determinism(Determinism::PerElement);
    let hopper = Device::new("Hopper", (9, 0), 132);
    let error = select::plan(Table::of(&hopper), &hopper, &pinned, 0).unwrap_err();
    assert!(matches!(error, Error::WorkspaceLimit { limit: 0, least } if least > 0), "{error}");
    let step = gpu_kernels::find("hgemm").unwrap();
    assert!(matches!(Plan::new(step, &problem(), 132), Err(Error::Elements { kernel: "hgemm", .. })));
    let split = gpu_kernels::find("fp16x3").unwrap();
    let long = Problem::new(1, 1, MAX_SIZE as usize);
    assert!(matches!(Plan::new(split, &long, 132), Err(Error::TooLarge { name: "k", .. })));
    // Also where it is chosen by name, a kernel meets the guarantee of its class.
    let (split, most) = (gpu_kernels::find("tf32x3").unwrap(), LONGEST_TF32_SPLIT_K);
    let plan = |k| Plan::new(split, &Problem::new(1, 1, k).with_accuracy(AccuracyClass::Fp32), 132);
    assert_eq!(plan(most + 1).err(), Some(Error::TooLarge { name: "k", value: most + 1, most }));
    assert!(plan(most).is_ok());
}

#[test]
fn a_machine_without_a_driver_says_so() {
    if !sgemm::cuda::driver_is_present() {
        assert_eq!(sgemm::cuda::open(0).err(), Some(Error::NoDriver));
    }
}
