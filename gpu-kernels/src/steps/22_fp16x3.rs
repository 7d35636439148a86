//! fp16x3: fp32 accuracy from the tensor cores: each value is split into two f16, hi and lo, and three MMAs replace one.
//!
//! ```text
//!   a stage: A (BM, 32 hi | 32 lo), B (BN, 32 hi | 32 lo)
//!            hi*hi: sums of 32 products in the tensor cores ──► + ──► f32 sums ─┐
//!            hi*lo + lo*hi: longer sums there ──────────────────────────────────┴──► + ──► totals
//! ```
//!
//! Changed since hgemm: pre-passes scale each row of A and each column of B by a power of two, and split the values
//! (`prepass/split`). The product lo*lo is omitted: it is below the resolution of f32. Tensor cores truncate, so they add 32
//! large products only; the rest is two-level summation in f32, while the tensor cores execute the other warpgroup's MMAs
//! (`mainloop/split_mma`). lo is stored times 2^11: so hi + lo is within 2^-23 |x| of x over 28 binades, not 17.
//!
//! Each element meets the guarantee of the class fp32. The pre-passes look at the magnitudes of each row and column, and give it
//! certificates (`spec/certificate`): for elements within those 28 binades, or nearly all of them not far below the largest.
//! Elements of C whose row and column have none in common are computed in another way, in the same kernel: the others' bits do not
//! depend on it. Rows of widely different magnitudes, and such with subnormals or elements of 2^48 or more, are split into three
//! bf16, which have the exponents of f32. Those with infinities or NaN are computed by signs alone. Finite sums of products that may overflow,
//! sums that are far below the product of the largest elements, and all that is finite where k is below 32, are computed in fp32 on the
//! CUDA cores.
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
    sgemm_fp16x3 "fp16x3" SplitMma<F16, 64, 5>;
    sgemm_fp16x3_128x64 "fp16x3/128x64" SplitMma<F16, 32, 7>;
}
