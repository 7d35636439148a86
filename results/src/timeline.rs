//! When the ranks of a distributed product computed and communicated.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One run of one product over several GPUs: when each of them computed and communicated.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Timeline {
    /// The version of this record.
    pub schema: u32,
    /// The device's name.
    pub device: String,
    /// Whether the times come out of a model instead of a measurement.
    pub modelled: bool,
    /// The accuracy class, such as `fp32-strict`.
    pub class: String,
    /// Rows of A and C.
    pub m: u32,
    /// Columns of B and C.
    pub n: u32,
    /// Columns of A, rows of B.
    pub k: u32,
    /// GPUs that multiplied together, each with its part of the matrices.
    pub gpus: usize,
    /// How these parts were dealt out, such as `2x2 panels, 4x8 chunks`.
    pub scheme: String,
    /// Timed runs: it shows the last one.
    pub iterations: usize,
    /// What ran, rank by rank and queue by queue: `rank`, `queue` and `tasks`, each with `kind`, `name`, and its times in microseconds from the
    /// beginning of the run on its rank, `start_us` and `end_us`.
    pub lanes: Vec<Lane>,
    /// When it was made: UTC, RFC 3339.
    pub date: String,
    /// The commit that the program was built from, or `unknown`.
    pub commit: String,
}

/// The tasks of a queue of a rank, one after another.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Lane {
    /// The rank, from 0.
    pub rank: usize,
    /// Its queue, such as `compute`.
    pub queue: String,
    /// What ran there.
    pub tasks: Vec<TimedTask>,
}

/// A task that ran.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TimedTask {
    /// What it does.
    pub kind: TaskKind,
    /// The same at length, such as `AllGather of chunk 3 of B`.
    pub name: String,
    /// When it began, in microseconds.
    pub start_us: f64,
    /// When it ended, in microseconds.
    pub end_us: f64,
}

/// What a task does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TaskKind {
    /// It multiplies.
    Product,
    /// It gathers parts of all ranks.
    AllGather,
    /// It prepares an operand for products.
    Prepass,
    /// It adds up partial sums of ranks.
    ReduceScatter,
    /// It copies within a rank's memory.
    Copy,
}

impl TaskKind {
    /// Every one, in the order of legends and colours.
    pub const ALL: [Self; 5] = [Self::Product, Self::AllGather, Self::Prepass, Self::ReduceScatter, Self::Copy];

    /// One task, in words.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Product => "product",
            Self::AllGather => "AllGather",
            Self::Prepass => "pre-pass",
            Self::ReduceScatter => "ReduceScatter",
            Self::Copy => "copy",
        }
    }

    /// All such tasks, in words.
    #[must_use]
    pub const fn plural(self) -> &'static str {
        match self {
            Self::Product => "products",
            Self::AllGather => "AllGather",
            Self::Prepass => "pre-passes",
            Self::ReduceScatter => "ReduceScatter",
            Self::Copy => "copies",
        }
    }
}

impl Timeline {
    /// All its tasks, lane by lane.
    pub fn tasks(&self) -> impl Iterator<Item = &TimedTask> {
        self.lanes.iter().flat_map(|lane| &lane.tasks)
    }

    /// When its last task ended, in microseconds.
    #[must_use]
    pub fn end_us(&self) -> f64 {
        self.tasks().fold(0.0, |end, task| end.max(task.end_us))
    }

    /// A time in it, in milliseconds, that no run has: before its beginning, not finite, or of a task that ends before it begins the
    /// (negative) duration.
    pub(crate) fn impossible_time(&self) -> Option<f64> {
        let times = self.tasks().flat_map(|task| [task.start_us, task.end_us, task.end_us - task.start_us]);
        times.map(|time_us| time_us / 1e3).find(|time_ms| !time_ms.is_finite() || *time_ms < 0.0)
    }
}
