//! a square chunk of A and B in shared memory
use crate::{Precision, Step, Target, Tile};

/// This step's entry in the registry.
pub const STEP: Step = Step {
    slug: "smem-tiling",
    kernel: "sgemm_smem_tiling",
    base: Some("coalesced"),
    summary: "a square chunk of A and B in shared memory",
    source: "",
    precision: Precision::Fp32,
    target: Target::Sm80,
    tile: Tile { bm: 32, bn: 32, bk: 32, tm: 1, tn: 1 },
    block: [1024, 1, 1],
    smem_bytes: 8192,
    dynamic_smem_bytes: 0,
    vector_loads: false,
};
