//! Warp specialisation: one warpgroup of producers, two of consumers, and a ring of stages in shared memory between them.
//!
//! ```text
//!   producer: one thread ── TMA loads ──► stage 0 │ stage 1 │ ...   ── full ──►  consumers: two warpgroups, 64 rows each
//!        ▲                                                                          │
//!        └──────────────────────────────── empty ───────────────────────────────────┘
//! ```
//!
//! `setmaxnreg` moves registers to the consumers, which hold the accumulators. Source: CUTLASS, `PipelineTmaAsync` and the
//! persistent warp-specialised kernels for Hopper.

use crate::hardware::{SWIZZLE_ATOM_BYTES, WARPGROUP, WGMMA_M};

#[cfg(feature = "device")]
pub(crate) mod boxes;
#[cfg(feature = "device")]
pub(crate) mod producer_warp;
#[cfg(feature = "device")]
mod ring;
#[cfg(feature = "device")]
mod roles;
#[cfg(feature = "device")]
pub(crate) use ring::{OF_LAUNCH, Ring, Stage};
#[cfg(feature = "device")]
pub(crate) use roles::{
    CONSUMER_REGS, PRODUCER_REGS, consumer, finish, is_producer, load_multicast, produce, produce_tile, tile_indices,
    uniform_consumer, work_tiles,
};

/// Warpgroups of consumers.
pub(crate) const CONSUMERS: u32 = 2;
/// Threads that consume.
pub(crate) const CONSUMER_THREADS: u32 = CONSUMERS * WARPGROUP;
/// Threads of a block.
pub(crate) const THREADS: u32 = WARPGROUP + CONSUMER_THREADS;
/// Rows of the accumulators of a block.
pub(crate) const BLOCK_ROWS: u32 = CONSUMERS * WGMMA_M;

/// Dynamic shared memory of a ring: `stages` stages of `stage_bytes`, each with a `full` and an `empty` barrier.
pub(crate) const fn smem_bytes(stages: u32, stage_bytes: u32) -> u32 {
    assert!(stage_bytes.is_multiple_of(SWIZZLE_ATOM_BYTES), "a stage is whole swizzle atoms");
    stages * (stage_bytes + 16)
}
