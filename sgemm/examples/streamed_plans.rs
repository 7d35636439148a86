//! C = A\*B of square matrices in the host's page-locked memory, by the plan that is chosen for 1, 2, 4 ... GPUs, and by others: how fast each
//! is, how fast it was predicted to be, and how fast its products are alone, in the GPUs' memory. And what GPUs exchange with the host and
//! with each other in a second.
//!
//! `cargo run --release -p sgemm --example streamed_plans [-- SIZE [MIB [RUNS [THREADS]]]]`
//!
//! With so many threads the matrices are written for the first time, which decides near which CPU their pages are.

use std::error::Error;
use std::time::Instant;

use sgemm::cuda::{CUdeviceptr, Handle, open};
use sgemm::cudarc::driver::CudaStream;
use sgemm::cudarc::driver::result::{free_sync, malloc_sync, memcpy_dtoh_async, memcpy_htod_async, memcpy_peer_async};
use sgemm::streamed::{Kept, Plan, Rates, Registered, Shape, Streamer, Task, Work};
use sgemm::{Abc, Problem};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

const ALPHA_BETA: [f32; 2] = [1.0, 0.0];

/// Bytes of a copy, and how many follow each other.
const COPY_BYTES: usize = 64 << 20;
const COPIES: usize = 8;

/// Plans of each grid of all GPUs that are run, beside the chosen one: those with the least predicted times.
const BEST: usize = 4;

/// Rows of C that are compared with f64.
const ROWS: usize = 3;

fn main() -> Result<()> {
    let given: Vec<usize> = std::env::args().skip(1).map(|word| word.parse()).collect::<std::result::Result<_, _>>()?;
    let [n, mib, runs, threads] =
        [0, 1, 2, 3].map(|at| given.get(at).copied().unwrap_or([4096, 16 << 10, 7, 1][at]).max(1));
    let Ok(first) = open(0).inspect_err(|error| println!("{error}")) else { return Ok(()) };
    let mut handles = vec![Handle::new(&first)?];
    while let Ok(context) = open(handles.len()) {
        handles.push(Handle::new(&context)?);
    }
    if handles.len() == 1 {
        println!("one GPU, which stands for two as well");
        handles.push(handles[0].clone());
    }
    let [mut a, mut b, mut c] = [1, 2, 3].map(|seed| numbers(n * n, seed, threads));
    let rows: Vec<usize> = (0..ROWS).map(|row| (row * (n - 1)) / (ROWS - 1)).collect();
    let expected = product(&rows, n, &a, &b);
    let (a, b) = (Registered::new(&first, &mut a)?, Registered::new(&first, &mut b)?);
    let mut c = Registered::new(&first, &mut c)?;

    let problem = Problem::new(n, n, n);
    let limits = |gpus: usize| vec![(mib as u64) << 20; gpus];
    println!("n = {n}, {mib} MiB of each GPU, medians of {runs} runs");
    let titles = ["predicted", "median", "slowest", "fastest", "products"].map(|title| format!(" {title:>9}"));
    println!("{:60}{}", "TFLOPS by plan", titles.concat());
    for gpus in [1, 2, 4, 8].into_iter().filter(|gpus| *gpus <= handles.len()) {
        let mut streamer = Streamer::new(&handles[..gpus])?;
        let device = handles[0].device();
        let chosen = streamer.plan(&problem, &limits(gpus), ALPHA_BETA)?;
        let unshared =
            Plan::with_rates(&problem, device, &limits(gpus), ALPHA_BETA, Rates::h200(gpus).without_peers())?;
        let mut plans = vec![("chosen", chosen)];
        if gpus > 1 {
            plans.push(("not shared", unshared));
            let best = if gpus == handles.len() { BEST } else { 1 };
            plans.extend(others(&problem, &handles, &limits(gpus), best)?.into_iter().map(|plan| ("", plan)));
        }
        for (name, plan) in plans {
            let predicted = problem.flops() / plan.predicted_us(ALPHA_BETA) / 1e6;
            let text = format!("{gpus} GPUs, {} {name}", text(&plan));
            let products = problem.flops() / products_s(&plan, &handles, &a)? / 1e12;
            let mut plan = streamer.load(plan)?;
            streamer.reserve(&plan)?;
            let mut times = Vec::new();
            c.fill(f32::NAN);
            for run in 0..=runs {
                let start = Instant::now();
                streamer.run(&mut plan, 1.0, &a, &b, 0.0, &mut c)?;
                times.extend((run > 0).then(|| start.elapsed().as_secs_f64()));
            }
            check(&rows, n, &expected, &c)?;
            times.sort_by(f64::total_cmp);
            let [median, slowest, fastest] = [runs / 2, runs - 1, 0].map(|at| problem.flops() / times[at] / 1e12);
            println!("{text:60} {predicted:9.1} {median:9.1} {slowest:9.1} {fastest:9.1} {products:9.1}");
        }
    }
    // Streamers have given the GPUs access to each other's memory.
    if n * n * 4 >= COPY_BYTES {
        rates(&handles, &a, &mut c)?;
    }
    Ok(())
}

/// Numbers from -1 to 1, written by so many threads in turn.
fn numbers(count: usize, seed: u64, threads: usize) -> Vec<f32> {
    const CHUNK: usize = 1 << 20;
    let fill = |(number, chunk): (usize, &mut [f32])| {
        let mut state = seed << 32 | number as u64;
        for element in chunk {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            *element = (state >> 40) as f32 / (1 << 23) as f32 - 1.0;
        }
    };
    // Its pages are not there before they are written.
    let mut numbers = vec![0.0; count];
    let mut chunks: Vec<Vec<_>> = (0..threads).map(|_| Vec::new()).collect();
    numbers.chunks_mut(CHUNK).enumerate().for_each(|chunk| chunks[chunk.0 % threads].push(chunk));
    std::thread::scope(|scope| {
        for own in chunks {
            scope.spawn(move || own.into_iter().for_each(fill));
        }
    });
    numbers
}

/// Some rows of A\*B, and of the products of magnitudes.
fn product(rows: &[usize], n: usize, a: &[f32], b: &[f32]) -> Vec<Vec<[f64; 2]>> {
    let row = |row: &usize| {
        let mut sums = vec![[0.0; 2]; n];
        for (factor, line) in a[row * n..][..n].iter().zip(b.chunks(n)) {
            for (sum, element) in sums.iter_mut().zip(line) {
                let term = f64::from(*factor) * f64::from(*element);
                *sum = [sum[0] + term, sum[1] + term.abs()];
            }
        }
        sums
    };
    rows.iter().map(row).collect()
}

fn check(rows: &[usize], n: usize, expected: &[Vec<[f64; 2]>], c: &[f32]) -> Result<()> {
    for (row, expected) in rows.iter().zip(expected) {
        for (column, ([sum, size], element)) in expected.iter().zip(&c[row * n..][..n]).enumerate() {
            // 2^-22 of the sum of magnitudes, for each of some hundred partial sums, is more than any order of the sum needs.
            if (f64::from(*element) - sum).abs().partial_cmp(&(size * 3e-5)) != Some(std::cmp::Ordering::Less) {
                return Err(format!("element {row}, {column} is {element}, not {sum}").into());
            }
        }
    }
    match c.iter().position(|element| element.is_nan()) {
        Some(element) => Err(format!("element {element} is not computed").into()),
        None => Ok(()),
    }
}

/// Plans that share panels, in each grid the best by prediction.
fn others(problem: &Problem, handles: &[Handle], limits: &[u64], best: usize) -> Result<Vec<Plan>> {
    let time_us = |plan: &Plan| plan.predicted_us(ALPHA_BETA);
    let (gpus, [m, n, k]) = (limits.len(), problem.sizes());
    let mut plans = Vec::new();
    for rows in (1..=gpus).filter(|rows| gpus.is_multiple_of(*rows)) {
        let columns = gpus / rows;
        let mut of_grid = Vec::new();
        let widths = |whole: usize| (0..6).map(move |halvings| whole >> halvings).filter(|width| *width >= 256);
        for tile in widths(m / rows).flat_map(|m| widths(n / columns).map(move |n| [m, n])) {
            let slots = Abc { a: m / rows / tile[0], b: n / columns / tile[1], c: 3 };
            let plan = |kept| {
                let shape = Shape { tile, piece: k, slots, kept };
                Plan::of_shape(problem, handles[0].device(), limits, ([rows, columns], true), shape)
            };
            let plans = Kept::ALL.into_iter().map(plan).collect::<std::result::Result<Vec<_>, _>>()?;
            of_grid.extend(plans.into_iter().flatten().min_by(|one, other| time_us(one).total_cmp(&time_us(other))));
        }
        of_grid.sort_by(|one, other| time_us(one).total_cmp(&time_us(other)));
        of_grid.truncate(best);
        plans.extend(of_grid);
    }
    Ok(plans)
}

/// Seconds of as many products as the plan has on each GPU, of the size that most of them have, with nothing beside them.
fn products_s(plan: &Plan, handles: &[Handle], numbers: &[f32]) -> Result<f64> {
    let mut gpus = Vec::new();
    for (part, handle) in plan.parts().iter().zip(handles) {
        let of_product = |task: &Task| if let Work::Product(product) = task.work { Some(product.gemm) } else { None };
        let products: Vec<usize> = part.tasks().iter().filter_map(of_product).collect();
        let gemm = handle.load(part.gemms()[products[products.len() / 2]].clone())?;
        let stream = handle.context().new_stream()?;
        let [of_a, of_b, of_c, ..] = gemm.problem().extents()?;
        // Zeros would take less power.
        let [a, b] = [of_a, of_b].map(|count| stream.clone_htod(&numbers[..count]));
        let memory = (a?, b?, stream.alloc_zeros::<f32>(of_c)?, handle.workspace(&stream, gemm.workspace_bytes())?);
        gpus.push((gemm, stream, memory, products.len()));
    }
    let mut seconds = 0.0;
    for _ in 0..2 {
        let start = Instant::now();
        for (gemm, stream, (a, b, c, workspace), products) in &mut gpus {
            (0..*products).try_for_each(|_| gemm.run(stream, 1.0, a, b, 0.0, c, workspace))?;
        }
        gpus.iter().try_for_each(|(_, stream, ..)| stream.synchronize())?;
        seconds = start.elapsed().as_secs_f64();
    }
    Ok(seconds)
}

fn text(plan: &Plan) -> String {
    let ([rows, columns], shape) = (plan.grid(), plan.parts()[0].shape());
    let Shape { tile, piece, slots, kept } = shape;
    let Abc { a, b, c } = slots;
    let shared = if plan.is_shared() { "shared" } else { "alone" };
    let k = if *piece < plan.problem().sizes()[2] { format!(" x {piece}") } else { String::new() };
    format!("{rows}x{columns} {shared}, {}x{}{k} {a}/{b}/{c} kept {kept:?}", tile[0], tile[1])
}

/// What GPUs copy.
#[derive(Debug, Clone, Copy)]
enum Way {
    Up,
    Down,
    Peer,
}

/// Prints the rates of copies: of one GPU, and of all at once.
fn rates(handles: &[Handle], from: &[f32], to: &mut [f32]) -> Result<()> {
    let ways: [&[Way]; 6] = [
        &[Way::Up],
        &[Way::Down],
        &[Way::Up, Way::Down],
        &[Way::Peer],
        &[Way::Up, Way::Peer],
        &[Way::Up, Way::Down, Way::Peer],
    ];
    let memory: Vec<[CUdeviceptr; 2]> = handles.iter().map(allocate).collect::<Result<_>>()?;
    for ways in ways {
        for gpus in [1, 2, 4, 8].into_iter().filter(|gpus| *gpus <= handles.len()) {
            let mut streams = Vec::new();
            for handle in &handles[..gpus] {
                for way in ways {
                    streams.push((*way, handle.context().new_stream()?));
                }
            }
            let mut seconds = f64::INFINITY;
            for _ in 0..3 {
                let start = Instant::now();
                for _ in 0..COPIES {
                    for (number, (way, stream)) in streams.iter().enumerate() {
                        let gpu = number / ways.len();
                        copy(*way, stream, handles, &memory, gpu, from, to)?;
                    }
                }
                streams.iter().try_for_each(|(_, stream)| stream.synchronize())?;
                seconds = seconds.min(start.elapsed().as_secs_f64());
            }
            let gbps = (COPIES * COPY_BYTES) as f64 / seconds / 1e9;
            println!("{ways:?}: {gbps:.1} GB/s in each way, of each of {gpus} GPUs");
        }
    }
    for (handle, addresses) in handles.iter().zip(memory) {
        handle.context().bind_to_thread()?;
        // SAFETY: they were allocated there, and all copies have ended.
        addresses.into_iter().try_for_each(|address| unsafe { free_sync(address) })?;
    }
    Ok(())
}

/// What is read, and what is written, of a GPU.
fn allocate(handle: &Handle) -> Result<[CUdeviceptr; 2]> {
    handle.context().bind_to_thread()?;
    // SAFETY: the context is current, and what is read there does not matter.
    unsafe { Ok([malloc_sync(COPY_BYTES)?, malloc_sync(COPY_BYTES)?]) }
}

/// Queues a copy, from or to a GPU's own place on the host, or from the next GPU.
fn copy(
    way: Way,
    stream: &CudaStream,
    handles: &[Handle],
    memory: &[[CUdeviceptr; 2]],
    gpu: usize,
    from: &[f32],
    to: &mut [f32],
) -> Result<()> {
    let elements = COPY_BYTES / size_of::<f32>();
    let place = |length: usize| gpu * elements % (length - elements + 1);
    stream.context().bind_to_thread()?;
    let next = (gpu + 1) % handles.len();
    let contexts = [gpu, next].map(|gpu| handles[gpu].context().cu_ctx());
    let [source, target] = memory[gpu];
    // SAFETY: all places have as many bytes, and live until the streams are synchronised; what they hold does not matter.
    unsafe {
        match way {
            Way::Up => memcpy_htod_async(target, &from[place(from.len())..][..elements], stream.cu_stream())?,
            Way::Down => {
                let start = place(to.len());
                memcpy_dtoh_async(&mut to[start..][..elements], source, stream.cu_stream())?;
            }
            Way::Peer if contexts[0] == contexts[1] => {}
            Way::Peer => {
                memcpy_peer_async(contexts[0], target, contexts[1], memory[next][0], COPY_BYTES, stream.cu_stream())?
            }
        }
    }
    Ok(())
}
