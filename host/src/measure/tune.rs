//! Searches the fastest kernel for each shape of a list: the emulator's model drops what is far behind, what is left is
//! verified and timed, and the best ones are timed once more, interleaved.

use std::path::{Path, PathBuf};
use std::{fmt, fs};

use gpu_kernels::Step;
use sgemm::select::AUTOTUNED;

use crate::backend::emulator::Estimator;
use crate::backend::{Backend, Device, Kernel, now};
use crate::measure::bench::{self, Progress, Samples, Timing};
use crate::measure::tables::{self, Entry, Header, Table, Timed};
use crate::{AccuracyClass, Baseline, Error, Problem, Verifier};
use results::format::significant;

/// The shapes that are tuned for unless others are asked for: m, n, k.
pub const SHAPES: [[u32; 3]; 24] = [
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
];

/// A kernel is not timed whose modelled time is so many times the best one's, and so many milliseconds more. The model errs
/// by a fifth in either direction, and knows little of the latencies that rule small problems.
const WORTHWHILE: f64 = 2.25;
const SLACK_MS: f64 = 0.02;

/// The first round: what it says is good enough to drop what is slower than the best by this factor.
const FIRST: Timing = Timing { warmup: 2, iterations: Some(10) };
const CLOSE: f64 = 1.15;

/// Kernels that are timed again, at the most, and as many of `autotuned`.
const FINALISTS: usize = 4;

/// How many rounds, in each of which every finalist is timed, and for how long: in milliseconds, and in launches.
const ROUNDS: u32 = 3;
const ROUND_MS: f64 = 40.0;
const ROUND_LAUNCHES: (u32, u32) = (3, 40);

const HOW: &str = "medians of 9 to 120 launches in 3 rounds over all kernels; L2 flushed before each launch; \
                   alpha 1, beta 0; each kernel's result verified before";

/// What was found for one shape.
#[derive(Debug)]
pub struct Found {
    /// The fastest.
    pub entry: Entry,
    /// Kernels that were timed.
    pub timed: usize,
    /// Kernels that the device runs, and that the model dropped.
    pub dropped: usize,
    /// Kernels that could not run, or whose result was wrong.
    pub failures: Vec<Error>,
}

impl fmt::Display for Found {
    /// A line for people.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { entry: Entry { shape: [m, n, k], first, second, cublas_ms, .. }, timed, dropped, .. } = self;
        write!(f, "{m}x{n}x{k}: {} {} ms", first.step.slug, significant(first.ms))?;
        if let Some(second) = second {
            write!(f, ", {} {}", second.step.slug, significant(second.ms))?;
        }
        if let Some(cublas_ms) = cublas_ms {
            let percent = significant(100.0 * cublas_ms / first.ms);
            write!(f, ", cublas {}: {percent} % of its speed", significant(*cublas_ms))?;
        }
        write!(f, " ({timed} timed, {dropped} dropped by the model)")
    }
}

/// Searches the fastest kernel that meets the class for one problem.
///
/// # Errors
/// What concerns all kernels: [`Error::NoStep`], [`Error::OutOfMemory`], [`Error::OutOfHostMemory`], [`Error::Interrupted`], or
/// the last failure where nothing ran.
pub fn search(
    backend: &mut dyn Backend,
    estimator: &mut Estimator,
    problem: &Problem,
    class: AccuracyClass,
    watch: &mut dyn FnMut(Progress),
) -> Result<Found, Error> {
    let device = backend.device();
    let runs = |step: &&Step| class.meets(step) && device.check_runs(step).is_ok();
    let mut all: Vec<&'static Step> = gpu_kernels::runnable().filter(runs).collect();
    let first = Kernel::Step(all.first().ok_or(Error::NoStep(class.name()))?);
    // Matrices are made of the same elements for all of them.
    let problem = &problem.for_kernel(first)?;
    all.retain(|step| problem.check_kernel(Kernel::Step(step)).is_ok());
    let baseline = Kernel::Cublas(Baseline::of(first));
    let fresh = bench::operands(backend.device(), problem, watch)?;
    let worthwhile = worthwhile(estimator, &all, problem, watch);
    let dropped = all.len() - worthwhile.len();

    let verifier = std::cell::LazyCell::new(|| Verifier::new(problem, &fresh));
    let (mut timed, mut failures, mut cublas_ms) = (Vec::new(), Vec::new(), None);
    for kernel in worthwhile.iter().map(|step| Kernel::Step(step)).chain([baseline]) {
        let measured = bench::measure(backend, kernel, problem, &fresh, &verifier, FIRST, watch);
        let verified = measured.and_then(|measured| match bench::not_verified(&measured, problem) {
            // The baseline is what it is: its time stands, as in a comparison.
            Some(error) if !kernel.is_library() => Err(error),
            _ => Ok(measured.samples.median()),
        });
        match (kernel, verified) {
            (Kernel::Step(step), Ok(ms)) => timed.push(Timed { step, ms }),
            (Kernel::Cublas(_), Ok(ms)) => cublas_ms = Some(ms),
            (Kernel::Cublas(_), Err(Error::NoCublas { .. })) => {}
            (_, Err(Error::Interrupted)) => return Err(Error::Interrupted),
            (_, Err(error)) => failures.push(error),
        }
    }
    let count = timed.len();
    timed.sort_by(|one, other| one.ms.total_cmp(&other.ms));
    let finalists = finalists(&timed);
    let kernels: Vec<_> = finalists.iter().map(|timed| (Kernel::Step(timed.step), timed.ms)).collect();
    let kernels: Vec<_> = kernels.into_iter().chain(cublas_ms.map(|ms| (baseline, ms))).collect();
    let times = take_turns(backend, &kernels, problem, watch)?;
    let mut finals: Vec<_> = finalists.iter().zip(&times).map(|(timed, &ms)| Timed { ms, ..*timed }).collect();
    finals.sort_by(|one, other| one.ms.total_cmp(&other.ms));
    let Some(&first) = finals.first() else {
        let nothing = Error::Emulator { what: "tune".into(), reason: "no kernel is left".into() };
        return Err(failures.pop().unwrap_or(nothing));
    };
    let entry = Entry {
        shape: [problem.m, problem.n, problem.k],
        class,
        first,
        second: finals.get(1).copied(),
        autotuned: finals.iter().find(|timed| is_autotuned(timed.step)).copied(),
        cublas_ms: cublas_ms.and(times.last().copied()),
    };
    Ok(Found { entry, timed: count, dropped, failures })
}

/// The kernels that the model does not put far behind, and of each step with variants the one that it puts first.
fn worthwhile(
    estimator: &mut Estimator,
    all: &[&'static Step],
    problem: &Problem,
    watch: &mut dyn FnMut(Progress),
) -> Vec<&'static Step> {
    let mut modelled = Vec::new();
    for &step in all {
        watch(Progress::Modelling(Kernel::Step(step)));
        // What cannot be modelled has a block that does not fit, or is broken.
        modelled.extend(estimator.time_ms(step, problem).ok().map(|ms| (step, ms)));
    }
    let best =
        |steps: &mut dyn Iterator<Item = &(&'static Step, f64)>| steps.map(|(_, ms)| *ms).fold(f64::INFINITY, f64::min);
    let limit = SLACK_MS + WORTHWHILE * best(&mut modelled.iter());
    let is_first = |step: &'static Step, ms: f64| {
        let name = |step: &'static Step| Kernel::Step(step).step_name();
        let family = |other: &&(&'static Step, f64)| name(other.0) == name(step);
        modelled.iter().filter(family).count() > 1 && ms <= best(&mut modelled.iter().filter(family))
    };
    modelled.iter().filter(|(step, ms)| *ms <= limit || is_first(step, *ms)).map(|(step, _)| *step).collect()
}

fn is_autotuned(step: &'static Step) -> bool {
    Kernel::Step(step).step_name() == AUTOTUNED
}

/// Of the kernels, which are sorted, those that are close to the best one of all or of `autotuned`.
fn finalists(timed: &[Timed]) -> Vec<Timed> {
    let close = |of: Vec<Timed>| {
        let limit = CLOSE * of.first().map_or(0.0, |best| best.ms);
        // The runner-up in any case.
        of.into_iter()
            .enumerate()
            .filter(move |(i, timed)| *i < 2 || timed.ms <= limit)
            .map(|(_, timed)| timed)
            .take(FINALISTS)
    };
    let mut finalists: Vec<_> = close(timed.to_vec()).collect();
    for timed in close(timed.iter().filter(|timed| is_autotuned(timed.step)).copied().collect()) {
        if !finalists.iter().any(|other| other.step.slug == timed.step.slug) {
            finalists.push(timed);
        }
    }
    finalists
}

/// The median time of each kernel, all of them one after the other in several rounds.
fn take_turns(
    backend: &mut dyn Backend,
    kernels: &[(Kernel, f64)],
    problem: &Problem,
    watch: &mut dyn FnMut(Progress),
) -> Result<Vec<f64>, Error> {
    let mut samples = vec![Vec::new(); kernels.len()];
    let rounds = if backend.is_modelled() { 1 } else { ROUNDS };
    for _ in 0..rounds {
        for ((kernel, ms), samples) in kernels.iter().zip(&mut samples) {
            let (least, most) = if backend.is_modelled() { (1, 1) } else { ROUND_LAUNCHES };
            let launches = ((ROUND_MS / ms) as u32).clamp(least, most);
            watch(Progress::Timing(*kernel, launches));
            samples.extend(backend.time(*kernel, problem, 1, launches, &mut || watch(Progress::Launched))?);
        }
    }
    Ok(samples.iter().map(|samples| Samples::new(samples).median()).collect())
}

/// A table, and the file that it is written to after each shape.
#[derive(Debug)]
pub struct Output {
    path: PathBuf,
    table: Table,
}

impl Output {
    /// The file, by default that of the device under sgemm/src/select/tables. Entries of other shapes stay where it was written on this
    /// device with the same driver and cuBLAS.
    ///
    /// # Errors
    /// [`Error::BadTable`] and [`Error::OtherTable`] where there is a file that is no table, or another device's;
    /// [`Error::Output`] where it cannot be written.
    pub fn open(path: Option<&Path>, device: &Device) -> Result<Self, Error> {
        let path =
            path.map_or_else(|| Path::new("sgemm/src/select/tables").join(file_name(&device.name)), Path::to_owned);
        let header = header(device);
        let mut table = Table { header: header.clone(), entries: Vec::new() };
        if path.exists() {
            let old = tables::from_file(&path)?;
            let found = old.header.device.clone();
            if found != device.name {
                return Err(Error::OtherTable { path: path.display().to_string(), found, device: device.name.clone() });
            }
            if (&old.header.driver, &old.header.cublas) == (&header.driver, &header.cublas) {
                table.entries = old.entries;
            }
        }
        let failed = |source| Error::Output { path: path.clone(), source };
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(failed)?;
        }
        Ok(Self { path, table })
    }

    /// Where it is written to.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Puts the entry into the file. Whoever stops the program finds the file of before, or this one.
    ///
    /// # Errors
    /// [`Error::Output`] where it cannot be written.
    pub fn insert(&mut self, entry: Entry, device: &Device) -> Result<(), Error> {
        self.table.header = header(device);
        self.table.insert(entry);
        let failed = |source| Error::Output { path: self.path.clone(), source };
        let unfinished = self.path.with_extension("txt.new");
        fs::write(&unfinished, self.table.to_text()).map_err(failed)?;
        fs::rename(&unfinished, &self.path).map_err(failed)
    }
}

fn header(device: &Device) -> Header {
    Header {
        device: device.name.clone(),
        driver: device.driver.clone(),
        cublas: device.cublas.clone().unwrap_or_default(),
        date: now(),
        commit: env!("HOST_COMMIT").into(),
        how: HOW.into(),
    }
}

/// The name of a device's file: `nvidia-h200.txt`.
fn file_name(device: &str) -> String {
    let words = device.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect::<Vec<_>>().join("-") + ".txt"
}

#[cfg(test)]
mod tests;
