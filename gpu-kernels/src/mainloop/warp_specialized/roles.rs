//! Producer and consumers: which warpgroup is which, what the producer does, which tiles a persistent block computes.

use super::{Ring, Stage};
use crate::hardware::{WARP, WARPGROUP};
use crate::mainloop::WorkTile;
use crate::ptx::mbarrier::Mbarrier;
use crate::ptx::tensor::{self, TensorMap};
use crate::ptx::{cluster, lanes};
use crate::{Coord, Extent, Group, Tile, persistent_tile, persistent_tiles};
use cuda_std::prelude::*;

/// Registers per thread of the producer and of the consumers: together, the register file of an SM.
pub(crate) const PRODUCER_REGS: u32 = 40;
pub(crate) const CONSUMER_REGS: u32 = 232;

/// Warps of a warpgroup.
const WARPS: u32 = WARPGROUP / WARP;

/// Whether this thread's warpgroup is the producer.
#[inline(always)]
pub(crate) fn is_producer() -> bool {
    lanes::warp_index() < WARPS
}

/// The index of this thread's warpgroup among the consumers.
#[inline(always)]
pub(crate) fn consumer() -> u32 {
    thread::thread_idx_x() / WARPGROUP - 1
}

/// The same, of which the assembler knows that all lanes of the warp have it ([`lanes::warp_index`]): called before a loop, not in it.
#[inline(always)]
pub(crate) fn uniform_consumer() -> u32 {
    lanes::warp_index() / WARPS - 1
}

/// The producer: one thread fills a stage for each k-tile of each of `tiles`, as soon as the stage is empty. `load` issues
/// the TMA loads of a k-tile.
///
/// # Safety
/// The producer warpgroup calls it, and `load` fills the stage that it gets.
#[inline(always)]
pub(crate) unsafe fn produce<const CLUSTER: u32>(
    ring: &mut Ring<CLUSTER>,
    tiles: impl Iterator<Item = WorkTile>,
    load: impl Fn(Stage, Coord, u32),
) {
    if lanes::warp_index().is_multiple_of(WARPS) && lanes::elect() {
        for tile in tiles {
            // SAFETY: this is the producer thread, and `load` fills the stage.
            unsafe { produce_tile(ring, tile, &load) }
        }
    }
}

/// Fills a stage for each k-tile.
///
/// # Safety
/// As of [`produce`], by its thread.
#[inline(always)]
pub(crate) unsafe fn produce_tile<const CLUSTER: u32>(
    ring: &mut Ring<CLUSTER>,
    WorkTile { row, col, k_tiles }: WorkTile,
    load: impl Fn(Stage, Coord, u32),
) {
    for k_tile in k_tiles {
        // SAFETY: this is the producer thread, and `load` fills the stage.
        let stage = unsafe { ring.producer_acquire() };
        load(stage, Coord { row, col }, k_tile);
    }
}

/// This block's tiles of `tile`, among `tiles`, each with all `k_tiles`, where clusters have those of groups.
#[inline(always)]
pub(crate) fn work_tiles(tiles: Extent, tile: Tile, group: Group, k_tiles: u32) -> impl Iterator<Item = WorkTile> {
    tile_indices(tiles, group).map(move |index| {
        let Coord { row, col } = persistent_tile(index, tiles, tile.bm, group);
        WorkTile { row: row * tile.bm, col: col * tile.bn, k_tiles: 0..k_tiles }
    })
}

/// The indices of these tiles. The epilogue computes [`persistent_tile`] of its index again, which saves registers.
#[inline(always)]
pub(crate) fn tile_indices(tiles: Extent, group: Group) -> impl Iterator<Item = u32> {
    let mut next = thread::block_idx_x();
    core::iter::from_fn(move || {
        let index = (next < persistent_tiles(tiles, group)).then_some(next);
        next += thread::grid_dim_x();
        index
    })
}

/// The end of a kernel: no block of the cluster writes to this one's shared memory any more, nor arrives at its barriers.
///
/// # Safety
/// Every thread of the cluster calls it, after its last tile.
#[inline(always)]
pub(crate) unsafe fn finish() {
    // SAFETY: all lanes are here, also of the producer's warp.
    unsafe { warp::sync_warp(u32::MAX) };
    cluster::sync();
}

/// Issues a TMA load of the box at (`row`, `col`) to the same shared address in every block of the cluster.
///
/// # Safety
/// As of [`tensor::load_multicast`].
#[inline(always)]
pub(crate) unsafe fn load_multicast<const CLUSTER: u32>(
    target: u32,
    map: *const TensorMap,
    Coord { row, col }: Coord,
    full: Mbarrier,
) {
    // SAFETY: upheld by the caller (see `# Safety`).
    unsafe {
        if CLUSTER == 1 {
            tensor::load(target, map, row, col, full);
        } else {
            tensor::load_multicast(target, map, row, col, full, (1 << CLUSTER) - 1);
        }
    }
}
