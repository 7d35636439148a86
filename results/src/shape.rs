//! One shape beside cuBLAS.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::format::or_nan;

/// Products of one shape beside cuBLAS: sequences of products on operands that no cache holds, each sequence one CUDA graph, the two
/// sides in alternation. alpha is 1, beta is 0. The fields' names are the keys of JSON and CSV.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ShapeTiming {
    /// The version of this record.
    pub schema: u32,
    /// The set that the shape belongs to: a file's name, or such as `random:200:1`.
    pub set: String,
    /// The accuracy class, such as `fp32-strict`.
    pub class: String,
    /// Rows of A and C.
    pub m: u32,
    /// Columns of B and C.
    pub n: u32,
    /// Columns of A, rows of B.
    pub k: u32,
    /// `n`, or `t` where A is stored as its transpose.
    pub op_a: String,
    /// The same of B.
    pub op_b: String,
    /// `row` or `column`: what is contiguous in all three matrices.
    pub order: String,
    /// Products of a strided batch; 1 where there is none.
    pub batch: u32,
    /// How often the set has the shape.
    pub count: u64,
    /// The kernel that was chosen: a step's slug.
    pub kernel: String,
    /// What it is compared with: a baseline's name.
    pub baseline: String,
    /// Launches of a product, pre-passes among them.
    pub launches: usize,
    /// Bytes of device memory that the kernel takes beside the operands.
    pub workspace_bytes: u64,
    /// The time of a product, all of its batch, in milliseconds: the geometric mean over the rounds.
    pub time_ms: f64,
    /// The same of cuBLAS.
    pub cublas_ms: f64,
    /// `cublas_ms` over `time_ms`: above 1 where cuBLAS takes longer.
    pub ratio: f64,
    /// The standard error of `ratio`, as a share of it.
    pub ratio_error: f64,
    /// Rounds: in each, both sides are timed once.
    pub rounds: u32,
    /// Whether `ratio_error` came below its limit before the rounds came to theirs.
    pub settled: bool,
    /// Products of a sequence.
    pub products: u32,
    /// Copies of the operands that these go round.
    pub copies: u32,
    /// Why no product finds its operands in the L2 cache: `rotated`, since the copies exceed twice that cache together, or `flushed`
    /// before each sequence, in which no copy is used twice.
    pub l2: String,
    /// The time of a product where a sequence is plain calls, the host's time for them included, in milliseconds.
    pub calls_ms: f64,
    /// The same of cuBLAS.
    pub cublas_calls_ms: f64,
    /// `cublas_calls_ms` over `calls_ms`.
    pub calls_ratio: f64,
    /// The fastest of all kernels of the class that the device runs on this shape, where they were timed.
    pub best_kernel: Option<String>,
    /// The time of the chosen kernel over that of the fastest one, timed in alternation: 1 where it is the fastest.
    pub regret: Option<f64>,
    /// The times of all kernels of the class; of those far slower in a first look, that of one product after a flush of the cache.
    #[serde(default)]
    pub kernels: Vec<KernelTime>,
    /// The normwise relative error ||C - reference|| / ||reference||, Frobenius, against f64.
    #[serde(deserialize_with = "or_nan")]
    pub rel_error: f64,
    /// Whether the chosen kernel's result is right: of a batch, the first and the last product's.
    pub verified: bool,
    /// The same of cuBLAS.
    pub cublas_verified: bool,
    /// The device's name.
    pub device: String,
    /// Such as `9.0`.
    pub compute_capability: String,
    /// Its SMs.
    pub sm_count: u32,
    /// The highest SM clock, in MHz.
    pub max_sm_clock_mhz: u32,
    /// The driver's version.
    pub driver: String,
    /// The newest CUDA version that the driver supports.
    pub cuda: String,
    /// cuBLAS's version.
    pub cublas: Option<String>,
    /// What cuBLAS was told to do.
    pub cublas_math: String,
    /// SM clock right after the timed sequences, in MHz.
    pub sm_clock_mhz: Option<u32>,
    /// Board power right after the timed sequences, in watts.
    pub power_w: Option<f64>,
    /// When the row was made: UTC, RFC 3339.
    pub date: String,
    /// The commit that the program was built from, or `unknown`.
    pub commit: String,
    /// The compilers of the kernels and of the program.
    pub toolchain: Option<String>,
}

/// What a kernel takes for a shape.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KernelTime {
    /// A step's slug.
    pub kernel: String,
    /// The time of a product, all of its batch, in milliseconds.
    pub time_ms: f64,
}

impl ShapeTiming {
    /// m, n, k, and what else is not plain: `64x8192x8192 NT, batch of 16`.
    #[must_use]
    pub fn name(&self) -> String {
        let Self { m, n, k, op_a, op_b, order, batch, .. } = self;
        let mut name = format!("{m}x{n}x{k}");
        if op_a != "n" || op_b != "n" {
            name += &format!(" {}{}", op_a.to_uppercase(), op_b.to_uppercase());
        }
        if order != "row" {
            name += &format!(", {order}-major");
        }
        if *batch != 1 {
            name += &format!(", batch of {batch}");
        }
        name
    }

    /// Multiply-adds of one product: m n k.
    #[must_use]
    pub fn volume(&self) -> f64 {
        f64::from(self.m) * f64::from(self.n) * f64::from(self.k)
    }

    /// What kind of shape it is.
    #[must_use]
    pub fn kind(&self) -> Kind {
        Kind::of([self.m, self.n, self.k])
    }
}

/// What bounds a shape, roughly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// m or n is at most 8: a matrix times a vector or a few.
    Vectors,
    /// k is at least 8 times the larger of m and n: long sums, few tiles.
    LongSums,
    /// m or n is at most 128: a tile or two across.
    Narrow,
    /// k is at most 32: writing C takes longest.
    ShortSums,
    /// None of these.
    Others,
}

impl Kind {
    /// Every one. A shape is of the first that fits.
    pub const ALL: [Self; 5] = [Self::Vectors, Self::LongSums, Self::Narrow, Self::ShortSums, Self::Others];

    /// The kind of a shape m, n, k.
    #[must_use]
    pub fn of([m, n, k]: [u32; 3]) -> Self {
        let (least, most) = (m.min(n), m.max(n));
        match () {
            () if least <= 8 => Self::Vectors,
            () if u64::from(k) >= 8 * u64::from(most) => Self::LongSums,
            () if least <= 128 => Self::Narrow,
            () if k <= 32 => Self::ShortSums,
            () => Self::Others,
        }
    }

    /// As tables name it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Vectors => "m or n <= 8",
            Self::LongSums => "k >= 8 max(m, n)",
            Self::Narrow => "m or n <= 128",
            Self::ShortSums => "k <= 32",
            Self::Others => "others",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shape_is_of_the_first_kind_that_fits() {
        let of = |shapes: &[[u32; 3]]| shapes.iter().map(|shape| Kind::of(*shape)).collect::<Vec<_>>();
        // Both m and n count, and each border belongs to its kind.
        assert_eq!(of(&[[8, 5000, 1], [5000, 8, 1], [1, 1, 100_000]]), [Kind::Vectors; 3]);
        assert_eq!(of(&[[64, 9, 512], [9, 64, 512], [200, 300, 2400]]), [Kind::LongSums; 3]);
        assert_eq!(of(&[[64, 9, 511], [128, 129, 8], [4096, 9, 4096]]), [Kind::Narrow; 3]);
        assert_eq!(of(&[[129, 129, 32], [18_000, 18_000, 1]]), [Kind::ShortSums; 2]);
        assert_eq!(of(&[[129, 129, 33], [200, 300, 2399]]), [Kind::Others; 2]);
        assert_eq!(Kind::of([u32::MAX, 9, u32::MAX]), Kind::Narrow, "8 max(m, n) does not overflow");
    }
}
