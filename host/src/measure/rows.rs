//! One kernel on one problem as a record: what a line of JSON or CSV holds.

use gpu_kernels::Precision;
pub use results::Measurement as Row;
use results::{SCHEMA, peak_gflops};

use super::measurement::{Measurement, Samples, Timing};
use crate::backend::ptx::toolchain;
use crate::backend::{Backend, Baseline, Conditions, Device, now};
use crate::{Kernel, Problem};

/// The rows of measurements of one problem; what compares a kernel with another is filled in where both are there.
#[must_use]
pub(crate) fn rows(
    backend: &dyn Backend,
    problem: &Problem,
    timing: Timing,
    measurements: &[&Measurement],
) -> Vec<Row> {
    // Of a step with variants, one ran.
    let is = |m: &&Measurement, name| m.kernel.name() == name || m.kernel.step_name() == name;
    let find = |name| measurements.iter().copied().find(|m| is(m, name));
    let time_of = |m: &Measurement| m.samples.median();
    let rows = measurements.iter().copied().map(|measurement| {
        let mut row = row(backend, problem, timing, measurement);
        let cublas_ms = find(Baseline::of(measurement.kernel).name).map(time_of);
        row.percent_of_cublas = ratio(cublas_ms, row.time_ms).map(|ratio| 100.0 * ratio);
        // In another arithmetic, the base does another thing: how much faster this is says nothing of the change.
        let is_alike = |base: &&Measurement| base.kernel.precision() == measurement.kernel.precision();
        let base = measurement.kernel.base().and_then(find).filter(is_alike);
        row.speedup_over_base = ratio(base.map(time_of), row.time_ms);
        row
    });
    rows.collect()
}

fn row(backend: &dyn Backend, problem: &Problem, timing: Timing, measurement: &Measurement) -> Row {
    let Measurement { kernel, coverage, verification, samples, conditions, workspace_bytes } = measurement;
    let (device, is_modelled) = (backend.device(), backend.is_modelled());
    let timed =
        Timed { backend: backend.name(), device, is_modelled, problem, timing, samples, conditions: *conditions };
    Row {
        cublas_math: device.cublas.is_some().then(|| Baseline::of(*kernel).math.to_owned()),
        graphs: matches!(kernel, Kernel::Step(_)) && backend.launches_graphs(),
        base: kernel.base().map(str::to_owned),
        rel_error: verification.rel_error,
        max_scaled_error: verification.max_scaled_error,
        rows_checked: verification.rows_checked,
        sampled_blocks: coverage.sampled_blocks(),
        blocks: coverage.blocks(),
        workspace_bytes: *workspace_bytes,
        verified: verification.passed(),
        ..timed.row(kernel.name(), kernel.precision())
    }
}

/// What was timed, and on what.
pub(super) struct Timed<'a> {
    pub(super) backend: &'a str,
    pub(super) device: &'a Device,
    pub(super) is_modelled: bool,
    pub(super) problem: &'a Problem,
    pub(super) timing: Timing,
    pub(super) samples: &'a Samples,
    pub(super) conditions: Option<Conditions>,
}

impl Timed<'_> {
    /// What a row has of the environment and of times. Nothing is known of the result: it is not verified.
    pub(super) fn row(&self, kernel: &str, precision: Precision) -> Row {
        let Self { device, is_modelled: modelled, samples, conditions, .. } = self;
        let Problem { gemm: sgemm::Product { m, n, k, .. }, alpha, beta, seed } = *self.problem;
        let precision = precision.name();
        let peak = peak_gflops(precision, device.compute_capability, device.sm_count, device.max_clock_mhz);
        let time_ms = samples.median();
        let flops = self.problem.flops();
        let gflops = if flops == 0.0 { 0.0 } else { flops / time_ms / 1e6 };
        Row {
            schema: SCHEMA,
            kernel: kernel.to_owned(),
            precision: precision.to_owned(),
            backend: self.backend.to_owned(),
            device: device.name.clone(),
            compute_capability: format!("{}.{}", device.compute_capability.0, device.compute_capability.1),
            sm_count: Some(device.sm_count),
            max_sm_clock_mhz: Some(device.max_clock_mhz),
            driver: device.driver.clone(),
            cuda: device.cuda.clone(),
            cublas: device.cublas.clone(),
            cublas_math: None,
            l2: if *modelled { "modelled" } else { "flushed before each launch" }.to_owned(),
            graphs: false,
            modelled: *modelled,
            m,
            n,
            k,
            alpha,
            beta,
            seed,
            warmup: if *modelled { 0 } else { self.timing.warmup },
            iterations: samples.iterations(),
            time_ms,
            time_ms_min: samples.min(),
            time_ms_max: samples.max(),
            time_ms_q1: Some(samples.quantile(0.25)),
            time_ms_q3: Some(samples.quantile(0.75)),
            times_ms: (!*modelled).then(|| samples.times_ms()),
            gflops,
            percent_of_cublas: None,
            percent_of_peak: peak.map(|peak| 100.0 * gflops / peak),
            base: None,
            speedup_over_base: None,
            gpus: None,
            scheme: None,
            efficiency: None,
            rel_error: f64::NAN,
            max_scaled_error: f64::NAN,
            rows_checked: 0,
            sampled_blocks: None,
            blocks: None,
            workspace_bytes: None,
            verified: false,
            sm_clock_mhz: conditions.map(|now| now.sm_clock_mhz),
            memory_clock_mhz: conditions.map(|now| now.memory_clock_mhz),
            power_w: conditions.map(|now| now.power_w),
            temperature_c: conditions.map(|now| now.temperature_c),
            date: now(),
            commit: env!("HOST_COMMIT").to_owned(),
            toolchain: Some(toolchain()),
        }
    }
}

/// `other / own`, where both are times that can be compared.
fn ratio(other: Option<f64>, own: f64) -> Option<f64> {
    other.map(|other| other / own).filter(|ratio| ratio.is_finite() && *ratio > 0.0)
}
