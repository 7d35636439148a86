//! Runs allocate nothing: neither what Rust's allocator gives, cudarc's part included, nor memory of the device. What the driver's own
//! library takes of the host's memory is not counted.

use allocation_counter::measure;
use libtest_mimic::Failed;
use sgemm::cuda::{Arguments, Gemm};
use sgemm::cudarc::driver::CudaSlice;
use sgemm::{AccuracyClass, Activation, BiasPer, Epilogue, Layout, Problem};

use super::crowded::raw::RawRun;
use super::library::{Device, random};

/// Runs of each kind that device memory is compared before and after.
const RUNS: usize = 100;

/// In the context's one stream, and in one of several, where cudarc orders the uses of slices by events.
pub fn none() -> Result<(), Failed> {
    let device = Device::new()?;
    let mut found = Vec::new();
    let one = "one stream";
    check(&device, one, &mut found)?;
    let other = Device { stream: device.handle.context().new_stream()?, handle: device.handle.clone() };
    check(&other, "several streams", &mut found)?;
    if found.is_empty() { Ok(()) } else { Err(found.join("\n").into()) }
}

/// What is run: one launch; several; pre-passes that transpose; a post-pass.
fn problems() -> [(&'static str, Problem); 4] {
    let rows = Layout::row_major;
    let epilogue = Epilogue { bias: Some(BiasPer::Column), activation: Activation::Relu };
    [
        ("one launch", Problem::new(512, 512, 512)),
        ("split operands", Problem::new(1024, 1024, 1024).with_accuracy(AccuracyClass::Fp32)),
        ("transposed B", Problem::new(512, 512, 500).with_layouts(rows(500), Layout::column_major(500), rows(512))),
        ("D apart", Problem::new(333, 444, 222).with_d(rows(444)).with_epilogue(epilogue)),
    ]
}

/// The buffers of a problem.
struct Buffers {
    a: CudaSlice<f32>,
    b: CudaSlice<f32>,
    c: CudaSlice<f32>,
    apart: Option<[CudaSlice<f32>; 2]>,
}

impl Buffers {
    fn new(device: &Device, problem: &Problem) -> Result<Self, Failed> {
        let stream = &device.stream;
        let [a, b, c, d, bias] = problem.extents()?;
        let upload = |elements| stream.clone_htod(&random(elements));
        let apart = if bias > 0 { Some([upload(d)?, upload(bias)?]) } else { None };
        Ok(Self { a: upload(a)?, b: upload(b)?, c: upload(c)?, apart })
    }

    fn arguments(&mut self) -> Arguments<'_, f32> {
        let Self { a, b, c, apart } = self;
        match apart {
            None => Arguments::new(1.5, a, b, -0.5, c),
            Some([d, bias]) => Arguments::with_d(1.5, a, b, -0.5, Some(c), d).with_bias(bias),
        }
    }
}

fn check(device: &Device, streams: &str, found: &mut Vec<String>) -> Result<(), Failed> {
    let Device { handle, stream } = device;
    let plans = problems().into_iter().map(|(name, problem)| Ok((name, handle.plan(&problem)?)));
    let plans = plans.collect::<Result<Vec<_>, Failed>>()?;
    let group = handle.plan_group(&problems().map(|(_, problem)| problem))?;
    let mut workspace = handle.workspace(stream, group.workspace_bytes())?;
    let mut count = |what: String, call: &mut dyn FnMut() -> Result<(), Failed>| {
        found.extend(allocations(device, call)?.map(|found| format!("{what}, {streams}: {found}")));
        Ok::<_, Failed>(())
    };
    for (name, gemm) in &plans {
        let (slug, launches) = (gemm.kernel().slug, gemm.plan().launches().len());
        println!("{name}: {slug}, launches: {launches}, {streams}");
        let mut buffers = Buffers::new(device, gemm.problem())?;
        count(format!("run_with of {name}"), &mut || {
            Ok(gemm.run_with(stream, buffers.arguments(), &mut workspace)?)
        })?;
        if buffers.apart.is_none() {
            let Buffers { a, b, c, .. } = &mut buffers;
            count(format!("run of {name}"), &mut || Ok(gemm.run(stream, 1.5, a, b, -0.5, c, &mut workspace)?))?;
            let mut raw = raw(device, gemm)?;
            count(format!("run_raw of {name}"), &mut || raw.run())?;
        }
        let mut graph = gemm.capture(buffers.arguments(), &mut workspace)?;
        count(format!("a graph's launch of {name}"), &mut || Ok(graph.launch(stream)?))?;
    }
    let all = problems().map(|(_, problem)| Buffers::new(device, &problem));
    let mut all = all.into_iter().collect::<Result<Vec<_>, _>>()?;
    let mut arguments: Vec<_> = all.iter_mut().map(Buffers::arguments).collect();
    count("run of a group".into(), &mut || Ok(group.run(stream, &mut arguments, &mut workspace)?))?;
    let mut graph = group.capture(arguments, &mut workspace)?;
    count("a launch of a group's graph".into(), &mut || Ok(graph.launch(stream)?))
}

fn raw(device: &Device, gemm: &Gemm) -> Result<RawRun, Failed> {
    let [a, b, ..] = gemm.problem().extents()?;
    RawRun::new(&device.stream, gemm, &random(a), &random(b))
}

/// What calls after the first allocate, where they do.
fn allocations(device: &Device, call: &mut dyn FnMut() -> Result<(), Failed>) -> Result<Option<String>, Failed> {
    let Device { handle, stream } = device;
    call()?;
    stream.synchronize()?;
    let (before, _) = handle.context().mem_get_info()?;
    let mut outcome = Ok(());
    let counted = measure(|| outcome = (0..RUNS).try_for_each(|_| call()));
    outcome?;
    stream.synchronize()?;
    let (after, _) = handle.context().mem_get_info()?;
    // What was freed before may come back late: more is no fault.
    if counted.count_total == 0 && before <= after {
        return Ok(None);
    }
    let (count, bytes) = (counted.count_total, counted.bytes_total);
    let device = format!("{before} bytes of the device are free before, {after} after");
    Ok(Some(format!("{count} allocations, {bytes} bytes in {RUNS} calls; {device}")))
}
