//! Blocks whose producer is one warp, behind the consumers.

use super::{OF_LAUNCH, Ring, Stage};
use crate::planned::{PlannedBlock, Shared};
use crate::ptx::tensor::{self, TensorMap};
use crate::ptx::{barrier, compiler, lanes, wgmma};
use crate::{Ab, Coord};
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
    shared: Shared,
}

impl Mapped {
    /// Of the block's problem, where there are so many elements from one problem's to the next one's; 0 where all share it.
    #[inline(always)]
    pub fn new(map: *const TensorMap, block: PlannedBlock, stride: u64, is_transposed: bool, shared: Shared) -> Self {
        Self { map, index: if stride == 0 { 0 } else { block.problem }, is_transposed, shared }
    }

    /// Issues the TMA load of so many rows at (`row`, `col`) to the shared address `to`, where they are `pitch` bytes apart; of a part of them
    /// to all blocks that share them, where others load the rest.
    ///
    /// # Safety
    /// As of [`tensor::load_of_batch`]; the map's box has as many rows as each of these blocks loads.
    #[inline(always)]
    pub unsafe fn load(self, to: u32, pitch: u32, rows: u32, Coord { row, col }: Coord, stage: Stage) {
        let Self { map, index, shared, .. } = self;
        // SAFETY: upheld by the caller (see `# Safety`).
        unsafe {
            if shared.blocks == 1 {
                tensor::load_of_batch(to, map, index, row, col, stage.full);
            } else {
                let first = (rows >> shared.blocks.trailing_zeros()) * shared.place;
                let to = to + first * pitch;
                tensor::load_of_batch_multicast(to, map, index, row + first, col, stage.full, shared.mask);
            }
        }
    }
}

/// Has the first thread behind so many consumers fetch the tensor maps ahead of their use.
#[inline(always)]
pub(crate) fn prefetch(maps: Ab<*const TensorMap>, consumer_threads: u32) {
    if thread::thread_idx_x() == consumer_threads {
        maps.map(tensor::prefetch);
    }
}

/// Fills a stage with each of these k-tiles, as soon as the stage is empty: `load` issues the TMA loads. After the `IS_LAST` tile it waits for
/// the blocks that share stages.
///
/// # Safety
/// The producer warp calls it, and `load` fills the stage that it gets. Where there is no last tile, no block ends before its cluster.
#[inline(always)]
pub(crate) unsafe fn produce<const IS_LAST: bool>(
    ring: &mut Ring<OF_LAUNCH>,
    k_tiles: Range<u32>,
    load: impl Fn(Stage, u32),
) {
    let mut k_tile = k_tiles.start;
    let is_elected = lanes::elect();
    while is_elected && k_tile < k_tiles.end {
        // SAFETY: this is the producer thread, and `load` fills the stage.
        load(unsafe { ring.producer_acquire() }, k_tile);
        k_tile = compiler::opaque(k_tile + 1); // or LLVM would unroll the loop
    }
    if IS_LAST && is_elected {
        // SAFETY: this is the producer thread.
        unsafe { ring.producer_tail() };
    }
    // SAFETY: the whole warp is here.
    unsafe { warp::sync_warp(u32::MAX) }; // barriers want it converged
}

/// Has `issue` issue the MMAs of each stage of so many k-tiles, which is told whether there were some before, and waits for all of them.
/// Those of a k-tile are issued before those of the one before it complete, and execute while `meanwhile` is called.
///
/// # Safety
/// Every consumer thread calls it, and as many k-tiles are produced; `issue` neither commits nor waits.
#[inline(always)]
pub(crate) unsafe fn consume(
    ring: &mut Ring<OF_LAUNCH>,
    k_tiles: u32,
    mut issue: impl FnMut(Stage, bool),
    mut meanwhile: impl FnMut(u32),
) {
    let (mut is_first, mut left) = (true, k_tiles);
    while left > 0 {
        // SAFETY: a stage is full when it is read, and released when its MMAs are complete.
        unsafe {
            let stage = ring.consumer_wait();
            wgmma::fence();
            issue(stage, !is_first);
            wgmma::commit_group();
            wgmma::wait_group::<1>();
            if !is_first {
                ring.consumer_release_ago(2);
            }
        }
        meanwhile(k_tiles - left);
        is_first = false;
        left = compiler::opaque(left - 1); // or LLVM would unroll the loop
    }
    wgmma::wait_group::<0>(); // before loops' ends meet, or ptxas would serialise the MMAs
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
