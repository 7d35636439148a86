//! tf32x3: as fp16x3, split into TF32, which has the exponents of f32: nothing is scaled.
//!
//! Changed since fp16x3: the format of hi and lo. A stage holds half as many values, so the tensor cores add 16 products only,
//! at half the rate. What has no certificate: rows with an element of 2^48 or more, whose sums may overflow, or below 2^-51, whose
//! products may be near the smallest of f32. There is no window: rows may be of any magnitudes between.
//!
//! Source: CUTLASS, example 27, for devices before Hopper; Triton's `tf32x3`.

use crate::mainloop::split_mma::{SplitMma, kernels};
use crate::prepass::split::Tf32;
use crate::{Precision, Step};

/// This step's entry in the registry.
pub const STEP: Step = Step { variants: ALL.split_at(1).1, ..ALL[0] };

const COMMON: Step = Step {
    base: Some("fp16x3"),
    summary: "fp32 from the tensor cores: hi/lo split into TF32, three MMAs, sums of 16 promoted to f32",
    source: "CUTLASS, example 27 (3xTF32); Triton, tf32x3",
    precision: Precision::Tf32x3,
    ..Step::PLAIN
};

kernels! { COMMON;
    sgemm_tf32x3 "tf32x3" SplitMma<Tf32, 64, 5>;
}
