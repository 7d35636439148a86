//! A product over two GPUs: the bits of one, whatever the grid, also where one rank comes late and where the operands are others each time.

use std::sync::Barrier;
use std::thread;

use libtest_mimic::Failed;
use rand::RngExt;
use sgemm::cuda::{Handle, open};
use sgemm::cudarc::driver::CudaSlice;
use sgemm::distributed::nccl::{Communicator, GRACE, Id};
use sgemm::distributed::{Chunks, Grid, Scheme};
use sgemm::{AccuracyClass, Determinism, Layout, Problem};

use super::library::random;

const RANKS: usize = 2;

/// Bytes that a rank that comes late has to clear first, up to [`LATE`] times: about as long as a product takes.
const CLEARED: usize = 256 << 20;
const LATE: u32 = 40;

/// Whether there are so many GPUs.
pub fn is_possible() -> bool {
    open(RANKS - 1).is_ok()
}

/// What is multiplied, how it is dealt out, and how often.
struct Case {
    class: AccuracyClass,
    problem: Problem,
    is_by_columns: bool,
    scheme: Scheme,
    runs: usize,
}

fn cases() -> Vec<Case> {
    let [rows, columns] = [(RANKS, 1), (1, RANKS)].map(|(rows, columns)| Grid { rows, columns, layers: 1 });
    let case = |sizes: [usize; 3], class, grid, chunks: usize, runs| {
        let problem = Problem::new(sizes[0], sizes[1], sizes[2]).with_accuracy(class);
        let chunks = if grid == rows { Chunks { m: 1, n: chunks } } else { Chunks { m: chunks, n: 1 } };
        let problem = problem.with_determinism(Determinism::PerElement);
        Case { class, problem, is_by_columns: false, scheme: Scheme::panels(sizes, grid).with_chunks(chunks), runs }
    };
    let mut cases = Vec::new();
    for class in [AccuracyClass::Fp32Strict, AccuracyClass::Fp32, AccuracyClass::Tf32] {
        for grid in [rows, columns] {
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
    let handles: Vec<Handle> = (0..RANKS).map(|rank| Handle::new(&open(rank)?)).collect::<Result<_, _>>()?;
    let communicators = thread::scope(|scope| {
        let join = |rank: usize| Communicator::new(&handles[rank], &id, rank, RANKS, GRACE);
        let ranks: Vec<_> = (0..RANKS).map(|rank| scope.spawn(move || join(rank))).collect();
        ranks
            .into_iter()
            .map(|rank| rank.join().map_err(|_| "a rank panicked".to_owned()))
            .collect::<Result<Vec<_>, _>>()
    })?;
    let communicators: Vec<Communicator> = communicators.into_iter().collect::<Result<_, _>>()?;
    for case in cases() {
        let Case { class, problem, scheme, runs, .. } = &case;
        let [m, n, k] = problem.sizes();
        // Two of each, so that what is left of the run before is seen.
        let operands = [0, 1].map(|_| [random(m * k), random(k * n)]);
        let expected = operands.each_ref().map(|[a, b]| alone(&handles[0], problem, a, b));
        let [first, second] = expected;
        let expected = [first?, second?];
        let meet = Barrier::new(RANKS);
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
    // The rank's rows and columns of a whole matrix that is stored by rows, or by columns.
    let part = |whole: &[f32],
                [rows, columns]: [usize; 2],
                [all_rows, all_columns]: [usize; 2],
                is_by_columns: bool| {
        let [lines, length, all_lines, all_length] =
            if is_by_columns { [columns, rows, all_columns, all_rows] } else { [rows, columns, all_rows, all_columns] };
        let start = |own: usize, all: usize| if own == all || rank == 0 { 0 } else { all - own };
        let [line, offset] = [start(lines, all_lines), start(length, all_length)];
        (line..line + lines)
            .flat_map(|line| whole[line * all_length + offset..][..length].iter().copied())
            .collect::<Vec<f32>>()
    };
    let [m, n, k] = problem.sizes();
    let mut given: Vec<[CudaSlice<f32>; 2]> = Vec::new();
    for [a, b] in operands {
        let a = stream.clone_htod(&part(a, share.a, [m, k], *is_by_columns)).map_err(driver)?;
        let b = stream.clone_htod(&part(b, share.b, [k, n], *is_by_columns)).map_err(driver)?;
        given.push([a, b]);
    }
    let wanted = expected.each_ref().map(|c| part(c, share.c, [m, n], *is_by_columns));
    let nothing = vec![f32::NAN; wanted[0].len()];
    let mut c = stream.clone_htod(&nothing).map_err(driver)?;
    let mut cleared = stream.alloc_zeros::<u8>(CLEARED).map_err(driver)?;
    let mut outcome = Ok(());
    for number in 0..*runs {
        stream.memcpy_htod(&nothing, &mut c).map_err(driver)?;
        stream.synchronize().map_err(driver)?;
        meet.wait();
        if number % 2 == rank {
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
