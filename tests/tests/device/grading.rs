//! The guarantee of the classes fp32 and fp32-strict for each element, kernels chosen by name included, on a device.

use std::error::Error;
use std::fmt::Write;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use libtest_mimic::Failed;
use sgemm::plan::Plan;
use sgemm::{AccuracyClass, Problem};
use tests::grading::{Case, Graded, Kind, bound, grade};

use super::library::Device;

/// Rows and columns: several tiles, the last ones cut.
const SIZES: [usize; 2] = [200, 136];

/// From one product to sums of many blocks.
const LENGTHS: [usize; 9] = [1, 2, 8, 32, 65, 256, 1024, 4096, 16_384];

/// Products of [`SIZES`] whose rows and columns are of mixed kinds: each of their elements is a problem, 10^7 in all.
const PRODUCTS: usize = 10_000_000usize.div_ceil(SIZES[0] * SIZES[1]);

/// Lengths of short sums, among them both sides of each edge of a k-tile.
const SHORT: [usize; 13] = [1, 7, 31, 32, 33, 50, 64, 65, 100, 127, 128, 129, 200];

/// Every kind at every length, with fresh seeds.
pub fn kinds() -> Result<(), Failed> {
    let cases: Vec<(Kind, usize)> = Kind::all().flat_map(|kind| LENGTHS.map(|k| (kind, k))).collect();
    let [m, n] = SIZES;
    let draw = |at: usize| {
        let (kind, k) = cases[at];
        (kind.name(), kind.case([m, n, k], rand::random()))
    };
    check(&Graded::all(), cases.len(), draw)
}

/// Rows and columns of different kinds.
pub fn mixed() -> Result<(), Failed> {
    let [m, n] = SIZES;
    let draw = |at: usize| ("mixed".to_owned(), Kind::mixed([m, n, SHORT[at % SHORT.len()]], rand::random()));
    check(&Graded::split(), PRODUCTS, draw)
}

/// Grades each of so many cases, several at a time, and prints the largest part of c(k) that one took, by length.
fn check(
    graded: &[Graded],
    count: usize,
    draw: impl Fn(usize) -> (String, Result<Case, host::Error>) + Sync,
) -> Result<(), Failed> {
    let (next, worst) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || -> Result<(), String> {
        let device = Device::new()?;
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            if at >= count {
                return Ok(());
            }
            let (name, case) = draw(at);
            let case = case.map_err(|error| error.to_string())?;
            for &one in graded {
                let (computed, is_split) = multiply(&device, one, &case)?;
                let k = case.sizes[2];
                let part = grade(&case, &computed) / bound(k, is_split);
                worst.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).push((one.name(), k, part, name.clone()));
            }
        }
    };
    let threads = thread::available_parallelism().map_or(1, usize::from).min(16);
    thread::scope(|scope| {
        let started: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        started.into_iter().try_for_each(|thread| thread.join().map_err(|_| "a thread panicked".to_owned())?)
    })?;
    let mut all = worst.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
    all.sort_by(|one, other| (one.0, one.1).cmp(&(other.0, other.1)).then(other.2.total_cmp(&one.2)));
    let beyond = all.iter().filter(|(_, _, part, _)| *part > 1.0).count();
    let mut text = String::new();
    all.dedup_by_key(|(name, k, ..)| (*name, *k));
    for (name, k, part, kind) in &all {
        writeln!(text, "{name:12} k = {k:6}: {part:.3} of c(k), {kind}")?;
    }
    println!("\n{text}");
    if beyond == 0 { Ok(()) } else { Err(format!("{beyond} cases are beyond the guarantee").into()) }
}

/// C' of a case, and whether the kernel that computed it splits its operands.
fn multiply(device: &Device, graded: Graded, case: &Case) -> Result<(Vec<f32>, bool), String> {
    let run = || -> Result<_, Box<dyn Error>> {
        let Device { handle, stream } = device;
        let [m, n, k] = case.sizes;
        let problem = Problem::new(m, n, k);
        let gemm = match graded {
            Graded::Class(class) => handle.plan(&problem.with_accuracy(class))?,
            Graded::Kernel(step) => {
                let problem = problem.with_accuracy(AccuracyClass::of(step.precision));
                handle.load(Plan::new(step, &problem, handle.device().sm_count)?)?
            }
        };
        let mut workspace = handle.workspace(stream, gemm.workspace_bytes())?;
        let (a, b, mut c) = (stream.clone_htod(&case.a)?, stream.clone_htod(&case.b)?, stream.clone_htod(&case.c)?);
        gemm.run(stream, case.alpha, &a, &b, case.beta, &mut c, &mut workspace)?;
        Ok((stream.clone_dtoh(&c)?, gemm.kernel().has_split_operands()))
    };
    run().map_err(|error| error.to_string())
}
