//! Producer and consumers: which warpgroup is which, what the producer does, which tiles a persistent block computes.

use super::{Ring, Stage};
use crate::hardware::WARPGROUP;
use crate::mainloop::WorkTile;
use crate::ptx::cluster;
use crate::ptx::mbarrier::Mbarrier;
use crate::ptx::tensor::{self, TensorMap};
use crate::{Coord, Extent, Tile, persistent_tile, persistent_tiles};
use cuda_std::prelude::*;

/// Registers per thread of the producer and of the consumers: together, the register file of an SM.
pub(crate) const PRODUCER_REGS: u32 = 40;
pub(crate) const CONSUMER_REGS: u32 = 232;

/// Whether this thread's warpgroup is the producer.
#[inline(always)]
pub(crate) fn is_producer() -> bool {
    thread::thread_idx_x() < WARPGROUP
}

/// The index of this thread's warpgroup among the consumers.
#[inline(always)]
pub(crate) fn consumer() -> u32 {
    thread::thread_idx_x() / WARPGROUP - 1
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
    if thread::thread_idx_x().is_multiple_of(WARPGROUP) {
        for WorkTile { row, col, k_tiles } in tiles {
            for k_tile in k_tiles {
                // SAFETY: this is the producer thread, and `load` fills the stage.
                let stage = unsafe { ring.producer_acquire() };
                load(stage, Coord { row, col }, k_tile);
            }
        }
    }
}

/// This block's tiles of `tile`, among `tiles`, each with all `k_tiles`.
#[inline(always)]
pub(crate) fn work_tiles<const CLUSTER: u32>(
    tiles: Extent,
    tile: Tile,
    k_tiles: u32,
) -> impl Iterator<Item = WorkTile> {
    tile_indices::<CLUSTER>(tiles).map(move |index| {
        let Coord { row, col } = persistent_tile(index, tiles, tile.bm, CLUSTER);
        WorkTile { row: row * tile.bm, col: col * tile.bn, k_tiles: 0..k_tiles }
    })
}

/// The indices of these tiles. The epilogue computes [`persistent_tile`] of its index again, which saves registers.
#[inline(always)]
pub(crate) fn tile_indices<const CLUSTER: u32>(tiles: Extent) -> impl Iterator<Item = u32> {
    let mut next = thread::block_idx_x();
    core::iter::from_fn(move || {
        let index = (next < persistent_tiles(tiles, CLUSTER)).then_some(next);
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
