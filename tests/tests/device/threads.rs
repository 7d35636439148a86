//! Eight threads with a stream and a workspace each, first with a handle each, then with one for all: random problems, as runs and as
//! graphs, give the bits that they gave one after the other before, and leave the device's memory as it was.
//!
//! `library::eight threads` does so a few times, which a sanitizer bears. `library::a minute of eight threads` is ignored unless it is
//! asked for: `device --include-ignored --exact "library::a minute of eight threads"`.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use gpu_kernels::Step;
use half::f16;
use libtest_mimic::Failed;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use sgemm::cuda::{Arguments, Gemm, Handle, Workspace};
use sgemm::cudarc::driver::{CudaSlice, CudaStream};
use sgemm::plan::Plan;
use sgemm::{AccuracyClass, Activation, BiasPer, Determinism, Element, Epilogue, Error, Layout, Problem};
use tests::orders::Bits;

use super::library::Device;

const THREADS: usize = 8;

/// Products of each thread, in each half of the short test.
const ROUNDS: usize = 4;

/// A half of the long one.
const HALF_A_MINUTE: Duration = Duration::from_secs(30);

/// Bytes of the device that may be in use afterwards and were not before: the driver takes memory in larger pieces than it is asked for.
const SLACK: usize = 64 << 20;

const FACTORS: [f32; 2] = [1.5, -0.5];

/// How long a thread goes on.
#[derive(Clone, Copy)]
enum Until {
    Products(usize),
    Time(Duration),
}

impl Until {
    fn goes_on(self, products: usize, start: Instant) -> bool {
        match self {
            Self::Products(count) => products < count,
            Self::Time(duration) => start.elapsed() < duration,
        }
    }
}

/// How a problem is run.
#[derive(Debug, Clone, Copy)]
enum Way {
    Run,
    Graph,
}

/// What a thread has of its own, and the handle that it uses.
struct Worker {
    handle: Handle,
    stream: Arc<CudaStream>,
    workspace: Workspace,
}

pub fn a_few_rounds() -> Result<(), Failed> {
    Ok(both_halves(Until::Products(ROUNDS))?)
}

pub fn a_minute() -> Result<(), Failed> {
    Ok(both_halves(Until::Time(HALF_A_MINUTE))?)
}

fn both_halves(until: Until) -> Result<()> {
    let device = Device::new().map_err(anyhow::Error::msg)?;
    let cases = cases(&device)?;
    let context = device.handle.context();
    let free = || {
        context.synchronize()?;
        anyhow::Ok(context.mem_get_info()?.0)
    };
    // What the driver keeps once it has loaded and run them.
    let warm_up = if let Until::Time(_) = until { Until::Products(cases.len()) } else { until };
    for shares in [false, true] {
        half(&device, &cases, shares, warm_up)?;
    }
    let before = free()?;
    for shares in [false, true] {
        let products = half(&device, &cases, shares, until)?;
        println!(
            "{products} products by {THREADS} threads with {}",
            if shares { "one handle" } else { "a handle each" }
        );
    }
    let after = free()?;
    println!("{before} bytes of the device are free before, {after} after");
    ensure!(after + SLACK >= before, "{before} bytes of the device are free before, {after} after");
    Ok(())
}

/// All threads at once; how many products they computed.
fn half(device: &Device, cases: &[Box<dyn Case>], shares: bool, until: Until) -> Result<usize> {
    std::thread::scope(|scope| {
        let work = |thread: usize| {
            let seed = rand::random();
            let work = || {
                let own = if shares { device.handle.clone() } else { Handle::new(device.handle.context())? };
                work(own, cases, until, thread, seed)
            };
            work().with_context(|| format!("thread {thread} with seed {seed}"))
        };
        let threads: Vec<_> = (0..THREADS).map(|thread| scope.spawn(move || work(thread))).collect();
        let join = |thread: std::thread::ScopedJoinHandle<'_, Result<usize>>| match thread.join() {
            Ok(products) => products,
            Err(_) => bail!("a thread panicked"),
        };
        threads.into_iter().map(join).sum()
    })
}

/// Each case once, beginning at another one in each thread, and then any.
fn work(handle: Handle, cases: &[Box<dyn Case>], until: Until, thread: usize, seed: u64) -> Result<usize> {
    let stream = handle.context().new_stream()?;
    let bytes = cases.iter().map(|case| case.workspace_bytes()).max().unwrap_or(0);
    let workspace = handle.workspace(&stream, bytes)?;
    let mut worker = Worker { handle, stream, workspace };
    let mut rng = StdRng::seed_from_u64(seed);
    let (start, mut products) = (Instant::now(), 0);
    while until.goes_on(products, start) {
        let of_turn = (2 * thread + products) % cases.len();
        let case = &cases[if products < cases.len() { of_turn } else { rng.random_range(0..cases.len()) }];
        let way = if rng.random_bool(0.5) { Way::Run } else { Way::Graph };
        case.check(&mut worker, way).with_context(|| format!("{} as a {way:?}", case.name()))?;
        products += 1;
    }
    worker.stream.synchronize()?;
    Ok(products)
}

/// What is computed again and again.
trait Case: Sync {
    fn name(&self) -> String;
    fn workspace_bytes(&self) -> u64;

    /// Computes it in this way and compares with what is known.
    fn check(&self, worker: &mut Worker, way: Way) -> Result<()>;
}

/// A problem, the buffers of which are only read, and what it gives.
struct Known<I, O> {
    problem: Problem,
    /// `None` where the handle chooses it.
    step: Option<&'static Step>,
    kernel: &'static str,
    workspace_bytes: u64,
    a: CudaSlice<I>,
    b: CudaSlice<I>,
    c: CudaSlice<O>,
    /// Where the result goes into D.
    bias: Option<CudaSlice<O>>,
    expected: Vec<O>,
}

impl<I: Bits, O: Bits> Known<I, O> {
    fn new(device: &Device, problem: Problem, step: Option<&'static Step>) -> Result<Self> {
        let Device { handle, stream } = device;
        let mut rng = StdRng::seed_from_u64(rand::random());
        let mut draw = || rng.random_range(-1.0..1.0_f32);
        let [a, b, c, _, bias] = problem.extents()?;
        let (a, b): (Vec<_>, Vec<_>) =
            ((0..a).map(|_| I::new(draw())).collect(), (0..b).map(|_| I::new(draw())).collect());
        let (c, bias): (Vec<_>, Vec<_>) =
            ((0..c).map(|_| O::new(draw())).collect(), (0..bias).map(|_| O::new(draw())).collect());
        let bias = if bias.is_empty() { None } else { Some(stream.clone_htod(&bias)?) };
        let (a, b, on_c) = (stream.clone_htod(&a)?, stream.clone_htod(&b)?, stream.clone_htod(&c)?);
        let mut known =
            Self { problem, step, kernel: "", workspace_bytes: 0, a, b, c: on_c, bias, expected: Vec::new() };
        let gemm = known.gemm(handle)?;
        (known.kernel, known.workspace_bytes) = (gemm.kernel().slug, gemm.workspace_bytes());
        let workspace = handle.workspace(stream, known.workspace_bytes)?;
        let mut worker = Worker { handle: handle.clone(), stream: Arc::clone(stream), workspace };
        known.expected = known.compute(&mut worker, Way::Run)?;
        let is_as_before = |(one, other): (&O, &O)| one.bits() == other.bits();
        ensure!(!known.expected.iter().zip(&c).all(is_as_before), "{} leaves C as it was", known.name());
        println!("{}", known.name());
        Ok(known)
    }

    fn gemm(&self, handle: &Handle) -> Result<Gemm, Error> {
        match self.step {
            None => handle.plan(&self.problem),
            Some(step) => handle.load(Plan::new(step, &self.problem, handle.device().sm_count)?),
        }
    }

    fn arguments<'a>(&'a self, result: &'a mut CudaSlice<O>) -> Arguments<'a, I, O> {
        let [alpha, beta] = FACTORS;
        match &self.bias {
            None => Arguments::new(alpha, &self.a, &self.b, beta, result),
            Some(bias) => Arguments::with_d(alpha, &self.a, &self.b, beta, Some(&self.c), result).with_bias(bias),
        }
    }

    fn compute(&self, worker: &mut Worker, way: Way) -> Result<Vec<O>> {
        let Worker { handle, stream, workspace } = worker;
        let gemm = self.gemm(handle)?;
        let mut result = stream.clone_dtod(&self.c)?;
        match way {
            Way::Run => gemm.run_with(stream, self.arguments(&mut result), workspace)?,
            Way::Graph => gemm.capture(self.arguments(&mut result), workspace)?.launch(stream)?,
        }
        Ok(stream.clone_dtoh(&result)?)
    }

    fn compare(&self, found: &[O]) -> Result<()> {
        ensure!(found.len() == self.expected.len(), "{} elements", found.len());
        let differs = found.iter().zip(&self.expected).position(|(one, other)| one.bits() != other.bits());
        differs.map_or(Ok(()), |at| {
            bail!("element {at} has the bits {:x}, not {:x}", found[at].bits(), self.expected[at].bits())
        })
    }
}

impl<I: Bits, O: Bits> Case for Known<I, O> {
    fn name(&self) -> String {
        let [m, n, k] = self.problem.sizes();
        format!("{m}x{n}x{k} of {} by {}", I::ELEMENT.name(), self.kernel)
    }

    fn workspace_bytes(&self) -> u64 {
        self.workspace_bytes
    }

    fn check(&self, worker: &mut Worker, way: Way) -> Result<()> {
        self.compare(&self.compute(worker, way)?)
    }
}

/// Several problems as a group, each with what it gives alone.
struct Together(Vec<Known<f32, f32>>);

impl Case for Together {
    fn name(&self) -> String {
        format!("a group of {}", self.0.len())
    }

    fn workspace_bytes(&self) -> u64 {
        self.0.iter().map(|known| known.workspace_bytes).max().unwrap_or(0)
    }

    fn check(&self, worker: &mut Worker, way: Way) -> Result<()> {
        let Worker { handle, stream, workspace } = worker;
        let group = handle.plan_group(&self.0.iter().map(|known| known.problem).collect::<Vec<_>>())?;
        let mut results = self.0.iter().map(|known| stream.clone_dtod(&known.c)).collect::<Result<Vec<_>, _>>()?;
        let arguments = self.0.iter().zip(&mut results).map(|(known, result)| known.arguments(result));
        let mut arguments: Vec<_> = arguments.collect();
        match way {
            Way::Run => group.run(stream, &mut arguments, workspace)?,
            Way::Graph => group.capture(arguments, workspace)?.launch(stream)?,
        }
        for (known, result) in self.0.iter().zip(&results) {
            known.compare(&stream.clone_dtoh(result)?).with_context(|| known.name())?;
        }
        Ok(())
    }
}

/// Of f32, with the step where it is not the handle's choice: every class; operands that are aligned and transposed; stream-K, split k;
/// a batch; D apart; an order that does not depend on the shape.
fn problems() -> [(Problem, Option<&'static str>); 11] {
    use AccuracyClass::{Fp32, Tf32};
    let (rows, columns) = (Layout::row_major, Layout::column_major);
    let epilogue = Epilogue { bias: Some(BiasPer::Column), activation: Activation::Gelu };
    [
        (Problem::new(512, 512, 512), None),
        (Problem::new(1024, 1024, 1024).with_accuracy(Fp32), Some("fp16x3")),
        (Problem::new(777, 333, 555).with_accuracy(Tf32), None),
        (Problem::new(500, 600, 700).with_layouts(columns(500), rows(600), rows(600)).with_accuracy(Fp32), None),
        (Problem::new(300, 200, 400).with_layouts(rows(400), columns(400), rows(200)), None),
        (Problem::new(512, 512, 2048), Some("stream-k/128x64t-many")),
        (Problem::new(64, 512, 2048), Some("split-k/32x64x8")),
        (Problem::new(16, 2048, 2048), None),
        (Problem::new(100, 90, 80).with_batch(5, [0, 80 * 90, 100 * 90]), None),
        (Problem::new(400, 300, 200).with_d(rows(300)).with_epilogue(epilogue), None),
        (Problem::new(300, 500, 1000).with_determinism(Determinism::PerElement), None),
    ]
}

/// Those of f32, some of them as a group, and two of f16. What the device does not run is left out.
fn cases(device: &Device) -> Result<Vec<Box<dyn Case>>> {
    let mut cases: Vec<Box<dyn Case>> = Vec::new();
    for (problem, slug) in problems() {
        let step = slug.map(|slug| gpu_kernels::find(slug).context(slug)).transpose()?;
        cases.extend(runnable(Known::<f32, f32>::new(device, problem, step))?.map(boxed));
    }
    let tile = Layout::row_major(128);
    let halves = Problem::new(640, 512, 384).with_elements(Element::F16, Element::F16);
    let to_f32 = Problem::new(200, 128, 96).with_elements(Element::F16, Element::F32);
    let to_f32 = to_f32.with_layouts(Layout::column_major(200), tile, tile);
    cases.extend(runnable(Known::<f16, f16>::new(device, halves, None))?.map(boxed));
    cases.extend(runnable(Known::<f16, f32>::new(device, to_f32, None))?.map(boxed));
    let alone = problems().into_iter().filter(|(_, slug)| slug.is_none());
    let members = alone.map(|(problem, _)| runnable(Known::new(device, problem, None)));
    let members = members.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect();
    cases.push(Box::new(Together(members)));
    Ok(cases)
}

fn boxed<I: Bits, O: Bits>(known: Known<I, O>) -> Box<dyn Case> {
    Box::new(known)
}

/// `None` of what this device runs no kernel for.
fn runnable<T>(known: Result<T>) -> Result<Option<T>> {
    match known {
        Err(error) if matches!(error.downcast_ref(), Some(Error::Unsupported { .. })) => Ok(None),
        known => known.map(Some),
    }
}
