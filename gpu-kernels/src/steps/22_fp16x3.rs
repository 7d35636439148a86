//! fp16x3: single precision out of the tensor cores: each value is two f16, and three products of these are its products.
//!
//! ```text
//!   a stage: A (BM, 32 high | 32 low), B (BN, 32 high | 32 low)
//!            high*low + low*high ─┐
//!            high*high           ─┴► partial sums of 32 in the tensor cores ──► + ──► sums in f32 ──► + ──► totals
//! ```
//!
//! Changed since hgemm: pre-passes scale each row of A and each column of B by a power of two and take its values apart
//! (`src/split`). The product of the low parts is left out: it is below what f32 holds. The tensor cores cut their sums
//! off, so theirs are of 32 products only, small ones first, and added in f32. While one warpgroup adds, the tensor cores compute
//! the other one's sums (`src/products.rs`). Long sums come in two levels, since an addition's error grows with what is there
//! already. What cannot be split, an infinity say, or a number that would vanish beside its row's largest, is marked in the
//! row's exponent: a warp that meets the mark computes its elements of C again, on the CUDA cores.
//!
//! A value has 22 bits down to 2^-17 of its row's largest, and fewer below: there the error is 2^-40 of the largest. Beside
//! SGEMM's errors that is seen only where such small values of A meet the largest of B, and the large ones nothing.
//!
//! Source: H. Ootomo and R. Yokota, "Recovering single precision accuracy from Tensor Cores" (2022), for two parts, scaling
//! and sums outside; no library has it on Hopper.

use crate::parts::F16;
use crate::products::{ThreeProducts, kernels};
use crate::ptx::tensor::TensorMap;
use crate::{Precision, Step};
use cuda_std::prelude::*;

/// This step's entry in the registry.
pub const STEP: Step = Step { variants: ALL.split_at(1).1, ..ALL[0] };

const COMMON: Step = Step {
    base: Some("hgemm"),
    summary: "fp32 from the tensor cores: scaled values in two f16 parts, three products, sums of 32 added in f32",
    source: "H. Ootomo, R. Yokota, Recovering single precision accuracy from Tensor Cores (2022)",
    precision: Precision::Fp16x3,
    ..Step::PLAIN
};

kernels! { COMMON;
    sgemm_fp16x3 "fp16x3" ThreeProducts<F16, 64, 1, 7>;
    sgemm_fp16x3_cluster "fp16x3/cluster" ThreeProducts<F16, 64, 2, 7>;
    sgemm_fp16x3_128x64 "fp16x3/128x64" ThreeProducts<F16, 32, 1, 8>;
}
