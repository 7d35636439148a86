//! A product over several GPUs: the bits of one, whatever the grid, also where one rank comes late and where the operands are others each
//! time.

use std::sync::Barrier;
use std::thread;

use libtest_mimic::Failed;
use rand::RngExt;
use sgemm::cuda::{Handle, open};
use sgemm::cudarc::driver::{CudaContext, CudaSlice};
use sgemm::distributed::nccl::{Communicator, GRACE, Id, Reduction};
use sgemm::distributed::{Chunks, Grid, Scheme};
use sgemm::{AccuracyClass, Determinism, Layout, Problem};

use super::library::random;

/// More GPUs than these are left alone.
const MOST: usize = 4;

/// Bytes that a rank that comes late has to clear first, up to [`LATE`] times: about as long as a product takes.
const CLEARED: usize = 256 << 20;
const LATE: u32 = 40;

/// How often values of each count are added up.
const SUMS: usize = 10;

/// Whether there are two GPUs. One that is not there is not opened: compute-sanitizer would report that.
pub fn is_possible() -> bool {
    open(0).is_ok() && CudaContext::device_count().is_ok_and(|count| count > 1)
}

/// What is multiplied, how it is dealt out, and how often.
struct Case {
    class: AccuracyClass,
    problem: Problem,
    is_by_columns: bool,
    scheme: Scheme,
    runs: usize,
}

fn cases(ranks: usize) -> Vec<Case> {
    let [rows, columns, both] =
        [(ranks, 1), (1, ranks), (2, ranks / 2)].map(|(rows, columns)| Grid { rows, columns, layers: 1 });
    let mut grids = vec![rows, columns];
    grids.extend((ranks == MOST).then_some(both));
    let case = |sizes: [usize; 3], class, grid: Grid, chunks: usize, runs| {
        let problem = Problem::new(sizes[0], sizes[1], sizes[2]).with_accuracy(class);
        let of = |processes| if processes > 1 { chunks } else { 1 };
        let chunks = Chunks { m: of(grid.columns), n: of(grid.rows) };
        let problem = problem.with_determinism(Determinism::PerElement);
        Case { class, problem, is_by_columns: false, scheme: Scheme::panels(sizes, grid).with_chunks(chunks), runs }
    };
    let mut cases = Vec::new();
    for class in [AccuracyClass::Fp32Strict, AccuracyClass::Fp32, AccuracyClass::Tf32] {
        for &grid in &grids {
            cases.push(case([1500, 1301, 1111], class, grid, 3, 10));
            cases.push(case([4096, 4096, 4096], class, grid, 4, 60));
        }
    }
    let turned = case([1500, 1301, 1111], AccuracyClass::Fp32Strict, rows, 3, 10);
    let by_columns = Layout::column_major;
    let problem = turned.problem.with_layouts(by_columns(1500), by_columns(1111), by_columns(1500));
    cases.push(Case { problem, is_by_columns: true, ..turned });
    cases.push(case([8192, 8192, 8192], AccuracyClass::Fp32, rows, 4, 60));
    cases.push(case([8192, 8192, 8192], AccuracyClass::Fp32, rows, 16, 30));
    cases
}

/// Every run has the bits of one GPU.
pub fn same_bits() -> Result<(), Failed> {
    let id = Id::new()?;
    let contexts: Vec<_> = (0..MOST).map_while(|device| open(device).ok()).collect();
    let handles: Vec<Handle> = contexts.iter().map(Handle::new).collect::<Result<_, _>>()?;
    let ranks = handles.len();
    let communicators = thread::scope(|scope| {
        let join = |rank: usize| Communicator::new(&handles[rank], &id, rank, ranks, GRACE);
        let ranks: Vec<_> = (0..ranks).map(|rank| scope.spawn(move || join(rank))).collect();
        ranks
            .into_iter()
            .map(|rank| rank.join().map_err(|_| "a rank panicked".to_owned()))
            .collect::<Result<Vec<_>, _>>()
    })?;
    let communicators: Vec<Communicator> = communicators.into_iter().collect::<Result<_, _>>()?;
    sums(&communicators)?;
    for case in cases(ranks) {
        let Case { class, problem, scheme, runs, .. } = &case;
        let [m, n, k] = problem.sizes();
        // Two of each, so that what is left of the run before is seen.
        let operands = [0, 1].map(|_| [random(m * k), random(k * n)]);
        let expected = operands.each_ref().map(|[a, b]| alone(&handles[0], problem, a, b));
        let [first, second] = expected;
        let expected = [first?, second?];
        let meet = Barrier::new(ranks);
        let outcome: Vec<_> = thread::scope(|scope| {
            let (case, operands, expected, meet) = (&case, &operands, &expected, &meet);
            let rank = |communicator| move || run(communicator, case, operands, expected, meet);
            let ranks: Vec<_> = communicators.iter().map(|communicator| scope.spawn(rank(communicator))).collect();
            ranks.into_iter().map(|rank| rank.join().unwrap_or_else(|_| Err("a rank panicked".into()))).collect()
        });
        let what = format!("{} of {m} x {n} x {k} over {:?}, {:?}", class.name(), scheme.grid, scheme.chunks);
        let wrong: Vec<String> = outcome.into_iter().filter_map(Result::err).collect();
        println!("{what}: {runs} runs, {}", if wrong.is_empty() { "all alike".into() } else { wrong.join("; ") });
        if !wrong.is_empty() {
            return Err(format!("{what}: {}", wrong.join("; ")).into());
        }
    }
    Ok(())
}

/// Sums over all ranks are right at once, however many values there are: copies to the device are not overtaken.
fn sums(communicators: &[Communicator]) -> Result<(), Failed> {
    let total = (1..=communicators.len()).sum::<usize>() as f64;
    for count in [1, 10_000, 100_000, 1_000_000].repeat(SUMS) {
        let sum = |communicator: &Communicator| {
            let rank = (communicator.rank() + 1) as f64;
            let mut values: Vec<f64> = (0..count).map(|index| rank * f64::from(index)).collect();
            communicator.all_reduce(Reduction::Sum, &mut values).map_err(|error| error.to_string())?;
            let wrong = (0..count).zip(&values).filter(|(index, value)| **value != total * f64::from(*index)).count();
            if wrong == 0 { Ok(()) } else { Err(format!("{wrong} of {count} sums are wrong")) }
        };
        thread::scope(|scope| {
            let ranks: Vec<_> =
                communicators.iter().map(|communicator| scope.spawn(move || sum(communicator))).collect();
            ranks.into_iter().try_for_each(|rank| rank.join().unwrap_or_else(|_| Err("a rank panicked".into())))
        })?;
    }
    Ok(())
}

/// The product on one GPU.
fn alone(handle: &Handle, problem: &Problem, a: &[f32], b: &[f32]) -> Result<Vec<f32>, sgemm::Error> {
    let [m, n, _] = problem.sizes();
    let mut c = vec![f32::NAN; m * n];
    handle.gemm_host(problem, 1.0, a, b, 0.0, &mut c)?;
    Ok(c)
}

/// A rank's runs.
fn run(
    communicator: &Communicator,
    Case { problem, is_by_columns, scheme, runs, .. }: &Case,
    operands: &[[Vec<f32>; 2]; 2],
    expected: &[Vec<f32>; 2],
    meet: &Barrier,
) -> Result<(), String> {
    let text = |error: sgemm::Error| error.to_string();
    let driver = |error: sgemm::cudarc::driver::DriverError| error.to_string();
    let stream = communicator.handle().context().default_stream();
    let mut gemm = communicator.plan(problem, scheme).map_err(text)?;
    let share = *gemm.plan().share();
    let rank = communicator.rank();
    // The rank's rows and columns, from the first one, of a whole matrix that is stored by rows, or by columns.
    let part = |whole: &[f32], own: [usize; 2], first: [usize; 2], all: [usize; 2]| {
        let turned = |pair: [usize; 2]| if *is_by_columns { [pair[1], pair[0]] } else { pair };
        let ([lines, length], [line, offset], [_, all_length]) = (turned(own), turned(first), turned(all));
        (line..line + lines)
            .flat_map(|line| whole[line * all_length + offset..][..length].iter().copied())
            .collect::<Vec<f32>>()
    };
    let [m, n, k] = problem.sizes();
    let mut given: Vec<[CudaSlice<f32>; 2]> = Vec::new();
    for [a, b] in operands {
        let a = part(a, share.a, scheme.global_a(problem, rank, [0, 0]), [m, k]);
        let b = part(b, share.b, scheme.global_b(problem, rank, [0, 0]), [k, n]);
        let [a, b] = [a, b].map(|part| stream.clone_htod(&part));
        let [a, b] = [a.map_err(driver)?, b.map_err(driver)?];
        given.push([a, b]);
    }
    let wanted = expected.each_ref().map(|c| part(c, share.c, scheme.global_c(problem, rank, [0, 0]), [m, n]));
    let nothing = vec![f32::NAN; wanted[0].len()];
    let mut c = stream.clone_htod(&nothing).map_err(driver)?;
    let mut cleared = stream.alloc_zeros::<u8>(CLEARED).map_err(driver)?;
    let mut outcome = Ok(());
    for number in 0..*runs {
        stream.memcpy_htod(&nothing, &mut c).map_err(driver)?;
        stream.synchronize().map_err(driver)?;
        meet.wait();
        if number % communicator.ranks() == rank {
            for _ in 0..rand::rng().random_range(0..LATE) {
                stream.memset_zeros(&mut cleared).map_err(driver)?;
            }
        }
        let [a, b] = &given[number % 2];
        gemm.run(&stream, 1.0, a, b, 0.0, &mut c).map_err(text)?;
        gemm.wait(GRACE).map_err(text)?;
        let found = stream.clone_dtoh(&c).map_err(driver)?;
        let differs = |(found, wanted): (&f32, &f32)| found.to_bits() != wanted.to_bits();
        let count = found.iter().zip(&wanted[number % 2]).filter(|pair| differs(*pair)).count();
        if count > 0 && outcome.is_ok() {
            let first = found.iter().zip(&wanted[number % 2]).position(differs).unwrap_or_default();
            let [of, other] = [number % 2, (number + 1) % 2].map(|which| wanted[which][first]);
            outcome = Err(format!(
                "rank {rank}, run {number}: {count} elements differ, the first is {first}: {}, not {of} (before: {other})",
                found[first]
            ));
        }
    }
    outcome
}
