//! Asks a device what kernels cost: times all of them on many shapes, and finds the constants by which `auto` predicts their times.

mod fit;
mod regret;

use std::fs;
use std::path::{Path, PathBuf};

use gpu_kernels::Step;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use results::{KernelTime, ShapeTiming, parse_compute_capability};
use sgemm::select::{Entry, Header, Table, Work};

use self::fit::{Sample, Timed};
pub use self::regret::{Fit, Regret, Regrets};
use crate::backend::emulator::{EmulatorBackend, Estimator, Model};
use crate::backend::{Backend as _, Case, Op, Order, now};
use crate::measure::shapes::Set;
use crate::{AccuracyClass, Error, Problem, PtxSource};

/// Shapes whose fastest kernels are written down: m, n, k.
pub const SHAPES: [[u32; 3]; 48] = [
    [128; 3],
    [256; 3],
    [384; 3],
    [512; 3],
    [768; 3],
    [1000; 3],
    [1024; 3],
    [1536; 3],
    [2048; 3],
    [3072; 3],
    [4092; 3],
    [4096; 3],
    [6144; 3],
    [8192; 3],
    // Rows that are not aligned.
    [127, 129, 131],
    [511, 513, 515],
    [1023, 1025, 1027],
    [4095, 4097, 4099],
    // Flat, narrow, short and mixed ones.
    [16, 4096, 4096],
    [64, 8192, 8192],
    [8192, 64, 8192],
    [8192, 8192, 64],
    [3000, 1024, 512],
    [512, 512, 8192],
    // Few rows times the weights of language models.
    [1, 4096, 4096],
    [2, 4096, 4096],
    [4, 4096, 4096],
    [8, 4096, 4096],
    [16, 4096, 4096],
    [32, 4096, 4096],
    [64, 4096, 4096],
    [128, 4096, 4096],
    [1, 4096, 11008],
    [2, 4096, 11008],
    [4, 4096, 11008],
    [8, 4096, 11008],
    [16, 4096, 11008],
    [32, 4096, 11008],
    [64, 4096, 11008],
    [128, 4096, 11008],
    [1, 11008, 4096],
    [2, 11008, 4096],
    [4, 11008, 4096],
    [8, 11008, 4096],
    [16, 11008, 4096],
    [32, 11008, 4096],
    [64, 11008, 4096],
    [128, 11008, 4096],
];

/// How many shapes of each kind are drawn beside these, always the same ones.
const RANDOM: u32 = 60;
const TURNED: u32 = 12;
const VECTORS: u32 = 24;
const BATCHES: u32 = 16;
const SEED: u64 = 0x7e57;

/// The longest vector.
const LONGEST: u32 = 60_000;

const HOW: &str = "medians of sequences beyond L2, as CUDA graphs, of all kernels that are not far slower than the fastest; constants by \
                   least squares of the logarithms, then by what choosing costs";

/// What kernels are timed on.
#[must_use]
pub fn set() -> Set {
    let mut rng = StdRng::seed_from_u64(SEED);
    let mut log_uniform = |most: u32| (rng.random::<f64>() * f64::from(most).ln()).exp() as u32;
    let mut cases = SHAPES.map(Case::new).to_vec();
    let random = |count, seed, plain: Case| {
        let sizes = super::shapes::random::shapes(count, seed);
        sizes.into_iter().map(move |sizes| Case { sizes, ..plain }).collect::<Vec<_>>()
    };
    cases.extend(random(RANDOM, SEED, Case::new([1; 3])));
    for (ops, seed) in [[Op::N, Op::T], [Op::T, Op::N], [Op::T, Op::T]].into_iter().zip(SEED + 1..) {
        cases.extend(random(TURNED, seed, Case { ops, ..Case::new([1; 3]) }));
    }
    for index in 0..VECTORS {
        let (long, k, few) = (log_uniform(LONGEST), log_uniform(LONGEST), [1, 1, 2, 5][index as usize % 4]);
        // As large as what fits into a few milliseconds.
        let k = k.min((1 << 28) / long).max(1);
        let sizes = if index % 2 == 0 { [long, few, k] } else { [few, long, k] };
        cases.push(Case { order: if index % 6 < 3 { Order::Row } else { Order::Column }, ..Case::new(sizes) });
    }
    for index in 0..BATCHES {
        let [m, n, k] = [1024, 1024, 512].map(|most| log_uniform(most).max(8));
        let batch = log_uniform(256).clamp(2, 1 << 31 >> (m * n).ilog2());
        let ops = if index % 2 == 0 { [Op::N, Op::T] } else { [Op::N; 2] };
        cases.push(Case { ops, batch, ..Case::new([m, n, k]) });
    }
    Set { name: "tuning".into(), cases, notes: Vec::new() }
}

/// The table of the device that these rows were measured on, with the constants of all its kernels.
///
/// # Errors
/// [`Error::NoRows`] where there are none with the times of kernels, or of several devices.
pub fn table(rows: &[ShapeTiming]) -> Result<Table, Error> {
    let first = rows.iter().find(|row| !row.kernels.is_empty()).ok_or(Error::NoRows)?;
    if rows.iter().any(|row| (&row.device, row.sm_count) != (&first.device, first.sm_count)) {
        return Err(Error::NoRows);
    }
    let samples: Vec<_> = samples_of(rows);
    let compute_capability = parse_compute_capability(&first.compute_capability).ok_or(Error::NoRows)?;
    let device = Timed { sm_count: first.sm_count, compute_capability, sm_clock_mhz: first.max_sm_clock_mhz };
    let (memory, costs) = fit::fit(&samples, device);
    let header = Header {
        device: first.device.clone(),
        driver: first.driver.clone(),
        cublas: first.cublas.clone().unwrap_or_default(),
        date: first.date.clone(),
        commit: first.commit.clone(),
        how: HOW.into(),
    };
    // Of several rows for a shape, the last is the newest.
    let mut entries: Vec<_> = rows.iter().rev().flat_map(entries).collect();
    let key = |entry: &Entry| (AccuracyClass::ALL.iter().position(|class| *class == entry.class), entry.shape);
    entries.sort_by_key(key);
    entries.dedup_by_key(|entry| key(entry));
    Ok(Table { header, memory, costs, entries })
}

const CLASSES: usize = AccuracyClass::ALL.len();
const MODELLED: &str = "the emulator's model; constants by least squares of the logarithms, then by what choosing \
                        costs";

/// The table of a device that was never measured: of the times that the emulator models. `watch` is told what it is at.
///
/// # Errors
/// Those of [`Problem::new`].
pub fn modelled(model: &'static Model, watch: &mut dyn FnMut(&str)) -> Result<Table, Error> {
    let backend = EmulatorBackend::new(PtxSource::BuiltIn, model, None);
    let device = backend.device();
    let mut estimator = Estimator::new(PtxSource::BuiltIn, device);
    let shapes: Vec<_> = SHAPES.into_iter().chain(super::shapes::random::shapes(RANDOM, SEED)).collect();
    let mut samples = Vec::new();
    for step in gpu_kernels::runnable().filter(|step| device.check_runs(step).is_ok()) {
        watch(step.slug);
        let class = AccuracyClass::of(step.precision);
        let numbered = shapes.iter().enumerate();
        for (problem_number, &[m, n, k]) in numbered.filter(|(_, [m, n, _])| step.is_made_for(*m, *n)) {
            let problem = Problem::new(m, n, k)?.with_elements(step.precision.input(), step.output)?;
            // What cannot be modelled has a block that does not fit.
            let Ok(ms) = estimator.time_ms(step, &problem) else { continue };
            let problem = Case::new([m, n, k]).problem(class);
            if let Ok(work) = Work::of(step, &problem, device.sm_count) {
                let number =
                    CLASSES * problem_number + AccuracyClass::ALL.iter().position(|one| *one == class).unwrap_or(0);
                samples.push(Sample { problem: number, step, work, us: ms * 1e3 });
            }
        }
    }
    let timed = Timed {
        sm_count: device.sm_count,
        compute_capability: device.compute_capability,
        sm_clock_mhz: device.max_clock_mhz,
    };
    let (memory, costs) = fit::fit(&samples, timed);
    let header = Header {
        device: device.name.clone(),
        date: now(),
        commit: env!("HOST_COMMIT").into(),
        how: MODELLED.into(),
        ..Header::default()
    };
    Ok(Table { header, memory, costs, entries: Vec::new() })
}

fn samples_of(rows: &[ShapeTiming]) -> Vec<Sample> {
    rows.iter().enumerate().flat_map(|(problem, row)| samples(problem, row)).collect()
}

/// What is known of each kernel from the row of that number.
fn samples(problem: usize, row: &ShapeTiming) -> Vec<Sample> {
    let Some((case, class)) = case(row) else { return Vec::new() };
    let sample = |(step, time_ms): (&'static Step, f64)| {
        let work = Work::of(step, &case.problem(class), row.sm_count).ok()?;
        Some(Sample { problem, step, work, us: time_ms * 1e3 })
    };
    timed(row).filter_map(sample).collect()
}

/// The kernels of a row that may be chosen for its shape, and their milliseconds.
fn timed(row: &ShapeTiming) -> impl Iterator<Item = (&'static Step, f64)> {
    let known = |kernel: &KernelTime| Some((gpu_kernels::find(&kernel.kernel)?, kernel.time_ms));
    row.kernels.iter().filter_map(known).filter(|(step, _)| step.is_made_for(row.m, row.n))
}

/// The fastest kernels, where the shape is one of [`SHAPES`]: of the row's class, and of the stricter one whose kernels it has too.
fn entries(row: &ShapeTiming) -> Vec<Entry> {
    let Some((case, class)) = case(row) else { return Vec::new() };
    if case != (Case { count: case.count, ..Case::new(case.sizes) }) || !SHAPES.contains(&case.sizes) {
        return Vec::new();
    }
    let classes = if class == AccuracyClass::Fp32 { vec![class, AccuracyClass::Fp32Strict] } else { vec![class] };
    let fastest = |class: AccuracyClass| {
        let of_class = timed(row).filter(|(step, _)| class.admits(step.precision));
        let (step, _) = of_class.min_by(|(_, one), (_, other)| one.total_cmp(other))?;
        Some(Entry { shape: case.sizes, class, step })
    };
    classes.into_iter().filter_map(fastest).collect()
}

fn case(row: &ShapeTiming) -> Option<(Case, AccuracyClass)> {
    let op = |name: &str| [Op::N, Op::T].into_iter().find(|op| op.name() == name);
    let order = [Order::Row, Order::Column].into_iter().find(|order| order.name() == row.order)?;
    let ops = [op(&row.op_a)?, op(&row.op_b)?];
    let case = Case { sizes: [row.m, row.n, row.k], ops, order, batch: row.batch, count: row.count };
    Some((case, AccuracyClass::find(&row.class)?))
}

/// Fails where a table could not be written to that file, before there is one.
///
/// # Errors
/// [`Error::Output`] where its folder is not there.
pub fn check_folder(path: &Path) -> Result<(), Error> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let is_there = folder.map_or(Ok(()), |folder| fs::metadata(folder).map(drop));
    is_there.map_err(|source| Error::Output { path: path.to_owned(), source })
}

/// Writes a table, by default to the device's file under sgemm/src/select/tables, and says where.
///
/// # Errors
/// [`Error::Output`] where it cannot be written.
pub fn write(table: &Table, path: Option<&Path>) -> Result<PathBuf, Error> {
    let folder = Path::new("sgemm/src/select/tables");
    let is_default = path.is_none();
    let path = path.map_or_else(|| folder.join(file_name(&table.header.device)), Path::to_owned);
    let failed = |source| Error::Output { path: path.clone(), source };
    if is_default {
        fs::create_dir_all(folder).map_err(failed)?;
    }
    let unfinished = path.with_extension("txt.new");
    fs::write(&unfinished, table.to_text()).map_err(failed)?;
    fs::rename(&unfinished, &path).map_err(failed)?;
    Ok(path)
}

/// The name of a device's file: `nvidia-h200.txt`.
fn file_name(device: &str) -> String {
    let words = device.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect::<Vec<_>>().join("-") + ".txt"
}

#[cfg(test)]
mod tests;
