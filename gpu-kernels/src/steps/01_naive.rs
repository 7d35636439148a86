//! one thread per element of C, uncoalesced on purpose
use crate::{Precision, Step, Target, Tile};

/// This step's entry in the registry.
pub const STEP: Step = Step {
    slug: "naive",
    kernel: "sgemm_naive",
    base: None,
    summary: "one thread per element of C, uncoalesced on purpose",
    source: "",
    precision: Precision::Fp32,
    target: Target::Sm80,
    tile: Tile { bm: 32, bn: 32, bk: 1, tm: 1, tn: 1 },
    block: [32, 32, 1],
    smem_bytes: 0,
    dynamic_smem_bytes: 0,
    vector_loads: false,
};
