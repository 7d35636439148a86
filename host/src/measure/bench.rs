//! Verifies and times kernels, cuBLAS beside them.

use std::cell::LazyCell;
use std::ops::Deref;

use super::measurement::automatic_iterations;
use super::probes;
use super::rows::{self, Row};
use crate::backend::{Backend, Device, workspace_bytes};
use crate::measure::kernels::baselines;
use crate::verify::{Coverage, memory, verify_sample};
use crate::{Error, Kernel, Operands, Problem, Verifier};

pub use super::measurement::{Measurement, Samples, Timing};

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
    /// Baselines whose result is beyond their error bound: cuBLAS splits k in bf16 where that is fast. They fail nothing else.
    pub failed_baselines: Vec<Error>,
    /// Whether [`crate::Stop`] was raised: what had not run by then is missing.
    pub is_interrupted: bool,
}

/// Verifies and times the kernels on one problem, each with matrices of the elements that it takes, and cuBLAS in the
/// arithmetic of each in any case. A kernel that fails does not stop the others; where the backend is stopped, what ran before
/// is compared.
///
/// ```
/// use host::backend::{BackendChoice, Options, open};
/// use host::measure::bench::{Timing, compare};
/// use host::measure::kernels;
/// use host::{Kernel, Problem, output};
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
/// println!("{}", output::table(&comparison));
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
    compare_and_keep(backend, kernels, problem, timing, watch, &mut |_| ())
}

/// The same, which hands on the rows that there are as soon as there is one more: those of the kernels that were asked for, in the
/// order that they ran in, compared with what ran before.
///
/// # Errors
/// Those of [`compare`].
pub fn compare_and_keep(
    backend: &mut dyn Backend,
    kernels: &[Kernel],
    problem: &Problem,
    timing: Timing,
    watch: &mut dyn FnMut(Progress),
    keep: &mut dyn FnMut(&[Row]),
) -> Result<Comparison, Error> {
    let baselines: Vec<_> = baselines(kernels.iter().copied()).collect();
    let mut keep = |backend: &dyn Backend, attempts: &[Attempt]| {
        let asked = attempts.iter().filter(|(kernel, _)| kernels.contains(kernel));
        let others = attempts.iter().filter(|(kernel, _)| !kernels.contains(kernel));
        let measurements: Vec<_> = asked.chain(others).filter_map(|(_, result)| result.as_ref().ok()).collect();
        let asked = measurements.iter().filter(|measurement| kernels.contains(&measurement.kernel)).count();
        keep(&rows::rows(backend, problem, timing, &measurements)[..asked]);
    };
    let (mut measured, is_interrupted) = measure_all(backend, &in_order(kernels), problem, timing, watch, &mut keep)?;
    let mut comparison = Comparison {
        rows: Vec::new(),
        baselines: Vec::new(),
        no_baseline: None,
        failures: Vec::new(),
        failed_baselines: Vec::new(),
        is_interrupted,
    };
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
    let (failed_baselines, wrong) = wrong_results(&measurements, problem);
    comparison.failures.extend(wrong);
    comparison.failed_baselines = failed_baselines;
    comparison.rows = rows::rows(backend, problem, timing, &measurements.iter().collect::<Vec<_>>());
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
    keep: &mut dyn FnMut(&dyn Backend, &[Attempt]),
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
            let is_new = result.is_ok();
            measured.push((kernel, result));
            if is_new {
                keep(&*backend, &measured);
            }
        }
    }
    Ok((measured, false))
}

/// Draws the operands, if they fit into both memories.
pub(crate) fn operands(device: &Device, problem: &Problem, watch: &mut dyn FnMut(Progress)) -> Result<Operands, Error> {
    check_memory(device, problem, 0)?;
    check_host_memory(problem)?;
    watch(Progress::Preparing(*problem));
    Operands::random(problem)
}

/// Fails where the host's memory is too small for the operands twice: as they were drawn, and as a kernel left them.
pub(crate) fn check_host_memory(problem: &Problem) -> Result<(), Error> {
    let (needed, available) = (problem.host_bytes().saturating_mul(2), memory::available());
    if needed > available { Err(Error::OutOfHostMemory { needed, available }) } else { Ok(()) }
}

/// Runs the kernel on fresh operands, verifies the result, times it, and verifies what the last timed launch made of operands that
/// were fresh again: a kernel that works once, or only beside what an earlier launch left, is not verified.
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
    let probed = match kernel {
        Kernel::Step(step) => match probes::run(backend, step) {
            Err(Error::Interrupted) => return Err(Error::Interrupted),
            probed => probed,
        },
        Kernel::Cublas(_) => Ok(()),
    };
    backend.upload(fresh)?;
    let coverage = backend.run(kernel, problem)?;
    let verify = |result: Operands| match &coverage {
        Coverage::Whole { .. } => verifier.verify(&result, kernel.precision()),
        Coverage::Sample { regions, .. } => verify_sample(problem, kernel.precision(), fresh, &result, regions),
    };
    let result = backend.download()?;
    watch(Progress::Verifying(kernel));
    let mut verification = verify(result);
    let times = if backend.is_modelled() {
        // There is one modelled time, and it takes none: that of the run which was verified.
        watch(Progress::Timing(kernel, 1));
        backend.time(kernel, problem, 0, 1, &mut || watch(Progress::Launched))?
    } else {
        time(backend, kernel, problem, fresh, timing, watch)?
    };
    let (samples, conditions) = (Samples::new(&times), backend.conditions());
    if !backend.is_modelled() && verification.passed() {
        verification = verify(backend.download()?);
    }
    // What is wrong with the problem itself says more.
    if verification.passed() {
        probed?;
    }
    Ok(Measurement { kernel, coverage, verification, samples, conditions, workspace_bytes })
}

/// Times launches of the kernel, the last of them on operands that are fresh again: their result is that launch's own.
fn time(
    backend: &mut dyn Backend,
    kernel: Kernel,
    problem: &Problem,
    fresh: &Operands,
    timing: Timing,
    watch: &mut dyn FnMut(Progress),
) -> Result<Vec<f32>, Error> {
    let (warmup, iterations) = match timing.iterations {
        Some(iterations) => (timing.warmup, iterations),
        None => {
            let first = backend.time(kernel, problem, timing.warmup, 1, &mut || {})?;
            (0, automatic_iterations(first[0]))
        }
    };
    watch(Progress::Timing(kernel, iterations));
    let mut times =
        backend.time(kernel, problem, warmup, iterations.saturating_sub(1), &mut || watch(Progress::Launched))?;
    backend.restore(&fresh.c)?;
    times.extend(backend.time(kernel, problem, 0, 1, &mut || watch(Progress::Launched))?);
    Ok(times)
}

/// Fails where the device's memory is too small for the operands and a workspace beside them.
pub(crate) fn check_memory(device: &Device, problem: &Problem, workspace_bytes: u64) -> Result<(), Error> {
    let (needed, available) = (problem.bytes().saturating_add(workspace_bytes), device.memory_bytes);
    if needed > available { Err(Error::OutOfMemory { needed, available }) } else { Ok(()) }
}

/// What is wrong with results: of baselines, and of the kernels that are held to being right.
fn wrong_results(measurements: &[Measurement], problem: &Problem) -> (Vec<Error>, Vec<Error>) {
    let error_of = |measurement: &&Measurement| not_verified(measurement, problem);
    let (baselines, kernels): (Vec<_>, Vec<_>) =
        measurements.iter().partition(|measurement| measurement.kernel.is_library());
    (baselines.iter().filter_map(error_of).collect(), kernels.iter().filter_map(error_of).collect())
}

pub(crate) fn not_verified(measurement: &Measurement, problem: &Problem) -> Option<Error> {
    let sgemm::Product { m, n, k, .. } = **problem;
    let fault = measurement.verification.fault?;
    Some(Error::NotVerified { kernel: measurement.kernel.name(), m, n, k, fault })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Verification;
    use crate::verify::Fault;

    /// As cuBLAS in bf16 at 8191x127x511, and a step of the same error.
    #[test]
    fn a_baseline_that_fails_its_check_is_no_failure() {
        let problem = Problem::new(8, 8, 8).unwrap();
        let fault = Fault::Element { row: 1, column: 2, got: 1.0, expected: 1.1, bound: 1e-3 };
        let measured = |kernel: Kernel, fault: Option<Fault>| Measurement {
            kernel,
            coverage: Coverage::Whole { blocks: None },
            verification: Verification { rel_error: 2.4e-3, max_scaled_error: 1.2, rows_checked: 8, fault },
            samples: Samples::new(&[1.0]),
            conditions: None,
            workspace_bytes: None,
        };
        let (baseline, step) = (Kernel::Cublas(&crate::BASELINES[3]), Kernel::Step(&gpu_kernels::STEPS[0]));
        let measurements = [measured(baseline, Some(fault)), measured(step, Some(fault)), measured(step, None)];
        let (baselines, kernels) = wrong_results(&measurements, &problem);
        assert!(matches!(&baselines[..], [Error::NotVerified { kernel: "cublas-bf16", .. }]), "{baselines:?}");
        assert!(matches!(&kernels[..], [Error::NotVerified { kernel: "naive", .. }]), "{kernels:?}");
    }
}
