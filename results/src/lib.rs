//! What a run leaves, as data: [`Record`]s, one JSON object a line, with a version ([`SCHEMA`]) and a schema ([`schema`]).
//!
//! `host` writes them. All that shows results reads them here, so that the README, the book and the report cannot differ:
//! [`Ladder`] is the table of the steps, [`FIGURES`] what is shown of the counters, [`METRICS`] what Nsight Compute calls these, and [`compare`] says what is
//! faster or slower than in an earlier run, and [`ShapeSet`] how the ratios to cuBLAS are distributed over shapes.
//!
//! ```
//! use results::Run;
//!
//! let line = r#"{"record": "accuracy", "schema": 1, "kernel": "naive", "precision": "fp32", "inputs": "uniform",
//!     "m": 128, "n": 128, "k": 64, "seed": 1, "rows_compared": 128, "rel_error": 1.4e-7, "max_error": 2.8e-7,
//!     "compared_with": "naive", "rel_error_ratio": 1, "max_error_ratio": 1, "promises": false, "verdict": "same",
//!     "backend": "emulator", "device": "NVIDIA H200", "compute_capability": "9.0", "driver": "", "cuda": "",
//!     "date": "2026-05-04T03:02:01Z", "commit": "unknown"}"#;
//! let run = Run::parse("example", &line.replace('\n', " "))?;
//! assert_eq!(run.accuracy[0].rel_error, 1.4e-7);
//! # Ok::<(), results::Error>(())
//! ```

mod accuracy;
mod bootstrap;
mod compare;
mod counters;
mod distribution;
mod error;
mod figure;
pub mod format;
mod input;
mod ladder;
mod measurement;
mod metric;
mod peak;
mod run;
mod shape;
mod shape_set;
mod text_table;
mod timeline;

pub use accuracy::{Accuracy, Verdict};
pub use bootstrap::speedup_interval;
pub use compare::{Change, Judgement, StepChange, check_comparable, compare};
pub use counters::Counters;
pub use distribution::{Distribution, quantile};
pub use error::Error;
pub use figure::{FIGURES, Figure};
pub use input::{read_text, shown};
pub use ladder::{Ladder, Line, Peers, SIZES};
pub use measurement::Measurement;
pub use metric::{METRICS, Metric, Profiled, Source, Tolerance};
pub use peak::{parse_compute_capability, peak_gflops};
pub use run::Run;
pub use shape::{KernelTime, Kind, ShapeTiming};
pub use shape_set::{ShapeSet, ShapeTable};
pub use text_table::text_table;
pub use timeline::{Lane, TaskKind, TimedTask, Timeline};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The version of the records. It grows where a key changes its meaning or goes; keys may be added without. Version 2:
/// `percent_of_peak` is of the peak of the row's own arithmetic, `speedup_over_base` is there within one arithmetic only.
pub const SCHEMA: u32 = 2;

/// A line of a file of results. `record` says which kind it is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "record", rename_all = "snake_case")]
pub enum Record {
    /// One kernel on one problem, verified and timed.
    Measurement(Box<Measurement>),
    /// What one step does on one problem, counted in the emulator.
    Counters(Box<Counters>),
    /// The errors of one kernel on one kind of inputs.
    Accuracy(Box<Accuracy>),
    /// One shape beside cuBLAS.
    Shape(Box<ShapeTiming>),
    /// When the GPUs of one product computed and communicated.
    Timeline(Box<Timeline>),
}

impl Record {
    /// The version that wrote it.
    #[must_use]
    pub fn schema(&self) -> u32 {
        match self {
            Self::Measurement(record) => record.schema,
            Self::Counters(record) => record.schema,
            Self::Accuracy(record) => record.schema,
            Self::Shape(record) => record.schema,
            Self::Timeline(record) => record.schema,
        }
    }
}

impl Record {
    /// A time in it, in milliseconds, that there cannot be: of a kernel 0 or less, where there was anything to compute; of a timeline what
    /// is before its beginning, or ends before it begins.
    pub(crate) fn impossible_time(&self) -> Option<f64> {
        let (shape, times) = match self {
            Self::Measurement(record) => (record.shape(), vec![record.time_ms, record.time_ms_min, record.time_ms_max]),
            Self::Shape(record) => {
                let kernels = record.kernels.iter().map(|kernel| kernel.time_ms);
                (
                    [record.m, record.n, record.k],
                    [record.time_ms, record.cublas_ms].into_iter().chain(kernels).collect(),
                )
            }
            Self::Timeline(record) => return record.impossible_time(),
            Self::Counters(_) | Self::Accuracy(_) => return None,
        };
        let is_empty = shape.contains(&0);
        times.into_iter().find(|time| time.is_nan() || *time < 0.0 || (*time == 0.0 && !is_empty))
    }
}

impl From<Measurement> for Record {
    fn from(record: Measurement) -> Self {
        Self::Measurement(Box::new(record))
    }
}

impl From<Counters> for Record {
    fn from(record: Counters) -> Self {
        Self::Counters(Box::new(record))
    }
}

impl From<Accuracy> for Record {
    fn from(record: Accuracy) -> Self {
        Self::Accuracy(Box::new(record))
    }
}

impl From<ShapeTiming> for Record {
    fn from(record: ShapeTiming) -> Self {
        Self::Shape(Box::new(record))
    }
}

impl From<Timeline> for Record {
    fn from(record: Timeline) -> Self {
        Self::Timeline(Box::new(record))
    }
}

/// The JSON Schema of [`Record`]: every key, its type and what it means.
#[must_use]
pub fn schema() -> serde_json::Value {
    schemars::schema_for!(Record).to_value()
}
