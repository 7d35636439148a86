//! What prepared operands gain: TFLOPS of the class `fp32` at square sizes with neither operand prepared, with B, and with both. With
//! the L2 cache flushed before each run, with the operands of the run before in it, and the latter as a CUDA graph.
//!
//! And what epilogues cost: TFLOPS of each class of f32 without one, with one in the kernel, and with one in a post-pass.
//!
//! `cargo run --release -p sgemm --example throughput [-- SIZE ...]`

use std::error::Error;
use std::sync::Arc;

use sgemm::cuda::{Arguments, Gemm, Handle, PreparedOperand, Workspace, open};
use sgemm::cudarc::driver::sys::CUevent_flags;
use sgemm::cudarc::driver::{CudaSlice, CudaStream};
use sgemm::{AccuracyClass, Activation, BiasPer, Epilogue, Layout, Problem};

#[path = "common/numbers.rs"]
mod numbers;

use numbers::{median, random};

/// Rounds in which the ways alternate, so that a clock that falls is the same for all.
const ROUNDS: usize = 15;
/// Runs of a round between two events, where L2 is not flushed.
const RUNS: usize = 8;
/// More than any L2 cache.
const FLUSHED_BYTES: usize = 512 << 20;

fn main() -> Result<(), Box<dyn Error>> {
    let Ok(context) = open(0).inspect_err(|error| println!("{error}")) else { return Ok(()) };
    let sizes: Vec<usize> = std::env::args().skip(1).map(|size| size.parse()).collect::<Result<_, _>>()?;
    let stream = context.default_stream();
    let handle = Handle::new(&context)?;
    let sizes = if sizes.is_empty() { vec![1024, 2048, 4096, 8192] } else { sizes };
    let mut flush = stream.alloc_zeros::<u8>(FLUSHED_BYTES)?;
    prepared(&handle, &stream, &sizes, &mut flush)?;
    epilogues(&handle, &stream, &sizes, &mut flush)
}

/// Plans with neither operand prepared, one or both.
fn prepared(
    handle: &Handle,
    stream: &Arc<CudaStream>,
    sizes: &[usize],
    flush: &mut CudaSlice<u8>,
) -> Result<(), Box<dyn Error>> {
    println!("TFLOPS of class fp32, median of {ROUNDS}");
    println!("{:>6} {:18} {:8} {:>10} {:>10} {:>10}", "size", "kernel", "prepared", "flushed", "hot", "graph");
    for &size in sizes {
        let gemm = handle.plan(&Problem::new(size, size, size).with_accuracy(AccuracyClass::Fp32))?;
        let (a, b) = (stream.clone_htod(&random(size * size, 1))?, stream.clone_htod(&random(size * size, 2))?);
        let mut workspace = handle.workspace(stream, gemm.workspace_bytes())?;
        let prepared = (gemm.prepare_a(stream, &a)?, gemm.prepare_b(stream, &b)?);
        let ways =
            [("neither", None, None), ("B", None, Some(&prepared.1)), ("both", Some(&prepared.0), Some(&prepared.1))];
        let mut c = stream.alloc_zeros::<f32>(size * size)?;
        let mut times = vec![[const { Vec::new() }; 3]; ways.len()];
        let mut results = Vec::new();
        for _ in 0..ROUNDS {
            results.clear();
            for ((_, of_a, of_b), times) in ways.iter().zip(&mut times) {
                let mut run = Run { gemm: &gemm, stream, a: &a, b: &b, of_a: *of_a, of_b: *of_b };
                times[0].push(run.flushed(flush, &mut c, &mut workspace)?);
                results.push(stream.clone_dtoh(&c)?);
                times[1].push(run.hot(&mut c, &mut workspace)?);
                times[2].push(run.graph(&mut c, &mut workspace)?);
            }
        }
        assert!(results.windows(2).all(|pair| pair[0] == pair[1]), "prepared operands give the same bits");
        for ((name, ..), times) in ways.iter().zip(times) {
            let tflops = times.map(|times| gemm.problem().flops() / median(times) / 1e12);
            let [flushed, hot, graph] = tflops;
            println!("{size:6} {:18} {name:8} {flushed:10.1} {hot:10.1} {graph:10.1}", gemm.kernel().slug);
        }
    }
    Ok(())
}

/// Plans without an epilogue, with one in the kernel's own, and with the same in a post-pass, which a D apart from C takes.
fn epilogues(
    handle: &Handle,
    stream: &Arc<CudaStream>,
    sizes: &[usize],
    flush: &mut CudaSlice<u8>,
) -> Result<(), Box<dyn Error>> {
    let ways = [
        ("none", Activation::None, false),
        ("bias, ReLU", Activation::Relu, false),
        ("bias, GELU", Activation::Gelu, false),
        ("post-pass: bias, ReLU", Activation::Relu, true),
    ];
    println!("TFLOPS by epilogue, L2 flushed, median of {ROUNDS}");
    println!("{:>6} {:12}{}", "size", "class", ways.map(|(name, ..)| format!("{name:>22}")).concat());
    for &size in sizes {
        let (a, b) = (stream.clone_htod(&random(size * size, 1))?, stream.clone_htod(&random(size * size, 2))?);
        let (mut c, bias) = (stream.alloc_zeros::<f32>(size * size)?, stream.clone_htod(&random(size, 3))?);
        for class in [AccuracyClass::Fp32Strict, AccuracyClass::Fp32, AccuracyClass::Tf32] {
            let problem = Problem::new(size, size, size).with_accuracy(class);
            let plan = |(_, activation, is_apart): (_, Activation, bool)| {
                let has_bias = activation != Activation::None;
                let epilogue = Epilogue { bias: has_bias.then_some(BiasPer::Column), activation };
                let problem = problem.with_epilogue(epilogue);
                let gemm = handle.plan(&if is_apart { problem.with_d(Layout::row_major(size)) } else { problem })?;
                Ok((gemm, has_bias, is_apart))
            };
            let plans = ways.into_iter().map(plan).collect::<Result<Vec<_>, Box<dyn Error>>>()?;
            let bytes = plans.iter().map(|(gemm, ..)| gemm.workspace_bytes()).max().unwrap_or(0);
            // One for all rounds: the first run in a workspace clears its flags.
            let mut workspace = handle.workspace(stream, bytes)?;
            let mut times = [const { Vec::new() }; 4];
            for _ in 0..ROUNDS {
                for ((gemm, has_bias, is_apart), times) in plans.iter().zip(&mut times) {
                    stream.memset_zeros(flush)?;
                    times.push(seconds(stream, 1, || {
                        let arguments = if *is_apart {
                            Arguments::with_d(1.0, &a, &b, 0.0, None, &mut c)
                        } else {
                            Arguments::new(1.0, &a, &b, 0.0, &mut c)
                        };
                        let arguments = if *has_bias { arguments.with_bias(&bias) } else { arguments };
                        Ok(gemm.run_with(stream, arguments, &mut workspace)?)
                    })?);
                }
            }
            let tflops = times.map(|times| format!("{:22.1}", problem.flops() / median(times) / 1e12));
            println!("{size:6} {:12}{}", class.name(), tflops.concat());
        }
    }
    Ok(())
}

/// A way to run a plan.
struct Run<'a> {
    gemm: &'a Gemm,
    stream: &'a Arc<CudaStream>,
    a: &'a CudaSlice<f32>,
    b: &'a CudaSlice<f32>,
    of_a: Option<&'a PreparedOperand<'a, f32>>,
    of_b: Option<&'a PreparedOperand<'a, f32>>,
}

impl Run<'_> {
    fn arguments<'a>(&'a self, c: &'a mut CudaSlice<f32>) -> Arguments<'a, f32> {
        let arguments = Arguments::new(1.0, self.a, self.b, 0.0, c);
        let arguments = self.of_a.into_iter().fold(arguments, Arguments::with_prepared_a);
        self.of_b.into_iter().fold(arguments, Arguments::with_prepared_b)
    }

    /// Seconds of a run after the L2 cache was filled with something else.
    fn flushed(
        &mut self,
        flush: &mut CudaSlice<u8>,
        c: &mut CudaSlice<f32>,
        workspace: &mut Workspace,
    ) -> Result<f64, Box<dyn Error>> {
        self.stream.memset_zeros(flush)?;
        seconds(self.stream, 1, || Ok(self.gemm.run_with(self.stream, self.arguments(c), workspace)?))
    }

    /// Seconds of one of several runs in succession.
    fn hot(&mut self, c: &mut CudaSlice<f32>, workspace: &mut Workspace) -> Result<f64, Box<dyn Error>> {
        seconds(self.stream, RUNS, || Ok(self.gemm.run_with(self.stream, self.arguments(c), workspace)?))
    }

    /// The same of a graph's launches.
    fn graph(&mut self, c: &mut CudaSlice<f32>, workspace: &mut Workspace) -> Result<f64, Box<dyn Error>> {
        let mut graph = self.gemm.capture(self.arguments(c), workspace)?;
        graph.launch(self.stream)?;
        seconds(self.stream, RUNS, || Ok(graph.launch(self.stream)?))
    }
}

/// Seconds of a call on the device, of so many.
fn seconds(
    stream: &CudaStream,
    calls: usize,
    mut call: impl FnMut() -> Result<(), Box<dyn Error>>,
) -> Result<f64, Box<dyn Error>> {
    let timed = Some(CUevent_flags::CU_EVENT_DEFAULT);
    let start = stream.record_event(timed)?;
    (0..calls).try_for_each(|_| call())?;
    let end = stream.record_event(timed)?;
    Ok(f64::from(start.elapsed_ms(&end)?) / 1e3 / calls as f64)
}
