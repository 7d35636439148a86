//! How fast the emulator is: `cargo bench -p ptx-emu`.
//!
//! Two figures come first: the throughput on the 2d-tiling step at 512 x 512 x 512 with all checkers disabled and with
//! all enabled, in thread instructions per second.

use std::time::{Duration, Instant};

use divan::Bencher;
use divan::counter::{BytesCount, ItemsCount};
use gpu_kernels::{STEPS, Step};
use ptx_emu::{Checks, GlobalMemory, Kernel, Launch, Module};

const PTX: &str = include_str!("../../sgemm/src/modules/sm_80.ptx");

/// m, n and k.
const SIZE: u32 = 512;

/// Launches, of which the fastest counts.
const LAUNCHES: usize = 5;

fn main() {
    // Cargo's own arguments; with any other, such as `--list` or a name to filter by, only divan speaks.
    if std::env::args().skip(1).all(|argument| argument == "--bench") {
        summary();
    }
    divan::main();
}

fn summary() {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    println!(
        "2d-tiling at {SIZE} x {SIZE} x {SIZE} on {cores} threads of the host, the fastest of {LAUNCHES} launches:"
    );
    let problem = Problem::new("2d-tiling");
    let [off, on] = [("off", Checks::NONE), ("all on", Checks::ALL)].map(|(name, checks)| {
        let (instructions, time) = problem.fastest(checks);
        let rate = instructions as f64 / time.as_secs_f64();
        let (instructions, time) = (instructions as f64 / 1e6, 1e3 * time.as_secs_f64());
        println!("  checkers {name:6}  {rate:.3e} lane-instructions/s ({instructions:.1} million in {time:.1} ms)");
        rate
    });
    println!("  checkers make it {:.2} times slower\n", off / on);
}

/// A step and its arguments.
struct Problem {
    kernel: Kernel,
    launch: Launch,
}

impl Problem {
    fn new(slug: &str) -> Self {
        let step = gpu_kernels::find(slug).expect("the step is in the registry");
        let module = Module::parse(PTX).expect("the project's PTX is read");
        let kernel = module.kernel(step.kernel).expect("the project's kernels can be run");
        let launch = Launch {
            dynamic_shared_bytes: step.dynamic_smem_bytes,
            ..Launch::new(step.grid(SIZE, SIZE, 1, 132), step.block)
        };
        Self { kernel, launch }
    }

    /// C = A*B, all of them squares.
    fn memory(&self, checks: Checks) -> (GlobalMemory, Launch) {
        let mut memory = GlobalMemory::default();
        let elements = u64::from(SIZE) * u64::from(SIZE);
        let ones = || (0..elements).map(|index| (index as f32 / elements as f32).to_bits());
        let [a, b] = [memory.allocate_words(ones()), memory.allocate_words(ones())];
        let c = memory.allocate(4 * elements);
        let [size, a, b, c] = [u64::from(SIZE), a, b, c];
        let launch = self.launch.clone();
        let launch =
            [size, size, size].into_iter().fold(launch, |launch, size| launch.argument((size as u32).to_le_bytes()));
        let launch = launch.argument(1f32.to_le_bytes());
        let launch = launch.argument(a.to_le_bytes()).argument(SIZE.to_le_bytes());
        let launch = launch.argument(b.to_le_bytes()).argument(SIZE.to_le_bytes());
        let launch = launch.argument(0f32.to_le_bytes()).argument(c.to_le_bytes()).argument(SIZE.to_le_bytes());
        (memory, Launch { checks, ..launch })
    }

    /// Thread instructions, and the shortest time.
    fn fastest(&self, checks: Checks) -> (u64, Duration) {
        let (mut memory, launch) = self.memory(checks);
        let launches = (0..LAUNCHES).map(|_| {
            let start = Instant::now();
            let report = self.kernel.launch(&mut memory, &launch).expect("the launch fits the kernel");
            let time = start.elapsed();
            assert!(report.is_clean(), "{:?} {:?}", report.fault, report.findings);
            (report.counters.thread_instructions, time)
        });
        launches.min_by_key(|(_, time)| *time).unwrap_or_default()
    }
}

/// The whole file, of all steps.
#[divan::bench]
fn parse(bencher: Bencher<'_, '_>) {
    bencher.counter(BytesCount::of_str(PTX)).bench(|| Module::parse(PTX));
}

/// One step at a time.
#[divan::bench(args = STEPS.iter().map(|step| step.slug))]
fn lower(bencher: Bencher<'_, '_>, slug: &str) {
    let module = Module::parse(PTX).expect("the project's PTX is read");
    let kernel = gpu_kernels::find(slug).map_or("", |step: &Step| step.kernel);
    bencher.bench(|| module.kernel(kernel).expect("the project's kernels can be run"));
}

/// 2d-tiling, with checkers and without; items are thread instructions.
#[divan::bench(args = ["none", "all"], sample_count = 5, sample_size = 1)]
fn tiling_2d(bencher: Bencher<'_, '_>, checks: &str) {
    let checks = if checks == "all" { Checks::ALL } else { Checks::NONE };
    let problem = Problem::new("2d-tiling");
    let (instructions, _) = problem.fastest(checks);
    let (mut memory, launch) = problem.memory(checks);
    bencher.counter(ItemsCount::new(instructions)).bench_local(|| problem.kernel.launch(&mut memory, &launch));
}
