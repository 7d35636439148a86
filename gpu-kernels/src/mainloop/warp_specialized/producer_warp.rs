//! Blocks of one tile each, whose producer is one warp, behind the consumers.

use super::{Ring, Stage};
use crate::ptx::tensor::TensorMap;
use crate::ptx::{barrier, compiler};
use core::ops::Range;
use cuda_std::prelude::*;

/// The named barrier of the consumers.
const CONSUMERS: u32 = 1;

/// An operand in memory.
#[derive(Clone, Copy)]
pub(crate) struct Mapped {
    pub map: *const TensorMap,
    /// Its index along the third dimension of the map.
    pub index: u32,
    pub is_transposed: bool,
}

/// Fills a stage with each of these k-tiles, as soon as the stage is empty: `load` issues the TMA loads. So many threads consume.
///
/// # Safety
/// The producer warp calls it, and `load` fills the stage that it gets.
#[inline(always)]
pub(crate) unsafe fn produce(
    ring: &mut Ring<1>,
    consumer_threads: u32,
    k_tiles: Range<u32>,
    load: impl Fn(Stage, u32),
) {
    let mut k_tile = k_tiles.start;
    while thread::thread_idx_x() == consumer_threads && k_tile < k_tiles.end {
        // SAFETY: this is the producer thread, and `load` fills the stage.
        load(unsafe { ring.producer_acquire() }, k_tile);
        k_tile = compiler::opaque(k_tile + 1); // or LLVM would unroll the loop
    }
    // SAFETY: the whole warp is here.
    unsafe { warp::sync_warp(u32::MAX) }; // barriers want it converged
}

/// Waits until all consumers are here, which are so many threads.
///
/// # Safety
/// The consumers call it.
#[inline(always)]
pub(crate) unsafe fn sync_consumers(consumer_threads: u32) {
    // SAFETY: upheld by the caller (see `# Safety`).
    unsafe { barrier::sync(CONSUMERS, consumer_threads) }
}
