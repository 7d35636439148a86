//! Epilogues: from accumulators to C = alpha\*A\*B + beta\*C.

use crate::hardware::{WARP, WARPGROUP};

#[cfg(feature = "device")]
pub(crate) mod activation;
#[cfg(feature = "device")]
pub(crate) mod columns;
#[cfg(feature = "device")]
pub(crate) mod direct;
#[cfg(feature = "device")]
pub(crate) mod fixup;
#[cfg(feature = "device")]
pub(crate) mod fused;
#[cfg(feature = "device")]
pub(crate) mod fusion;
#[cfg(feature = "device")]
pub(crate) mod partial;
#[cfg(feature = "device")]
pub(crate) mod simt;
#[cfg(feature = "device")]
pub(crate) mod staged;

/// Lines of a warp's staging buffer, words of a line, and bytes of the buffer.
const LINES: u32 = 16;
const LINE: u32 = 32;
const WARP_BYTES: u32 = LINES * LINE * 4;

/// Dynamic shared memory of a ring of `ring_bytes` and, behind it, the staging buffers of so many consumer warpgroups.
pub(crate) const fn staged_smem_bytes(ring_bytes: u32, consumers: u32) -> u32 {
    ring_bytes.next_multiple_of(LINE * 4) + consumers * WARPGROUP / WARP * WARP_BYTES
}

/// Words between the rows of a partial tile in shared memory: those of four rows that lanes store at once lie in different banks.
const PARTIAL_PAD: u32 = 8;

/// Dynamic shared memory of a partial tile of such a tile.
pub(crate) const fn partial_smem_bytes(rows: u32, cols: u32) -> u32 {
    rows * (cols + PARTIAL_PAD) * 4
}
