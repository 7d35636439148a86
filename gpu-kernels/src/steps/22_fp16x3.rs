//! fp16x3: fp32 accuracy from the tensor cores: each value is split into two f16, hi and lo, and three MMAs replace one.
//!
//! ```text
//!   a stage: A (BM, 32 hi | 32 lo), B (BN, 32 hi | 32 lo)
//!            hi*lo + lo*hi ─┐
//!            hi*hi         ─┴► sums of 32 products in the tensor cores ──► + ──► f32 sums ──► + ──► totals
//! ```
//!
//! Changed since hgemm: pre-passes scale each row of A and each column of B by a power of two, and split the values
//! (`prepass/split`). The product lo*lo is omitted: it is below the resolution of f32. Tensor cores truncate, so they add 32
//! products only, small ones first; the rest is two-level summation in f32 registers, while the tensor cores execute the other
//! warpgroup's MMAs (`mainloop/split_mma`). A row or column that cannot be split is marked in its exponent: one with an
//! infinity or NaN, or with a number too small beside its largest. Elements of C in a marked row or column are computed in fp32,
//! on the CUDA cores: the others' bits do not depend on it.
//!
//! The error of hi + lo is at most 2^-23 |x| where |x| is at least 2^-17 of the row's largest, and 2^-40 of the largest below.
//! The latter exceeds SGEMM's error only where small values of A meet the largest of B, and the large ones meet nothing.
//!
//! Source: H. Ootomo and R. Yokota, "Recovering single precision accuracy from Tensor Cores" (2022), for the hi/lo split, the
//! scaling and the accumulation outside; no library has it on Hopper.

use crate::mainloop::split_mma::{SplitMma, kernels};
use crate::prepass::split::F16;
use crate::{Precision, Step};

/// This step's entry in the registry.
pub const STEP: Step = Step { variants: ALL.split_at(1).1, ..ALL[0] };

const COMMON: Step = Step {
    base: Some("hgemm"),
    summary: "fp32 from the tensor cores: scaled hi/lo split into f16, three MMAs, sums of 32 promoted to f32",
    source: "H. Ootomo, R. Yokota, Recovering single precision accuracy from Tensor Cores (2022)",
    precision: Precision::Fp16x3,
    ..Step::PLAIN
};

kernels! { COMMON;
    sgemm_fp16x3 "fp16x3" SplitMma<F16, 64, 1, 7>;
    sgemm_fp16x3_cluster "fp16x3/cluster" SplitMma<F16, 64, 2, 7>;
    sgemm_fp16x3_128x64 "fp16x3/128x64" SplitMma<F16, 32, 1, 8>;
}
