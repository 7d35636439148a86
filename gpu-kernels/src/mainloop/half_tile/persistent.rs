//! The same for blocks that go on from tile to tile: the producer loads the next tile's operands while the consumers store this tile, or
//! multiply the next one while they do.

use super::HalfTile;
use crate::epilogue::WARP_WORDS;
use crate::hardware::{WARP, WARPGROUP};
use crate::mainloop::warp_specialized;
use crate::spec::persistent_rows;
use crate::{Precision, Schedule, Step};

/// Accumulators of a thread in a staging buffer of [`WARP_WORDS`].
const STAGED: usize = 2 * (WARP_WORDS / WARP) as usize;

impl<const BM: u32, const BN: u32, const ACC: usize, const STAGES: u32> HalfTile<BM, BN, ACC, STAGES> {
    /// Shared memory of the ring; the barrier of [`Stores`] lies behind it, and staging buffers, aligned, behind that.
    const RING_BYTES: u32 = warp_specialized::smem_bytes(STAGES, Self::STAGE_BYTES);
    const STAGING: u32 = (Self::RING_BYTES + 8).next_multiple_of(128);

    /// A step of persistent blocks of this shape, of which an SM holds so many, without its names. Where so many rounds of its stores are
    /// deferred ([`crate::epilogue::deferred`]), and not none, tiles are grouped, and two blocks may share B.
    pub const fn persistent_step<const DEFERRED: usize>(precision: Precision, blocks_per_sm: u32) -> Step {
        assert!(BM * BN * 4 <= STAGES * Self::STAGE_BYTES, "the partial tile fits where the stages are");
        let staging_bytes = Self::CONSUMER_THREADS / WARP * Self::buffers::<DEFERRED>() * WARP_WORDS * 4;
        Step {
            block: [Self::persistent_threads::<DEFERRED>(), 1, 1],
            schedule: Schedule::PersistentBatch { blocks_per_sm, band_rows: Self::band_rows::<DEFERRED>() },
            dynamic_smem_bytes: Self::STAGING + staging_bytes,
            multicasts: DEFERRED > 0,
            ..Self::mapped(precision)
        }
    }

    /// Threads: where stores are deferred, the producer is a warpgroup, whose registers the consumers get.
    pub const fn persistent_threads<const DEFERRED: usize>() -> u32 {
        Self::CONSUMER_THREADS + if DEFERRED > 0 { WARPGROUP } else { WARP }
    }

    /// Staging buffers of a warp: one, or so many that they hold its part of the tile, as elements of 16 bits.
    const fn buffers<const DEFERRED: usize>() -> u32 {
        if DEFERRED > 0 { 1 } else { ACC.div_ceil(STAGED) as u32 }
    }

    /// Rows of tiles in a group, whole clusters; one where C is larger than the operands, and is stored row by row.
    const fn band_rows<const DEFERRED: usize>() -> u32 {
        if DEFERRED > 0 { persistent_rows(BM) / 2 * 2 } else { 1 }
    }
}

/// What runs on the device.
#[cfg(feature = "device")]
mod kernel {
    use super::*;
    use crate::epilogue::direct::Output;
    use crate::epilogue::fused::Fused;
    use crate::epilogue::partial_tile::{PartialTile, Target};
    use crate::hardware::WGMMA_M;
    use crate::mainloop::warp_specialized::{CONSUMER_REGS, OF_LAUNCH, PRODUCER_REGS, Ring, producer_warp};
    use crate::planned::Peers;
    use crate::ptx::mbarrier::Mbarrier;
    use crate::ptx::tensor::TensorMap;
    use crate::ptx::{compiler, lanes, wgmma};
    use crate::{Ab, Coord, Extent, Group, banded_tile, persistent_tiles};
    use cuda_std::prelude::*;

    /// Registers per thread of the producer and of three warpgroups of consumers.
    const PRODUCER_REGS_OF_3: u32 = 32;
    const CONSUMER_REGS_OF_3: u32 = 160;

    /// Tells producers when tiles that went by way of the stages are stored: they load nothing into stages before, also of the other
    /// blocks that share them.
    pub struct Stores {
        /// Completes a phase with each tile, when every consumer warp of these blocks has read its part.
        barrier: Mbarrier,
        blocks: u32,
        phase: u32,
    }

    impl Stores {
        /// The consumer warp has read its part.
        ///
        /// # Safety
        /// Every lane calls it, after each tile.
        #[inline(always)]
        pub unsafe fn arrive(&self) {
            // SAFETY: the barriers are initialised, and no block exits before its cluster.
            unsafe {
                warp::sync_warp(u32::MAX); // every lane has
                if warp::lane_id() < self.blocks {
                    if self.blocks == 1 { self.barrier.arrive() } else { self.barrier.release_at(warp::lane_id()) }
                }
            }
        }

        /// Waits until the tile is stored.
        ///
        /// # Safety
        /// The producer warp calls it, after each tile.
        #[inline(always)]
        pub unsafe fn wait(&mut self) {
            // SAFETY: the barrier is initialised.
            unsafe { self.barrier.wait(self.phase) };
            self.phase ^= 1;
        }
    }

    impl<const BM: u32, const BN: u32, const ACC: usize, const STAGES: u32> HalfTile<BM, BN, ACC, STAGES> {
        /// The ring, whose barriers are initialised, and whose tensor maps the block will need.
        ///
        /// # Safety
        /// Every thread of the block calls it once.
        #[inline(always)]
        pub unsafe fn persistent_ring(maps: Ab<*const TensorMap>, peers: Peers) -> (Ring<OF_LAUNCH>, Stores) {
            producer_warp::prefetch(maps, Self::CONSUMER_THREADS);
            let behind = shared::dynamic_shared_mem::<u8>().wrapping_add(Self::RING_BYTES as usize);
            // SAFETY: upheld by the caller (see `# Safety`); the step has as much shared memory. The thread that initialises the barrier is
            // the one that does the ring's, for which all wait.
            unsafe {
                let barrier = Mbarrier::at(behind.cast());
                if thread::thread_idx_x() == 0 {
                    barrier.init(Self::CONSUMER_THREADS / WARP * peers.count());
                }
                let ring = Ring::of_stages(STAGES, Self::STAGE_BYTES, Self::CONSUMER_THREADS, peers);
                (ring, Stores { barrier, blocks: peers.count(), phase: 0 })
            }
        }

        /// The tiles of a problem, whose C has that extent.
        #[inline(always)]
        pub fn tiles(c: Extent) -> Extent {
            // Opaque: registers would keep the tiles throughout the mainloop.
            let c = Extent { rows: compiler::opaque(c.rows), cols: compiler::opaque(c.cols) };
            Extent { rows: BM, cols: BN }.tiles_of(c)
        }

        /// The tile of that index among those of all problems, in clusters of such groups: of which problem it is, and its first element,
        /// whose row may be beyond the last.
        #[inline(always)]
        pub fn tile_at<const DEFERRED: usize>(index: u32, c: Extent, group: Group) -> (u32, Coord) {
            let tiles = Self::tiles(c);
            // At least one, as there is a tile: a checked division would have a trap.
            let count = persistent_tiles(tiles, group).max(1);
            let Coord { row, col } = banded_tile(index % count, tiles, Self::band_rows::<DEFERRED>(), group);
            (index / count, Coord { row: row * BM, col: col * BN })
        }

        /// Whether this thread is of the warp that issues the loads.
        #[inline(always)]
        pub fn is_first_producer() -> bool {
            lanes::warp_index() == Self::CONSUMER_THREADS / WARP
        }

        /// The producer's registers are the consumers', where these need them for what they defer.
        #[inline(always)]
        pub fn setmaxnreg_dec<const DEFERRED: usize>() {
            if DEFERRED > 0 && BM / WGMMA_M == warp_specialized::CONSUMERS {
                wgmma::setmaxnreg_dec::<PRODUCER_REGS>();
            } else if DEFERRED > 0 {
                wgmma::setmaxnreg_dec::<PRODUCER_REGS_OF_3>();
            }
        }

        /// The other side of [`setmaxnreg_dec`](Self::setmaxnreg_dec).
        #[inline(always)]
        pub fn setmaxnreg_inc<const DEFERRED: usize>() {
            if DEFERRED > 0 && BM / WGMMA_M == warp_specialized::CONSUMERS {
                wgmma::setmaxnreg_inc::<CONSUMER_REGS>();
            } else if DEFERRED > 0 {
                wgmma::setmaxnreg_inc::<CONSUMER_REGS_OF_3>();
            }
        }

        /// Stores a tile of which more is made than alpha\*acc, by way of the stages.
        ///
        /// # Safety
        /// Every consumer thread calls it; no other block has the tile.
        #[inline(always)]
        pub unsafe fn store_through_stages<O: Output>(
            target: Target,
            fused: Fused<O>,
            acc: &[f32; ACC],
            stores: &Stores,
        ) {
            let tile = PartialTile::<BM, BN, 0>::new(shared::dynamic_shared_mem());
            // SAFETY: upheld by the caller (see `# Safety`).
            unsafe {
                Self::publish(tile, acc);
                producer_warp::sync_consumers(Self::CONSUMER_THREADS); // every warp has published its accumulators
                tile.store_alone(target, fused, Self::CONSUMER_THREADS);
                wgmma::fence_operands(); // TMA loads overwrite what threads wrote
                stores.arrive();
            }
        }

        /// The row of the tile in which the accumulators of this thread's warp begin.
        #[inline(always)]
        pub fn warp_row() -> u32 {
            compiler::opaque(thread::thread_idx_x()) / WARP * (WGMMA_M / (WARPGROUP / WARP))
        }

        /// The staging buffers of this thread's warp.
        #[inline(always)]
        pub fn staging<const DEFERRED: usize>() -> *mut f32 {
            let warp = compiler::opaque(thread::thread_idx_x()) / WARP;
            let words = Self::STAGING / 4 + warp * Self::buffers::<DEFERRED>() * WARP_WORDS;
            shared::dynamic_shared_mem::<f32>().wrapping_add(words as usize)
        }
    }
}
