//! One kernel on one problem: what a line of JSON or CSV holds.

use gpu_kernels::Precision;
use jiff::{Timestamp, Unit};
use serde::Serialize;

use crate::backend::Backend;
use crate::baseline::{Baseline, class};
use crate::bench::{Measurement, Timing};
use crate::{Kernel, Problem, peak};

/// One measurement with all that is needed to judge it. The fields' names are the keys of JSON and CSV.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// A step's slug, or a baseline's name.
    pub kernel: &'static str,
    /// The arithmetic, such as `fp32`.
    pub precision: &'static str,
    /// `cuda` or `emulator`.
    pub backend: &'static str,
    /// The device's name.
    pub device: String,
    /// Such as `9.0`.
    pub compute_capability: String,
    /// The driver's version.
    pub driver: String,
    /// The newest CUDA version that the driver supports.
    pub cuda: String,
    /// cuBLAS's version, where it is there.
    pub cublas: Option<String>,
    /// What the cuBLAS beside it was told to do.
    pub cublas_math: Option<&'static str>,
    /// What the L2 cache holds at the start of a timed launch; `modelled` where none was timed.
    pub l2: &'static str,
    /// Whether a CUDA graph held all that a step launches.
    pub graphs: bool,
    /// Whether the times come out of a model instead of a measurement.
    pub modelled: bool,
    /// Rows of A and C.
    pub m: u32,
    /// Columns of B and C.
    pub n: u32,
    /// Columns of A, rows of B.
    pub k: u32,
    /// The factor of A\*B.
    pub alpha: f32,
    /// The factor of C.
    pub beta: f32,
    /// What the operands were drawn from.
    pub seed: u64,
    /// Untimed launches.
    pub warmup: u32,
    /// Timed launches.
    pub iterations: usize,
    /// The median time of a launch, in milliseconds.
    pub time_ms: f64,
    /// The fastest launch.
    pub time_ms_min: f64,
    /// The slowest launch.
    pub time_ms_max: f64,
    /// 2\*m\*n\*k over the median time, in 10^9 per second.
    pub gflops: f64,
    /// Speed as a share of cuBLAS's in the same arithmetic and run: of SGEMM's where the kernel is as accurate.
    pub percent_of_cublas: Option<f64>,
    /// Speed as a share of the device's fp32 FMA peak at its highest clock, where the kernel is as accurate as that.
    pub percent_of_peak: Option<f64>,
    /// The step that this one changes.
    pub base: Option<&'static str>,
    /// How many times as fast as its base, where that is in the same run.
    pub speedup_over_base: Option<f64>,
    /// ||C - reference|| / ||reference||, Frobenius, against f64.
    pub rel_error: f64,
    /// The largest error of an element, as a share of what is allowed.
    pub max_scaled_error: f64,
    /// Whole rows that were compared element by element.
    pub rows_checked: usize,
    /// Blocks of the grid that ran, and whose results were all compared, where not all of them did.
    pub sampled_blocks: Option<u64>,
    /// Blocks of the grid, where they were counted.
    pub blocks: Option<u64>,
    /// Bytes of device memory that the kernel takes beside the operands, where it is known.
    pub workspace_bytes: Option<u64>,
    /// Whether the result is right.
    pub verified: bool,
    /// SM clock right after the timed launches, in MHz.
    pub sm_clock_mhz: Option<u32>,
    /// Memory clock right after the timed launches, in MHz.
    pub memory_clock_mhz: Option<u32>,
    /// Board power right after the timed launches, in watts.
    pub power_w: Option<f64>,
    /// Temperature right after the timed launches, in degrees Celsius.
    pub temperature_c: Option<u32>,
    /// When the row was made: UTC, RFC 3339.
    pub date: String,
    /// The commit that this program was built from, or `unknown`.
    pub commit: &'static str,
}

impl Row {
    /// The rows of measurements of one problem; what compares a kernel with another is filled in where both are there.
    #[must_use]
    pub fn table(backend: &dyn Backend, problem: &Problem, timing: Timing, measurements: &[Measurement]) -> Vec<Self> {
        // Of a step with variants, one ran.
        let is = |m: &&Measurement, name| m.kernel.name() == name || m.kernel.step_name() == name;
        let time_of = |name| measurements.iter().find(|m| is(m, name)).map(|m| m.samples.median());
        let rows = measurements.iter().map(|measurement| {
            let mut row = Self::new(backend, problem, timing, measurement);
            let cublas_ms = time_of(Baseline::of(measurement.kernel).name);
            row.percent_of_cublas = ratio(cublas_ms, row.time_ms).map(|ratio| 100.0 * ratio);
            row.speedup_over_base = ratio(row.base.and_then(time_of), row.time_ms);
            row
        });
        rows.collect()
    }

    fn new(backend: &dyn Backend, problem: &Problem, timing: Timing, measurement: &Measurement) -> Self {
        let Problem { m, n, k, alpha, beta, seed, .. } = *problem;
        let Measurement { kernel, coverage, verification, samples, conditions, workspace_bytes } = measurement;
        let (device, modelled) = (backend.device(), backend.is_modelled());
        let is_fp32 = class(kernel.precision()) == Precision::Fp32;
        let peak = peak::fma_gflops(device).filter(|_| is_fp32);
        let time_ms = samples.median();
        let gflops = if problem.flops() == 0.0 { 0.0 } else { problem.flops() / time_ms / 1e6 };
        Self {
            kernel: kernel.name(),
            precision: kernel.precision().name(),
            backend: backend.name(),
            device: device.name.clone(),
            compute_capability: format!("{}.{}", device.compute_capability.0, device.compute_capability.1),
            driver: device.driver.clone(),
            cuda: device.cuda.clone(),
            cublas: device.cublas.clone(),
            cublas_math: device.cublas.is_some().then_some(Baseline::of(*kernel).math),
            l2: if modelled { "modelled" } else { "flushed before each launch" },
            graphs: matches!(kernel, Kernel::Step(_)) && backend.launches_graphs(),
            modelled,
            m,
            n,
            k,
            alpha,
            beta,
            seed,
            warmup: if modelled { 0 } else { timing.warmup },
            iterations: samples.iterations(),
            time_ms,
            time_ms_min: samples.min(),
            time_ms_max: samples.max(),
            gflops,
            percent_of_cublas: None,
            percent_of_peak: peak.map(|peak| 100.0 * gflops / peak),
            base: kernel.base(),
            speedup_over_base: None,
            rel_error: verification.rel_error,
            max_scaled_error: verification.max_scaled_error,
            rows_checked: verification.rows_checked,
            sampled_blocks: coverage.sampled_blocks(),
            blocks: coverage.blocks(),
            workspace_bytes: *workspace_bytes,
            verified: verification.passed(),
            sm_clock_mhz: conditions.map(|now| now.sm_clock_mhz),
            memory_clock_mhz: conditions.map(|now| now.memory_clock_mhz),
            power_w: conditions.map(|now| now.power_w),
            temperature_c: conditions.map(|now| now.temperature_c),
            date: now(),
            commit: env!("HOST_COMMIT"),
        }
    }
}

/// `other / own`, where both are times that can be compared.
fn ratio(other: Option<f64>, own: f64) -> Option<f64> {
    other.map(|other| other / own).filter(|ratio| ratio.is_finite() && *ratio > 0.0)
}

fn now() -> String {
    let now = Timestamp::now();
    now.round(Unit::Second).unwrap_or(now).to_string()
}
