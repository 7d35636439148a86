//! The library's safe layer on a device: any layout on every step, graphs, threads, and what a run costs the host.

use std::sync::Arc;

use gpu_kernels::Step;
use libtest_mimic::{Failed, Trial};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use sgemm::cuda::{Arguments, Handle, open};
use sgemm::cudarc::driver::{CudaSlice, CudaStream};
use sgemm::plan::Plan;
use sgemm::{AccuracyClass, Problem};
use tests::fused;
use tests::layouts::{Executor, Number, Operands, aligned, planned, run};
use tests::orders::families;

use super::{allocations, crowded, distributed, grading, groups, large, streamed, threads};

/// The tests, ignored where the device, of this compute capability, does not run the step, or there is none.
pub fn trials(capability: Option<(u32, u32)>) -> impl Iterator<Item = Trial> {
    let runs = move |step: &Step| capability.is_some_and(|(major, minor)| step.target.runs_on(major, minor));
    let layouts = gpu_kernels::runnable().enumerate().map(move |(number, step)| {
        let test = move || run(step, number, &Device::new()?).map_err(Into::into);
        Trial::test(format!("layouts::{}", step.slug), test).with_ignored_flag(!runs(step))
    });
    let fused = gpu_kernels::runnable().filter(|step| step.fused.is_some()).map(move |step| {
        let test = move || fused::run(step, &Device::new()?).map_err(Into::into);
        Trial::test(format!("fused::{}", step.slug), test).with_ignored_flag(!runs(step))
    });
    let splits = gpu_kernels::runnable().filter(|step| step.may_be_split()).map(move |step| {
        let test = move || planned::run(step, &Device::new()?).map_err(Into::into);
        Trial::test(format!("planned::{}", step.slug), test).with_ignored_flag(!runs(step))
    });
    let aligned = gpu_kernels::runnable().map(move |step| {
        let test = move || aligned::run(step, &Device::new()?).map_err(Into::into);
        Trial::test(format!("aligned::{}", step.slug), test).with_ignored_flag(!runs(step))
    });
    let orders = families(runs).into_iter().map(|family| {
        let name = format!("orders::{}", family.name());
        Trial::test(name, move || family.check(|_| Device::new()).map_err(Into::into))
    });
    let others: [(&str, Test); 15] = [
        ("library::graphs give the same bits", graphs),
        ("library::a group gives the same bits", groups::same_bits),
        ("library::a group is checked before any of it runs", groups::refusals),
        ("library::prepared operands give the same bits", prepared_operands),
        ("library::runs leave the device's memory as it was", memory),
        ("library::runs allocate nothing", allocations::none),
        ("library::threads share a handle", share_a_handle),
        ("library::eight threads", threads::a_few_rounds),
        ("library::one call", one_call),
        ("library::beside work that holds most SMs", crowded::others_hold_sms),
        ("library::under a limit on SMs", crowded::a_limit_on_sms),
        ("library::from the host's memory", streamed::same_bits),
        ("library::beyond 2^31 elements", large::matrices),
        ("grading::all kinds meet the guarantee", grading::kinds),
        ("grading::10^7 problems of mixed kinds meet the guarantee", grading::mixed),
    ];
    let others = others.map(move |(name, test)| Trial::test(name, test).with_ignored_flag(capability.is_none()));
    let is_several = capability.is_some() && distributed::is_possible();
    let several = Trial::test("library::over several GPUs", distributed::same_bits).with_ignored_flag(!is_several);
    let minute = Trial::test("library::a minute of eight threads", threads::a_minute).with_ignored_flag(true);
    layouts.chain(fused).chain(splits).chain(aligned).chain(orders).chain(others).chain([several, minute])
}

/// A test without arguments.
type Test = fn() -> Result<(), Failed>;

/// A device, and a stream of it.
pub struct Device {
    pub handle: Handle,
    pub stream: Arc<CudaStream>,
}

impl Device {
    pub fn new() -> Result<Self, String> {
        let context = open(0).map_err(|error| error.to_string())?;
        let handle = Handle::new(&context).map_err(|error| error.to_string())?;
        Ok(Self { handle, stream: context.default_stream() })
    }

    /// The elements on the device, after so many NaN: at an address that is aligned to no more. The allocation ends with them, so that
    /// compute-sanitizer finds an access of one byte behind it.
    fn upload<T: Number>(&self, elements: &[T], before: usize) -> Result<CudaSlice<T>, String> {
        let padded: Vec<T> = std::iter::repeat_n(T::new(f32::NAN), before).chain(elements.iter().copied()).collect();
        self.stream.clone_htod(&padded).map_err(|error| error.to_string())
    }

    /// The same of A or B, and NaN up to a multiple of 16 bytes: compute-sanitizer takes a `cp.async` that reads fewer bytes than it writes
    /// for a read of up to 16. A kernel that used one of them would compute NaN.
    fn upload_operand<T: Number>(&self, elements: &[T], before: usize) -> Result<CudaSlice<T>, String> {
        let in_all = (before + elements.len()).next_multiple_of(16 / size_of::<T>());
        let after = std::iter::repeat_n(T::new(f32::NAN), in_all - before - elements.len());
        self.upload(&elements.iter().copied().chain(after).collect::<Vec<T>>(), before)
    }
}

impl Executor for Device {
    fn sm_count(&self) -> u32 {
        self.handle.device().sm_count
    }

    fn run<I: Number, O: Number>(&self, plan: Plan, operands: Operands<'_, I, O>) -> Result<(), String> {
        let Operands { a, b, c, result, bias, scalars, are_scalars_on_device } = operands;
        let text = |error: sgemm::Error| error.to_string();
        let [pad_a, pad_b] = plan.problem().alignment().map(|bytes| usize::from(bytes < 16));
        let (on_a, on_b) = (self.upload_operand(a, pad_a)?, self.upload_operand(b, pad_b)?);
        let on_c = c.map(|c| self.upload(c, 1)).transpose()?;
        let on_bias = bias.map(|bias| self.upload(bias, 1)).transpose()?;
        let mut on_result = self.upload(result, 1)?;
        let on_factors = self.stream.clone_htod(&scalars).map_err(|error| error.to_string())?;
        let gemm = self.handle.load(plan).map_err(text)?;
        let mut workspace = self.handle.workspace(&self.stream, gemm.workspace_bytes()).map_err(text)?;
        {
            let (view_a, view_b) = (on_a.slice(pad_a..pad_a + a.len()), on_b.slice(pad_b..pad_b + b.len()));
            let (view_c, view_bias) =
                (on_c.as_ref().map(|c| c.slice(1..)), on_bias.as_ref().map(|bias| bias.slice(1..)));
            let mut view_result = on_result.slice_mut(1..);
            let (on_alpha, on_beta) = (on_factors.slice(..1), on_factors.slice(1..));
            let [alpha, beta] = scalars;
            let mut arguments = match &view_c {
                Some(c) => Arguments::with_d(alpha, &view_a, &view_b, beta, Some(c), &mut view_result),
                None => Arguments::new(alpha, &view_a, &view_b, beta, &mut view_result),
            };
            if let Some(bias) = &view_bias {
                arguments = arguments.with_bias(bias);
            }
            if are_scalars_on_device {
                arguments = arguments.with_device_scalars(&on_alpha, &on_beta);
            }
            gemm.run_with(&self.stream, arguments, &mut workspace).map_err(text)?;
        }
        let written = self.stream.clone_dtoh(&on_result).map_err(|error| error.to_string())?;
        if !written[0].get().is_nan() {
            return Err("an element ahead of the result was written".into());
        }
        result.copy_from_slice(&written[1..]);
        Ok(())
    }
}

/// Problems that different kinds of kernels solve: with and without pre-passes, split k, stream-K.
pub fn problems() -> [Problem; 6] {
    [
        Problem::new(512, 512, 512),
        Problem::new(1000, 1000, 1000),
        Problem::new(64, 2048, 2048),
        Problem::new(1024, 1024, 1024).with_accuracy(AccuracyClass::Fp32),
        Problem::new(777, 333, 555).with_accuracy(AccuracyClass::Tf32),
        Problem::new(16, 4096, 4096),
    ]
}

pub fn random(elements: usize) -> Vec<f32> {
    let mut rng = StdRng::seed_from_u64(rand::random());
    (0..elements).map(|_| rng.random_range(-1.0..1.0)).collect()
}

/// A thousand launches of a graph give what a run gives.
fn graphs() -> Result<(), Failed> {
    let Device { handle, stream } = Device::new()?;
    for problem in problems() {
        let gemm = handle.plan(&problem)?;
        let [a, b, c, ..] = problem.extents()?;
        let (a, b) = (stream.clone_htod(&random(a))?, stream.clone_htod(&random(b))?);
        let mut workspace = handle.workspace(&stream, gemm.workspace_bytes())?;
        let mut plain = stream.alloc_zeros::<f32>(c)?;
        gemm.run(&stream, 1.5, &a, &b, 0.0, &mut plain, &mut workspace)?;
        let expected = stream.clone_dtoh(&plain)?;
        let mut captured = stream.alloc_zeros::<f32>(c)?;
        {
            let mut graph = gemm.capture(Arguments::new(1.5, &a, &b, 0.0, &mut captured), &mut workspace)?;
            (0..1000).try_for_each(|_| graph.launch(&stream))?;
        }
        let same = |(one, other): (&f32, &f32)| one.to_bits() == other.to_bits();
        if !stream.clone_dtoh(&captured)?.iter().zip(&expected).all(same) {
            return Err(format!("{}: a graph gives other bits", gemm.kernel().slug).into());
        }
    }
    Ok(())
}

/// Prepared operands give what plain ones do; what was prepared for one problem is refused by another.
fn prepared_operands() -> Result<(), Failed> {
    let Device { handle, stream } = Device::new()?;
    let others = [Problem::new(512, 4096, 4096), Problem::new(2048, 2048, 2048).with_accuracy(AccuracyClass::Fp32)];
    for problem in problems().into_iter().chain(others) {
        let gemm = handle.plan(&problem)?;
        let [a, b, c, ..] = problem.extents()?;
        let (a, b) = (stream.clone_htod(&random(a))?, stream.clone_htod(&random(b))?);
        let mut workspace = handle.workspace(&stream, gemm.workspace_bytes())?;
        let mut plain = stream.alloc_zeros::<f32>(c)?;
        gemm.run(&stream, 1.5, &a, &b, 0.0, &mut plain, &mut workspace)?;
        let expected = stream.clone_dtoh(&plain)?;
        let (on_a, on_b) = (gemm.prepare_a(&stream, &a)?, gemm.prepare_b(&stream, &b)?);
        for prepares_a in [false, true] {
            let mut result = stream.alloc_zeros::<f32>(c)?;
            let mut arguments = Arguments::new(1.5, &a, &b, 0.0, &mut result).with_prepared_b(&on_b);
            if prepares_a {
                arguments = arguments.with_prepared_a(&on_a);
            }
            gemm.run_with(&stream, arguments, &mut workspace)?;
            if stream.clone_dtoh(&result)? != expected {
                return Err(format!("{}: prepared operands give other bits", gemm.kernel().slug).into());
            }
        }
        let other = handle.plan(&Problem::new(9, 9, 9))?;
        let mut result = stream.alloc_zeros::<f32>(81)?;
        let arguments = Arguments::new(1.5, &a, &b, 0.0, &mut result).with_prepared_a(&on_a);
        let refused = other.run_with(&stream, arguments, &mut workspace);
        if on_a.bytes() > 256 && refused != Err(sgemm::Error::Prepared { operand: "A" }) {
            return Err(format!("{refused:?}").into());
        }
    }
    Ok(())
}

/// A thousand runs allocate nothing on the device.
fn memory() -> Result<(), Failed> {
    let Device { handle, stream } = Device::new()?;
    let problem = Problem::new(1000, 1000, 1000).with_accuracy(AccuracyClass::Fp32);
    let gemm = handle.plan(&problem)?;
    let (a, b) = (stream.clone_htod(&random(1_000_000))?, stream.clone_htod(&random(1_000_000))?);
    let mut c = stream.alloc_zeros::<f32>(1_000_000)?;
    let mut workspace = handle.workspace(&stream, gemm.workspace_bytes())?;
    gemm.run(&stream, 1.0, &a, &b, 0.0, &mut c, &mut workspace)?;
    stream.synchronize()?;
    let before = handle.context().mem_get_info()?;
    for _ in 0..1000 {
        gemm.run(&stream, 1.0, &a, &b, 0.0, &mut c, &mut workspace)?;
    }
    stream.synchronize()?;
    if handle.context().mem_get_info()? == before { Ok(()) } else { Err("free memory is not what it was".into()) }
}

/// Eight threads, each with a stream and a workspace of its own, all with one handle.
fn share_a_handle() -> Result<(), Failed> {
    let Device { handle, .. } = Device::new()?;
    let work = |seed: usize| -> Result<(), Failed> {
        let stream = handle.context().new_stream()?;
        for turn in 0..10 {
            let problem = problems()[(seed + turn) % problems().len()];
            let gemm = handle.plan(&problem)?;
            let [a, b, c, ..] = problem.extents()?;
            let (a, b) = (stream.clone_htod(&random(a))?, stream.clone_htod(&random(b))?);
            let mut workspace = handle.workspace(&stream, gemm.workspace_bytes())?;
            let mut results = Vec::new();
            for _ in 0..20 {
                let mut result = stream.alloc_zeros::<f32>(c)?;
                gemm.run(&stream, 1.0, &a, &b, 0.0, &mut result, &mut workspace)?;
                results.push(stream.clone_dtoh(&result)?);
            }
            if results.iter().any(|result| *result != results[0]) {
                return Err(format!("{}: runs differ", gemm.kernel().slug).into());
            }
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8).map(|seed| scope.spawn(move || work(seed))).collect();
        threads.into_iter().try_for_each(|thread| thread.join().map_err(|_| Failed::from("a thread panicked"))?)
    })
}

/// The forms in one call: on device memory and on the host's.
fn one_call() -> Result<(), Failed> {
    let Device { handle, stream } = Device::new()?;
    let problem = Problem::new(70, 50, 90);
    let (a, b) = (random(70 * 90), random(90 * 50));
    let mut on_host = vec![f32::NAN; 70 * 50];
    handle.gemm_host(&problem, 2.0, &a, &b, 0.0, &mut on_host)?;
    let (on_a, on_b) = (stream.clone_htod(&a)?, stream.clone_htod(&b)?);
    let mut on_device = stream.alloc_zeros::<f32>(70 * 50)?;
    handle.gemm(&stream, &problem, 2.0, &on_a, &on_b, 0.0, &mut on_device)?;
    for (i, (one, other)) in on_host.iter().zip(stream.clone_dtoh(&on_device)?).enumerate() {
        let product = |l| f64::from(a[i / 50 * 90 + l]) * f64::from(b[l * 50 + i % 50]);
        let sum = 2.0 * (0..90).map(product).sum::<f64>();
        if *one != other || (f64::from(*one) - sum).abs() > 1e-4 {
            return Err(format!("element {i}: {one} and {other}, not {sum}").into());
        }
    }
    Ok(())
}
