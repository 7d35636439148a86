//! TM results per thread, the value of B kept in a register
use crate::{Precision, Step, Target, Tile};

/// This step's entry in the registry.
pub const STEP: Step = Step {
    slug: "1d-tiling",
    kernel: "sgemm_tiling_1d",
    base: Some("smem-tiling"),
    summary: "TM results per thread, the value of B kept in a register",
    source: "",
    precision: Precision::Fp32,
    target: Target::Sm80,
    tile: Tile { bm: 64, bn: 64, bk: 8, tm: 8, tn: 1 },
    block: [512, 1, 1],
    smem_bytes: 4096,
    dynamic_smem_bytes: 0,
    vector_loads: false,
};
