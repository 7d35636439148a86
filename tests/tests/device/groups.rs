//! Groups of problems on a device: the same bits as one by one, and nothing launched where one of them is refused.

use libtest_mimic::Failed;
use sgemm::cuda::{Arguments, Gemm, Group, open};
use sgemm::cudarc::driver::CudaSlice;
use sgemm::cudarc::driver::sys::{CUgraphInstantiate_flags, CUstreamCaptureMode};
use sgemm::{AccuracyClass, Error, Layout, Problem};

use super::library::{Device, problems, random};

/// The operands of a problem, in memory of their own, and what a run of it alone makes of C.
struct Operands {
    a: CudaSlice<f32>,
    b: CudaSlice<f32>,
    c: CudaSlice<f32>,
    expected: Vec<f32>,
}

const FACTORS: [f32; 2] = [1.5, -0.5];

fn operands(device: &Device, gemm: &Gemm) -> Result<Operands, Failed> {
    let Device { handle, stream } = device;
    let [a, b, c, ..] = gemm.problem().extents()?;
    // A copy of nothing would be refused.
    let upload = |elements: usize| stream.clone_htod(&random(elements.max(1)));
    let (a, b, c) = (upload(a)?, upload(b)?, upload(c)?);
    let mut alone = stream.clone_dtod(&c)?;
    let mut workspace = handle.workspace(stream, gemm.workspace_bytes())?;
    let [alpha, beta] = FACTORS;
    gemm.run(stream, alpha, &a, &b, beta, &mut alone, &mut workspace)?;
    Ok(Operands { a, b, c, expected: stream.clone_dtoh(&alone)? })
}

fn arguments(all: &mut [Operands]) -> Vec<Arguments<'_, f32>> {
    let [alpha, beta] = FACTORS;
    all.iter_mut().map(|Operands { a, b, c, .. }| Arguments::new(alpha, a, b, beta, c)).collect()
}

/// Different sizes, layouts and classes, a batch, nothing at all, and one problem three times.
fn group(device: &Device) -> Result<Group, Failed> {
    let (tall, wide) = (Layout::column_major(90), Layout::column_major(50));
    let others = [
        Problem::new(90, 70, 50).with_layouts(tall, wide, tall),
        Problem::new(33, 44, 55).with_batch(3, [33 * 55, 0, 33 * 44]),
        Problem::new(10, 0, 10),
        Problem::new(64, 64, 64),
        Problem::new(64, 64, 64),
        Problem::new(64, 64, 64),
    ];
    let all: Vec<_> = problems().into_iter().chain(others).collect();
    Ok(device.handle.plan_group(&all)?)
}

/// A run and a graph give what each problem does alone, in a workspace of the group's bytes.
pub fn same_bits() -> Result<(), Failed> {
    let device = Device::new()?;
    let Device { handle, stream } = &device;
    let group = group(&device)?;
    let mut all = group.gemms().iter().map(|gemm| operands(&device, gemm)).collect::<Result<Vec<_>, _>>()?;
    let before = all.iter().map(|each| stream.clone_dtoh(&each.c)).collect::<Result<Vec<_>, _>>()?;
    let mut workspace = handle.workspace(stream, group.workspace_bytes())?;
    for is_graph in [false, true] {
        for (each, before) in all.iter_mut().zip(&before) {
            stream.memcpy_htod(before, &mut each.c)?;
        }
        if is_graph {
            group.capture(arguments(&mut all), &mut workspace)?.launch(stream)?;
        } else {
            group.run(stream, &mut arguments(&mut all), &mut workspace)?;
        }
        for (gemm, Operands { c, expected, .. }) in group.gemms().iter().zip(&all) {
            let same = |(one, other): (&f32, &f32)| one.to_bits() == other.to_bits();
            if !stream.clone_dtoh(c)?.iter().zip(expected).all(same) {
                let (what, slug) = (if is_graph { "the graph of a group" } else { "a group" }, gemm.kernel().slug);
                return Err(format!("{slug}: {what} gives other bits").into());
            }
        }
    }
    Ok(())
}

/// What one problem is refused for, all of them are: the others' C is as it was.
pub fn refusals() -> Result<(), Failed> {
    let device = Device::new()?;
    let Device { handle, stream } = &device;
    let problem = Problem::new(40, 30, 20).with_accuracy(AccuracyClass::Fp32);
    // So long a k is divided into planes, which are added up in the workspace.
    let k = 40_000;
    let other = Problem::new(40, 30, k).with_accuracy(AccuracyClass::Fp32);
    let group = handle.plan_group(&[problem, problem, other])?;
    let mut workspace = handle.workspace(stream, group.workspace_bytes())?;
    let mut small = handle.workspace(stream, group.workspace_bytes() - 1)?;
    let own = handle.context().new_stream()?;
    let input = stream.clone_htod(&vec![1.0_f32; 41 * k])?;
    let mut results = [stream.alloc_zeros::<f32>(1200)?, stream.alloc_zeros(1200)?, stream.alloc_zeros(1200)?];
    let (short, shifted) = (input.slice(..799), input.slice(1..));
    let [first, second, third] = &mut results;
    let mut arguments = [first, second, third].map(|c| Arguments::new(1.0, &input, &input, 0.0, c));

    let expect = |what: &str, found: Result<(), Error>, is_right: fn(&Error) -> bool| match found {
        Err(error) if is_right(&error) => Ok(()),
        found => Err(Failed::from(format!("{what}: {found:?}"))),
    };
    let found = group.run(stream, &mut arguments[..2], &mut workspace);
    expect("two of three", found, |error| *error == Error::GroupCount { problems: 3, given: 2 })?;
    let found = group.run(stream, &mut arguments, &mut small);
    expect("a small workspace", found, |error| matches!(error, Error::InGroup { .. }))?;
    if let Ok(other) = open(1) {
        let found = group.run(&other.default_stream(), &mut arguments, &mut workspace);
        expect("another device", found, |error| matches!(error, Error::WrongDevice { what: "stream", .. }))?;
    }
    own.begin_capture(CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)?;
    let found = group.run(&own, &mut arguments, &mut workspace);
    own.end_capture(CUgraphInstantiate_flags::CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH)?;
    expect("a capture", found, |error| *error == Error::Capturing)?;

    for (what, bad) in [("a short A", &short), ("an A at a multiple of 4 bytes", &shifted)] {
        let [first, second, third] = &mut results;
        let mut arguments = [
            Arguments::new(1.0, &input, &input, 0.0, first),
            Arguments::new(1.0, &input, &input, 0.0, second),
            Arguments::new(1.0, bad, &input, 0.0, third),
        ];
        expect(what, group.run(stream, &mut arguments, &mut workspace), |error| match error {
            Error::InGroup { index: 2, error } => {
                matches!(**error, Error::ShortBuffer { operand: "A", .. } | Error::Alignment { operand: "A", .. })
            }
            _ => false,
        })?;
        let captured = group.capture(Vec::from(arguments), &mut workspace).map(drop);
        expect(what, captured, |error| matches!(error, Error::InGroup { index: 2, .. }))?;
    }
    for c in &results {
        if stream.clone_dtoh(c)?.iter().any(|element| *element != 0.0) {
            return Err("something was launched".into());
        }
    }

    let bad = problem.with_batch(2, [0, 0, 0]);
    let planned = handle.plan_group(&[problem, bad]).map(drop);
    expect("a bad problem", planned, |error| matches!(error, Error::InGroup { index: 1, .. }))?;
    let none: &mut [Arguments<'_, f32>] = &mut [];
    Ok(handle.plan_group(&[])?.run(stream, none, &mut small)?)
}
