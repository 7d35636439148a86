//! The same for blocks that go on from tile to tile: the producer loads the next tile's operands while the consumers store this tile.

use super::HalfTile;
use crate::epilogue::WARP_WORDS;
use crate::hardware::WARP;
use crate::mainloop::warp_specialized;
use crate::{Precision, Schedule, Step};

/// Accumulators of a thread in a staging buffer of [`WARP_WORDS`].
const STAGED: usize = 2 * (WARP_WORDS / WARP) as usize;

impl<const BM: u32, const BN: u32, const ACC: usize, const STAGES: u32> HalfTile<BM, BN, ACC, STAGES> {
    /// Shared memory of the ring, with what aligns the staging buffers behind it.
    const RING_BYTES: u32 = warp_specialized::smem_bytes(STAGES, Self::STAGE_BYTES).next_multiple_of(128);
    /// Staging buffers of a warp: together they hold its part of the tile, as elements of 16 bits.
    const BUFFERS: u32 = ACC.div_ceil(STAGED) as u32;

    /// A step of persistent blocks of this shape, of which an SM holds so many, without its names.
    pub const fn persistent_step(precision: Precision, blocks_per_sm: u32) -> Step {
        assert!(BM * BN * 4 <= STAGES * Self::STAGE_BYTES, "the partial tile fits where the stages are");
        let staging_bytes = Self::CONSUMER_THREADS / WARP * Self::BUFFERS * WARP_WORDS * 4;
        Step {
            schedule: Schedule::PersistentBatch { blocks_per_sm },
            dynamic_smem_bytes: Self::RING_BYTES + staging_bytes,
            ..Self::mapped(precision)
        }
    }
}

/// What runs on the device.
#[cfg(feature = "device")]
mod kernel {
    use super::*;
    use crate::epilogue::partial_tile::PartialTile;
    use crate::hardware::{WARPGROUP, WGMMA_M};
    use crate::mainloop::warp_specialized::{OF_LAUNCH, Ring, producer_warp};
    use crate::planned::Peers;
    use crate::ptx::compiler;
    use crate::ptx::tensor::TensorMap;
    use crate::{Ab, Coord, Extent};
    use cuda_std::prelude::*;

    impl<const BM: u32, const BN: u32, const ACC: usize, const STAGES: u32> HalfTile<BM, BN, ACC, STAGES> {
        /// The ring, whose barriers are initialised, and whose tensor maps the block will need.
        ///
        /// # Safety
        /// Every thread of the block calls it once.
        #[inline(always)]
        pub unsafe fn persistent_ring(maps: Ab<*const TensorMap>) -> Ring<OF_LAUNCH> {
            producer_warp::prefetch(maps, Self::CONSUMER_THREADS);
            // SAFETY: upheld by the caller (see `# Safety`); the step has as much shared memory.
            unsafe { Ring::of_stages(STAGES, Self::STAGE_BYTES, Self::CONSUMER_THREADS, Peers::ALONE) }
        }

        /// The tiles of a problem, whose C has that extent.
        #[inline(always)]
        pub fn tiles(c: Extent) -> Extent {
            // Opaque: registers would keep the tiles throughout the mainloop.
            let c = Extent { rows: compiler::opaque(c.rows), cols: compiler::opaque(c.cols) };
            Extent { rows: BM, cols: BN }.tiles_of(c)
        }

        /// The tile of that index among those of all problems: of which problem it is, and its first element.
        #[inline(always)]
        pub fn tile_at(index: u32, c: Extent) -> (u32, Coord) {
            // At least one, as there is a tile: a checked division would have a trap.
            let Extent { rows, cols } = Self::tiles(c);
            let (rows, cols) = (rows.max(1), cols.max(1));
            let row = index / cols;
            (row / rows, Coord { row: row % rows * BM, col: index % cols * BN })
        }

        /// The row of the tile in which the accumulators of this thread's warp begin.
        #[inline(always)]
        pub fn warp_row() -> u32 {
            compiler::opaque(thread::thread_idx_x()) / WARP * (WGMMA_M / (WARPGROUP / WARP))
        }

        /// The tile as f32, where the stages are: only while nothing is loaded.
        #[inline(always)]
        pub fn staged_tile() -> PartialTile<BM, BN, 0> {
            PartialTile::new(shared::dynamic_shared_mem())
        }

        /// The staging buffers of this thread's warp.
        #[inline(always)]
        pub fn staging() -> *mut f32 {
            let warp = compiler::opaque(thread::thread_idx_x()) / WARP;
            let words = Self::RING_BYTES / 4 + warp * Self::BUFFERS * WARP_WORDS;
            shared::dynamic_shared_mem::<f32>().wrapping_add(words as usize)
        }
    }
}
