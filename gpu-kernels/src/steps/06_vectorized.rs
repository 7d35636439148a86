//! A transposed in shared memory, 128-bit loads and stores
use crate::{Precision, Step, Target, Tile};

/// This step's entry in the registry.
pub const STEP: Step = Step {
    slug: "vectorized",
    kernel: "sgemm_vectorized",
    base: Some("2d-tiling"),
    summary: "A transposed in shared memory, 128-bit loads and stores",
    source: "",
    precision: Precision::Fp32,
    target: Target::Sm80,
    tile: Tile { bm: 128, bn: 128, bk: 8, tm: 8, tn: 8 },
    block: [256, 1, 1],
    smem_bytes: 8192,
    dynamic_smem_bytes: 0,
    vector_loads: true,
};
