//! Verifies and times kernels, cuBLAS beside them.

use std::cell::LazyCell;
use std::ops::Deref;

use crate::backend::{Backend, Conditions, Coverage, Device, workspace_bytes};
use crate::kernels::baselines;
use crate::report::{self, Row};
use crate::verify::verify_sample;
use crate::{Error, Kernel, Operands, Problem, Verification, Verifier, memory};

/// GPU time that an automatic number of launches aims at, in milliseconds.
const AUTO_TIME_MS: f32 = 500.0;

/// The least and the most launches that are chosen automatically.
const AUTO_ITERATIONS: (u32, u32) = (10, 200);

/// The least where those take longer than so many milliseconds.
const SLOW_ITERATIONS: (u32, f32) = (5, 2000.0);

/// How to time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timing {
    /// Untimed launches before the timed ones.
    pub warmup: u32,
    /// Timed launches; `None` chooses 10 to 200, for about half a second, or 5 to 10 where a launch takes over 200 ms.
    pub iterations: Option<u32>,
}

impl Timing {
    /// All launches of a kernel that takes so long: the verified one, those that warm it up, those that are timed.
    #[must_use]
    pub fn launches(&self, launch_ms: f64) -> u32 {
        let timed = self.iterations.unwrap_or_else(|| 1 + automatic_iterations(launch_ms as f32));
        timed.saturating_add(self.warmup).saturating_add(1)
    }
}

/// Times of one kernel, in milliseconds.
#[derive(Debug, Clone, PartialEq)]
pub struct Samples {
    sorted: Vec<f64>,
}

impl Samples {
    /// Samples of at least one launch.
    ///
    /// # Panics
    /// If there is none.
    #[must_use]
    pub fn new(times_ms: &[f32]) -> Self {
        assert!(!times_ms.is_empty(), "no launch was timed");
        let mut sorted: Vec<f64> = times_ms.iter().map(|&time| time.into()).collect();
        sorted.sort_by(f64::total_cmp);
        Self { sorted }
    }

    /// The middle sample, or the mean of the two in the middle.
    #[must_use]
    pub fn median(&self) -> f64 {
        self.quantile(0.5)
    }

    /// The time that a `share` of the samples, 0 to 1, does not exceed: between two samples, in proportion.
    #[must_use]
    pub fn quantile(&self, share: f64) -> f64 {
        let place = share.clamp(0.0, 1.0) * (self.sorted.len() - 1) as f64;
        let [below, above] = [place.floor(), place.ceil()].map(|place| self.sorted[place as usize]);
        below + (above - below) * place.fract()
    }

    /// The fastest sample.
    #[must_use]
    pub fn min(&self) -> f64 {
        self.sorted[0]
    }

    /// The slowest sample.
    #[must_use]
    pub fn max(&self) -> f64 {
        self.sorted[self.sorted.len() - 1]
    }

    /// How many launches were timed.
    #[must_use]
    pub fn iterations(&self) -> usize {
        self.sorted.len()
    }
}

/// What one kernel did on one problem.
#[derive(Debug, Clone)]
pub struct Measurement {
    /// The kernel.
    pub kernel: Kernel,
    /// How much of the result it computed.
    pub coverage: Coverage,
    /// Whether that is right.
    pub verification: Verification,
    /// How long it took.
    pub samples: Samples,
    /// Clocks and power right after the timed launches.
    pub conditions: Option<Conditions>,
    /// Bytes of device memory that the kernel takes beside the operands; `None` of cuBLAS, which does not say.
    pub workspace_bytes: Option<u64>,
}

/// A kernel, and what came of it.
type Attempt = (Kernel, Result<Measurement, Error>);

/// What is going on, for a progress display.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Progress {
    /// Operands and the f64 reference are being made.
    Preparing(Problem),
    /// The kernel's time is guessed.
    Modelling(Kernel),
    /// The kernel runs where that takes long: in the emulator.
    Emulating(Kernel),
    /// The kernel runs in the emulator, which counts what it does on the problem.
    Counting(Problem, Kernel),
    /// The kernel's result is being checked.
    Verifying(Kernel),
    /// So many launches of the kernel will be timed.
    Timing(Kernel, u32),
    /// One more launch is done.
    Launched,
    /// The kernel is done with. A launch of it takes so many milliseconds, where that was measured.
    Finished(Kernel, Option<f64>),
}

/// The kernels of one problem, side by side.
#[derive(Debug)]
pub struct Comparison {
    /// The kernels that were asked for and ran, in that order.
    pub rows: Vec<Row>,
    /// cuBLAS in their arithmetic, where it was not asked for and ran.
    pub baselines: Vec<Row>,
    /// Why there is no cuBLAS to compare with.
    pub no_baseline: Option<String>,
    /// Kernels that could not run, or whose result is wrong.
    pub failures: Vec<Error>,
    /// Whether [`crate::Stop`] was raised: what had not run by then is missing.
    pub is_interrupted: bool,
}

/// Verifies and times the kernels on one problem, each with matrices of the elements that it takes, and cuBLAS in the
/// arithmetic of each in any case. A kernel that fails does not stop the others; where the backend is stopped, what ran before
/// is compared.
///
/// ```
/// use host::backend::{BackendChoice, Options, open};
/// use host::bench::{Timing, compare};
/// use host::{Kernel, Problem, kernels, report};
///
/// let problem = Problem::new(64, 64, 64)?.with_seed(1);
/// let steps = ["naive", "coalesced"].map(|slug| kernels::find(slug).map(Kernel::Step));
/// let kernels = steps.into_iter().collect::<Result<Vec<_>, _>>()?;
/// let mut backend = open(BackendChoice::Emulator, Options::default())?.backend;
/// let timing = Timing { warmup: 0, iterations: None };
///
/// let comparison = compare(&mut *backend, &kernels, &problem, timing, &mut |_| {})?;
/// let [naive, coalesced] = &comparison.rows[..] else { panic!("two kernels ran") };
/// assert!(naive.verified && coalesced.verified && comparison.failures.is_empty());
/// assert!(naive.modelled, "the emulator has no clock: this is what the model says of an H200");
/// assert!(coalesced.speedup_over_base > Some(1.0) && coalesced.time_ms < naive.time_ms);
/// assert!(comparison.no_baseline.is_some(), "cuBLAS runs on GPUs only");
/// println!("{}", report::table(&comparison));
/// # Ok::<(), host::Error>(())
/// ```
///
/// # Errors
/// What concerns all kernels: [`Error::OutOfMemory`] and [`Error::OutOfHostMemory`].
pub fn compare(
    backend: &mut dyn Backend,
    kernels: &[Kernel],
    problem: &Problem,
    timing: Timing,
    watch: &mut dyn FnMut(Progress),
) -> Result<Comparison, Error> {
    let baselines: Vec<_> = baselines(kernels.iter().copied()).collect();
    let (mut measured, is_interrupted) = measure_all(backend, &in_order(kernels), problem, timing, watch)?;
    let mut comparison =
        Comparison { rows: Vec::new(), baselines: Vec::new(), no_baseline: None, failures: Vec::new(), is_interrupted };
    let mut measurements = Vec::new();
    let is_alone = kernels.iter().all(Kernel::is_library);
    // Those that were asked for, in that order, and then the others.
    let unasked: Vec<_> = baselines.into_iter().filter(|baseline| !kernels.contains(baseline)).collect();
    let mut asked = 0;
    for (kernel, is_asked) in
        kernels.iter().map(|kernel| (kernel, true)).chain(unasked.iter().map(|kernel| (kernel, false)))
    {
        let Some(found) = measured.iter().position(|(of, _)| of == kernel) else { continue };
        match measured.swap_remove(found).1 {
            Ok(measurement) => {
                measurements.push(measurement);
                asked += usize::from(is_asked);
            }
            // The comparison goes on without it, unless nothing else was asked for.
            Err(error) if kernel.is_library() && !is_alone => {
                comparison.no_baseline = comparison.no_baseline.or(Some(error.to_string()));
            }
            Err(error) => comparison.failures.push(error),
        }
    }
    comparison.failures.extend(measurements.iter().filter_map(|measurement| not_verified(measurement, problem)));
    comparison.rows = report::rows(backend, problem, timing, &measurements);
    comparison.baselines = comparison.rows.split_off(asked);
    Ok(comparison)
}

/// What [`compare`] runs, in order: cuBLAS in the arithmetic of each kernel, and the other kernels.
#[must_use]
pub fn in_order(kernels: &[Kernel]) -> Vec<Kernel> {
    let steps = kernels.iter().copied().filter(|kernel| !kernel.is_library());
    baselines(kernels.iter().copied()).chain(steps).collect()
}

/// What each of these kernels did, or why it did not; and whether the backend was stopped before it came to the last of them.
fn measure_all(
    backend: &mut dyn Backend,
    kernels: &[Kernel],
    problem: &Problem,
    timing: Timing,
    watch: &mut dyn FnMut(Progress),
) -> Result<(Vec<Attempt>, bool), Error> {
    let (mut left, mut measured) = (kernels.to_vec(), Vec::new());
    while let Some(&first) = left.first() {
        // Those whose matrices are made of the same elements share them.
        let problem = match problem.for_kernel(first) {
            Ok(problem) => problem,
            Err(error) => {
                measured.push((left.remove(0), Err(error)));
                continue;
            }
        };
        let fresh = operands(backend.device(), &problem, watch)?;
        // Where blocks are sampled, nobody asks for the reference of the whole problem.
        let verifier = LazyCell::new(|| Verifier::new(&problem, &fresh));
        for kernel in left.extract_if(.., |kernel| problem.check_kernel(*kernel).is_ok()) {
            let result = measure(backend, kernel, &problem, &fresh, &verifier, timing, watch);
            if matches!(result, Err(Error::Interrupted)) {
                return Ok((measured, true));
            }
            let time_ms = result.as_ref().ok().map(|measured| measured.samples.median());
            watch(Progress::Finished(kernel, time_ms.filter(|_| !backend.is_modelled())));
            measured.push((kernel, result));
        }
    }
    Ok((measured, false))
}

/// Draws the operands, if they fit into both memories.
pub(crate) fn operands(device: &Device, problem: &Problem, watch: &mut dyn FnMut(Progress)) -> Result<Operands, Error> {
    check_memory(device, problem, 0)?;
    // The operands are there twice: as they were drawn, and as a kernel left them.
    let (needed, available) = (problem.host_bytes().saturating_mul(2), memory::available());
    if needed > available {
        return Err(Error::OutOfHostMemory { needed, available });
    }
    watch(Progress::Preparing(*problem));
    Operands::random(problem)
}

/// Runs the kernel on fresh operands, verifies the result, and times it.
pub(crate) fn measure<'a>(
    backend: &mut dyn Backend,
    kernel: Kernel,
    problem: &Problem,
    fresh: &Operands,
    verifier: &impl Deref<Target = Verifier<'a>>,
    timing: Timing,
    watch: &mut dyn FnMut(Progress),
) -> Result<Measurement, Error> {
    let workspace_bytes = workspace_bytes(kernel, problem, backend.device().sm_count);
    check_memory(backend.device(), problem, workspace_bytes.unwrap_or(0))?;
    backend.prepare(kernel)?;
    watch(if backend.is_modelled() { Progress::Emulating(kernel) } else { Progress::Verifying(kernel) });
    backend.upload(fresh)?;
    let coverage = backend.run(kernel, problem)?;
    let result = backend.download()?;
    watch(Progress::Verifying(kernel));
    let verification = match &coverage {
        Coverage::Whole { .. } => verifier.verify(&result, kernel.precision()),
        Coverage::Sample { regions, .. } => verify_sample(problem, kernel.precision(), fresh, &result, regions),
    };
    drop(result);

    let (warmup, iterations) = match timing.iterations {
        // There is one modelled time, and it takes none.
        _ if backend.is_modelled() => (0, 1),
        Some(iterations) => (timing.warmup, iterations),
        None => {
            let first = backend.time(kernel, problem, timing.warmup, 1, &mut || {})?;
            (0, automatic_iterations(first[0]))
        }
    };
    watch(Progress::Timing(kernel, iterations));
    let times = backend.time(kernel, problem, warmup, iterations, &mut || watch(Progress::Launched))?;
    let (samples, conditions) = (Samples::new(&times), backend.conditions());
    Ok(Measurement { kernel, coverage, verification, samples, conditions, workspace_bytes })
}

/// Fails where the device's memory is too small for the operands and a workspace beside them.
pub(crate) fn check_memory(device: &Device, problem: &Problem, workspace_bytes: u64) -> Result<(), Error> {
    let (needed, available) = (problem.bytes().saturating_add(workspace_bytes), device.memory_bytes);
    if needed > available { Err(Error::OutOfMemory { needed, available }) } else { Ok(()) }
}

fn automatic_iterations(launch_ms: f32) -> u32 {
    let ((least, most), (least_of_slow, slow_ms)) = (AUTO_ITERATIONS, SLOW_ITERATIONS);
    let least = ((slow_ms / launch_ms) as u32).clamp(least_of_slow, least);
    ((AUTO_TIME_MS / launch_ms) as u32).clamp(least, most)
}

pub(crate) fn not_verified(measurement: &Measurement, problem: &Problem) -> Option<Error> {
    let Problem { m, n, k, .. } = *problem;
    let fault = measurement.verification.fault?;
    Some(Error::NotVerified { kernel: measurement.kernel.name(), m, n, k, fault })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_of_odd_and_even_counts() {
        let samples = Samples::new(&[3.0, 1.0, 2.0]);
        assert_eq!((samples.min(), samples.median(), samples.max()), (1.0, 2.0, 3.0));
        assert_eq!(Samples::new(&[4.0, 1.0, 2.0, 3.0]).median(), 2.5);
        assert_eq!(Samples::new(&[7.0]).median(), 7.0);
    }

    #[test]
    fn quantiles_lie_between_samples() {
        let samples = Samples::new(&[5.0, 1.0, 2.0, 3.0, 4.0]);
        assert_eq!([0.0, 0.25, 0.5, 0.6, 1.0].map(|share| samples.quantile(share)), [1.0, 2.0, 3.0, 3.4, 5.0]);
    }

    #[test]
    fn automatic_iterations_have_bounds() {
        assert_eq!(automatic_iterations(5.0), 100);
        assert_eq!(automatic_iterations(150.0), 10);
        assert_eq!(automatic_iterations(250.0), 8);
        assert_eq!(automatic_iterations(2000.0), 5);
        assert_eq!(automatic_iterations(0.001), 200);
        assert_eq!(automatic_iterations(0.0), 200);
    }
}
