//! tf32x3: as fp16x3, with parts that have the exponents of f32: nothing is scaled.
//!
//! Changed since fp16x3: the kind of the parts, half as many of them in a stage, so that sums in the tensor cores are of 16
//! products, and their speed. What cannot be split are infinities, NaN, numbers that rounding would make infinite, and those
//! so small that their low part would have no exponent.
//!
//! Source: CUTLASS, example 27, for devices before Hopper; Triton's `tf32x3`.

use crate::parts::Tf32;
use crate::products::{ThreeProducts, kernels};
use crate::ptx::tensor::TensorMap;
use crate::{Precision, Step};
use cuda_std::prelude::*;

/// This step's entry in the registry.
pub const STEP: Step = Step { variants: ALL.split_at(1).1, ..ALL[0] };

const COMMON: Step = Step {
    base: Some("fp16x3"),
    summary: "fp32 from the tensor cores: values in two TF32 parts, three products, sums of 16 added in f32",
    source: "CUTLASS, example 27 (3xTF32); Triton, tf32x3",
    precision: Precision::Tf32x3,
    ..Step::PLAIN
};

kernels! { COMMON;
    sgemm_tf32x3 "tf32x3" ThreeProducts<Tf32, 64, 1, 7>;
    sgemm_tf32x3_cluster "tf32x3/cluster" ThreeProducts<Tf32, 64, 2, 7>;
}
