//! One kernel on one problem.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::counters::step_of;
use crate::format::or_nan;
use crate::peak::{parse_compute_capability, peak_gflops};

/// One measurement with all that is needed to judge it. The fields' names are the keys of JSON and CSV.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Measurement {
    /// The version of this record.
    pub schema: u32,
    /// A step's slug, or a baseline's name.
    pub kernel: String,
    /// The arithmetic, such as `fp32`.
    pub precision: String,
    /// `cuda` or `emulator`.
    pub backend: String,
    /// The device's name.
    pub device: String,
    /// Such as `9.0`.
    pub compute_capability: String,
    /// Its SMs.
    pub sm_count: Option<u32>,
    /// The highest SM clock, in MHz.
    pub max_sm_clock_mhz: Option<u32>,
    /// The driver's version.
    pub driver: String,
    /// The newest CUDA version that the driver supports.
    pub cuda: String,
    /// cuBLAS's version, where it is there.
    pub cublas: Option<String>,
    /// What the cuBLAS beside it was told to do.
    pub cublas_math: Option<String>,
    /// What the L2 cache holds at the start of a timed launch; `modelled` where none was timed.
    pub l2: String,
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
    /// A quarter of the launches took no longer.
    pub time_ms_q1: Option<f64>,
    /// Three quarters of the launches took no longer.
    pub time_ms_q3: Option<f64>,
    /// The time of each timed launch, the fastest first, in milliseconds: what intervals are computed from. Not there where times are
    /// modelled, and in files that were written before it was added.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times_ms: Option<Vec<f32>>,
    /// 2\*m\*n\*k over the median time, in 10^9 per second.
    pub gflops: f64,
    /// Speed as a share of cuBLAS's in the same arithmetic and run: of SGEMM's where the kernel is as accurate.
    pub percent_of_cublas: Option<f64>,
    /// Speed as a share of the device's peak, or that of all GPUs, in this arithmetic at its highest SM clock: of the FMA units in fp32, of the tensor
    /// cores (dense) in f16, bf16 and tf32, of a third of that in fp16x3 and tf32x3. In schema 1: of the FMA units.
    pub percent_of_peak: Option<f64>,
    /// The step that this one changes.
    pub base: Option<String>,
    /// How many times as fast as its base, where that is in the same run and computes in the same arithmetic. In schema 1: in
    /// any arithmetic.
    pub speedup_over_base: Option<f64>,
    /// GPUs that multiplied together, each with its part of the matrices; `null` where one had all of them.
    pub gpus: Option<usize>,
    /// How these parts were dealt out, such as `2x2 panels, 4x8 chunks`: GPUs along m and n, and in how many pieces they gather.
    pub scheme: Option<String>,
    /// The speed of all GPUs over that of one alone in the same run, divided by their number: 1 where nothing is lost.
    pub efficiency: Option<f64>,
    /// The normwise relative error ||C - reference|| / ||reference||, Frobenius, against f64.
    #[serde(deserialize_with = "or_nan")]
    pub rel_error: f64,
    /// The largest componentwise error, as a share of its error bound.
    #[serde(deserialize_with = "or_nan")]
    pub max_scaled_error: f64,
    /// Whole rows that were compared element by element.
    pub rows_checked: usize,
    /// Blocks of the grid that ran, and whose results were all compared, where not all of them did.
    pub sampled_blocks: Option<u64>,
    /// Blocks of the grid, where they were counted.
    pub blocks: Option<u64>,
    /// Bytes of device memory that the kernel takes beside the operands, where it is known.
    pub workspace_bytes: Option<u64>,
    /// Whether the result is right. A baseline that is not has failed its check, which does not fail the run.
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
    /// The commit that the program was built from, or `unknown`.
    pub commit: String,
    /// The compilers of the kernels and of the program.
    pub toolchain: Option<String>,
}

impl Measurement {
    /// The step or baseline that it is, or a variant of: of a step with variants, the one that suits the size runs.
    #[must_use]
    pub fn step(&self) -> &str {
        step_of(&self.kernel)
    }

    /// Whether it is cuBLAS's.
    #[must_use]
    pub fn is_baseline(&self) -> bool {
        self.step().starts_with("cublas")
    }

    /// The device's peak in this arithmetic at its highest SM clock, in GFLOPS.
    #[must_use]
    pub fn peak_gflops(&self) -> Option<f64> {
        let capability = parse_compute_capability(&self.compute_capability)?;
        peak_gflops(&self.precision, capability, self.sm_count?, self.max_sm_clock_mhz?)
    }

    /// Its speed as a share of [`Self::peak_gflops`] of all GPUs, in percent: computed, since records of schema 1 have another peak's.
    #[must_use]
    pub fn of_peak(&self) -> Option<f64> {
        let gpus = self.gpus.unwrap_or(1) as f64;
        self.peak_gflops().map(|peak| 100.0 * self.gflops / (gpus * peak))
    }

    /// m, n and k.
    #[must_use]
    pub fn shape(&self) -> [u32; 3] {
        [self.m, self.n, self.k]
    }

    /// m, where m = n = k.
    #[must_use]
    pub fn size(&self) -> Option<u32> {
        (self.shape() == [self.m; 3]).then_some(self.m)
    }
}
