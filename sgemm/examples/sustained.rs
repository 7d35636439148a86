//! What power leaves of it: TFLOPS of cuBLAS's SGEMM, of `fp32-strict` and of `fp32` with prepared operands and without, in bursts and under
//! sustained load, with the SM clock and the power that NVML reads while the device computes. Operands are uniform in -1..1.
//!
//! `cargo run --release -p sgemm --example sustained [-- SIZE ...]`

use std::error::Error;
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

use nvml_wrapper::enum_wrappers::device::Clock;
use nvml_wrapper::enums::device::SampleValue;
use nvml_wrapper::structs::device::FieldId;
use nvml_wrapper::sys_exports::field_id::NVML_FI_DEV_POWER_INSTANT;
use nvml_wrapper::{Device, Nvml};
use sgemm::cuda::{Arguments, Handle, open};
use sgemm::cudarc::driver::sys::CUevent_flags::CU_EVENT_DEFAULT;
use sgemm::cudarc::driver::{CudaContext, CudaStream, DevicePtr};
use sgemm::{AccuracyClass, Problem};

#[path = "common/cublas.rs"]
mod cublas;
#[path = "common/numbers.rs"]
mod numbers;

use cublas::Cublas;
use numbers::{median, random};

/// Bursts of each way, runs of a burst, and the time without load before it.
const BURSTS: usize = 7;
const BURST_RUNS: usize = 20;
const IDLE: Duration = Duration::from_millis(100);

/// Spells of sustained load of each way, in turn: the second half of a spell counts. Runs between two readings take as long as a step.
const SPELLS: usize = 3;
const SPELL: Duration = Duration::from_secs(2);
const STEP: Duration = Duration::from_millis(25);

/// A way to compute the product.
struct Way<'a> {
    name: &'static str,
    kernel: &'a str,
    run: Box<Run<'a>>,
}

type Outcome<T> = Result<T, Box<dyn Error>>;
type Run<'a> = dyn FnMut() -> Outcome<()> + 'a;

/// Of a way: seconds of a run, MHz and watts, each of several readings.
#[derive(Default)]
struct Readings {
    seconds: Vec<f64>,
    clock: Vec<f64>,
    power: Vec<f64>,
}

fn main() -> Outcome<()> {
    let Ok(context) = open(0).inspect_err(|error| println!("{error}")) else { return Ok(()) };
    let sizes: Vec<usize> = std::env::args().skip(1).map(|size| size.parse()).collect::<Result<_, _>>()?;
    let (handle, nvml) = (Handle::new(&context)?, Nvml::init()?);
    let cublas = Cublas::open()?.ok_or("cuBLAS is not installed, and nothing else is compared with")?;
    let device = monitored(&nvml, &context)?;
    let limit = f64::from(device.enforced_power_limit()?) / 1e3;
    println!("{}, power limit {limit:.0} W; TFLOPS, times cuBLAS's SGEMM, MHz and watts", context.name()?);
    println!("{:>6} {:26} {:18} {:^29}  {:^29}", "", "", "", "bursts", "sustained");
    for size in if sizes.is_empty() { vec![4096, 8192] } else { sizes } {
        measure(&handle, &context.default_stream(), &cublas, &device, size)?;
    }
    Ok(())
}

/// One size.
fn measure(handle: &Handle, stream: &Arc<CudaStream>, cublas: &Cublas, device: &Device, size: usize) -> Outcome<()> {
    let plan = |class| handle.plan(&Problem::new(size, size, size).with_accuracy(class));
    let (strict, fp32) = (plan(AccuracyClass::Fp32Strict)?, plan(AccuracyClass::Fp32)?);
    let (a, b) = (stream.clone_htod(&random(size * size, 1))?, stream.clone_htod(&random(size * size, 2))?);
    let (prepared_a, prepared_b) = (fp32.prepare_a(stream, &a)?, fp32.prepare_b(stream, &b)?);
    let (a, b, flops) = (&a, &b, fp32.problem().flops());
    cublas.set_stream(stream);

    let ours = |name, gemm, of_a, of_b| -> Outcome<Way<'_>> {
        let gemm: &sgemm::cuda::Gemm = gemm;
        let (mut c, mut workspace) =
            (stream.alloc_zeros::<f32>(size * size)?, handle.workspace(stream, gemm.workspace_bytes())?);
        let run = move || {
            let arguments = Arguments::new(1.0, a, b, 0.0, &mut c);
            let arguments = Option::into_iter(of_a).fold(arguments, Arguments::with_prepared_a);
            let arguments = Option::into_iter(of_b).fold(arguments, Arguments::with_prepared_b);
            Ok(gemm.run_with(stream, arguments, &mut workspace)?)
        };
        Ok(Way { name, kernel: gemm.kernel().slug, run: Box::new(run) })
    };
    let c = stream.alloc_zeros::<f32>(size * size)?;
    let addresses = [a, b, &c].map(|slice| slice.device_ptr(stream).0);
    let of_cublas = || cublas.sgemm([size; 3], addresses);
    let mut ways = [
        Way { name: "cuBLAS SGEMM", kernel: "", run: Box::new(of_cublas) },
        ours("fp32-strict", &strict, None, None)?,
        ours("fp32", &fp32, None, None)?,
        ours("fp32, B prepared", &fp32, None, Some(&prepared_b))?,
        ours("fp32, A and B prepared", &fp32, Some(&prepared_a), Some(&prepared_b))?,
    ];

    let mut loads = ways.each_ref().map(|_| [Readings::default(), Readings::default()]);
    for _ in 0..BURSTS {
        for (way, [bursts, _]) in ways.iter_mut().zip(&mut loads) {
            bursts.burst(stream, device, &mut way.run)?;
        }
    }
    for _ in 0..SPELLS {
        for (way, [bursts, sustained]) in ways.iter_mut().zip(&mut loads) {
            let runs = (STEP.as_secs_f64() / median(bursts.seconds.clone())).ceil() as usize;
            sustained.spell(stream, device, runs, &mut way.run)?;
        }
    }
    let loads = loads.map(|[bursts, sustained]| [bursts.summed_up_by(median), sustained.summed_up_by(mean)]);
    for (way, of_way) in ways.iter().zip(&loads) {
        let column = |load: usize| {
            let [seconds, clock, power] = of_way[load];
            let ratio = loads[0][load][0] / seconds;
            format!("{:8.1} {ratio:7.2} {clock:6.0} {power:6.0}", flops / seconds / 1e12)
        };
        println!("{size:6} {:26} {:18} {}  {}", way.name, way.kernel, column(0), column(1));
    }
    Ok(())
}

impl Readings {
    /// Some runs after a time without load. In the midst of them the device is looked at.
    fn burst(&mut self, stream: &CudaStream, device: &Device, run: &mut Run) -> Outcome<()> {
        stream.synchronize()?;
        sleep(IDLE);
        let start = stream.record_event(Some(CU_EVENT_DEFAULT))?;
        (0..BURST_RUNS / 2).try_for_each(|_| run())?;
        let middle = stream.record_event(Some(CU_EVENT_DEFAULT))?;
        (BURST_RUNS / 2..BURST_RUNS).try_for_each(|_| run())?;
        let end = stream.record_event(Some(CU_EVENT_DEFAULT))?;
        middle.synchronize()?;
        let conditions = conditions(device)?;
        self.push(f64::from(start.elapsed_ms(&end)?) / 1e3 / BURST_RUNS as f64, conditions);
        Ok(())
    }

    /// Runs without a pause, so many to a step: the next step is queued before the end of one is waited for.
    fn spell(&mut self, stream: &CudaStream, device: &Device, runs: usize, run: &mut Run) -> Outcome<()> {
        let mut step = || -> Outcome<_> {
            (0..runs).try_for_each(|_| run())?;
            Ok(stream.record_event(Some(CU_EVENT_DEFAULT))?)
        };
        let begin = Instant::now();
        let (mut start, mut end) = (step()?, step()?);
        while begin.elapsed() < SPELL {
            let next = step()?;
            let conditions = conditions(device)?;
            let seconds = f64::from(start.elapsed_ms(&end)?) / 1e3 / runs as f64;
            if begin.elapsed() > SPELL / 2 {
                self.push(seconds, conditions);
            }
            (start, end) = (end, next);
        }
        Ok(stream.synchronize()?)
    }

    fn push(&mut self, seconds: f64, [clock, power]: [f64; 2]) {
        self.seconds.push(seconds);
        self.clock.push(clock);
        self.power.push(power);
    }

    fn summed_up_by(self, average: fn(Vec<f64>) -> f64) -> [f64; 3] {
        [self.seconds, self.clock, self.power].map(average)
    }
}

fn mean(values: Vec<f64>) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// NVML's view of the device: what both agree on is its UUID.
fn monitored<'a>(nvml: &'a Nvml, context: &CudaContext) -> Outcome<Device<'a>> {
    let hex: String = context.uuid()?.bytes.iter().map(|byte| format!("{:02x}", *byte as u8)).collect();
    let [a, b, c, d, e] = [0..8, 8..12, 12..16, 16..20, 20..32].map(|part| &hex[part]);
    Ok(nvml.device_by_uuid(format!("GPU-{a}-{b}-{c}-{d}-{e}"))?)
}

/// The SM clock in MHz and the power in watts at this moment: not the average over a second, which `power_usage` gives.
fn conditions(device: &Device) -> Outcome<[f64; 2]> {
    let power = device.field_values_for(&[FieldId(NVML_FI_DEV_POWER_INSTANT)])?.remove(0)?.value?;
    let SampleValue::U32(milliwatts) = power else { return Err(format!("NVML gives {power:?} as power").into()) };
    Ok([device.clock_info(Clock::SM)?.into(), f64::from(milliwatts) / 1e3])
}
