//! TM x TN results per thread, an outer product in registers
use crate::{Precision, Step, Target, Tile};

/// This step's entry in the registry.
pub const STEP: Step = Step {
    slug: "2d-tiling",
    kernel: "sgemm_tiling_2d",
    base: Some("1d-tiling"),
    summary: "TM x TN results per thread, an outer product in registers",
    source: "",
    precision: Precision::Fp32,
    target: Target::Sm80,
    tile: Tile { bm: 128, bn: 128, bk: 8, tm: 8, tn: 8 },
    block: [256, 1, 1],
    smem_bytes: 8192,
    dynamic_smem_bytes: 0,
    vector_loads: false,
};
