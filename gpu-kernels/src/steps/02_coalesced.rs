//! the threads of a warp along a row of C
use crate::{Precision, Step, Target, Tile};

/// This step's entry in the registry.
pub const STEP: Step = Step {
    slug: "coalesced",
    kernel: "sgemm_coalesced",
    base: Some("naive"),
    summary: "the threads of a warp along a row of C",
    source: "",
    precision: Precision::Fp32,
    target: Target::Sm80,
    tile: Tile { bm: 32, bn: 32, bk: 1, tm: 1, tn: 1 },
    block: [1024, 1, 1],
    smem_bytes: 0,
    dynamic_smem_bytes: 0,
    vector_loads: false,
};
