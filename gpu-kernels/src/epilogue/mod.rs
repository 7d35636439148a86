//! Epilogues: from accumulators to C = alpha\*A\*B + beta\*C.

use crate::hardware::{WARP, WARPGROUP};

#[cfg(feature = "device")]
pub(crate) mod activation;
#[cfg(feature = "device")]
pub(crate) mod columns;
#[cfg(feature = "device")]
pub(crate) mod deferred;
#[cfg(feature = "device")]
pub(crate) mod direct;
#[cfg(feature = "device")]
pub(crate) mod elements;
#[cfg(feature = "device")]
pub(crate) mod fixup;
#[cfg(feature = "device")]
pub(crate) mod fused;
#[cfg(feature = "device")]
pub(crate) mod fusion;
#[cfg(feature = "device")]
pub(crate) mod narrow;
#[cfg(feature = "device")]
pub(crate) mod partial_tile;
#[cfg(feature = "device")]
pub(crate) mod simt;
#[cfg(feature = "device")]
pub(crate) mod staged;
#[cfg(feature = "device")]
pub(crate) mod tile_rows;
#[cfg(feature = "device")]
pub(crate) mod warp_rows;

/// Lines of a warp's staging buffer, words of a line, and of the buffer.
const LINES: u32 = 16;
const LINE: u32 = 32;
pub(crate) const WARP_WORDS: u32 = LINES * LINE;

/// Dynamic shared memory of a ring of `ring_bytes` and, behind it, the staging buffers of so many consumer warpgroups.
pub(crate) const fn staged_smem_bytes(ring_bytes: u32, consumers: u32) -> u32 {
    ring_bytes.next_multiple_of(LINE * 4) + consumers * WARPGROUP / WARP * WARP_WORDS * 4
}
