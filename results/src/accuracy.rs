//! The errors of one kernel on one kind of inputs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::format::or_nan;

/// The error of one kernel on one kind of inputs. The fields' names are the keys of JSON and CSV.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Accuracy {
    /// The version of this record.
    pub schema: u32,
    /// A step's slug, or a baseline's name.
    pub kernel: String,
    /// The arithmetic, such as `fp16x3`.
    pub precision: String,
    /// The kind of numbers that A and B are made of, such as `uniform`.
    pub inputs: String,
    /// Rows of A and C.
    pub m: u32,
    /// Columns of B and C.
    pub n: u32,
    /// Columns of A, rows of B.
    pub k: u32,
    /// What the operands were drawn from.
    pub seed: u64,
    /// Rows of C that were compared: all, or where that takes long those at borders between tiles and random ones.
    pub rows_compared: usize,
    /// The normwise relative error ||C - reference|| / ||reference||, Frobenius, against f64.
    #[serde(deserialize_with = "or_nan")]
    pub rel_error: f64,
    /// The largest componentwise error |C - reference| / (|A|\*|B|).
    #[serde(deserialize_with = "or_nan")]
    pub max_error: f64,
    /// The kernel that it is compared with: cuBLAS SGEMM, or where that is not there a step in single precision.
    pub compared_with: String,
    /// `rel_error` as a multiple of the other kernel's.
    #[serde(deserialize_with = "or_nan")]
    pub rel_error_ratio: f64,
    /// `max_error` as a multiple of the other kernel's.
    #[serde(deserialize_with = "or_nan")]
    pub max_error_ratio: f64,
    /// Whether the kernel's accuracy class guarantees that its errors are not larger.
    pub promises: bool,
    /// Whether they are.
    pub verdict: Verdict,
    /// `cuda` or `emulator`.
    pub backend: String,
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
    /// When the row was made: UTC, RFC 3339.
    pub date: String,
    /// The commit that the program was built from, or `unknown`.
    pub commit: String,
    /// The compilers of the kernels and of the program.
    pub toolchain: Option<String>,
}

/// Whether errors are larger than those of SGEMM.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// It is SGEMM.
    Same,
    /// Neither of the two errors is larger; where SGEMM's is below 2.5e-7, it is at most 1.2 times as large.
    NoLarger,
    /// One of them is.
    Larger,
}

impl Verdict {
    /// In words, for tables.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Same => "-",
            Self::NoLarger => "no larger",
            Self::Larger => "LARGER",
        }
    }
}
