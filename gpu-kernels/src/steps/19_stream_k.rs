//! stream-k: every block computes equally many k-tiles, even if its work unit ends within a tile.
//!
//! ```text
//!   tiles      0         1         2         3          each of the same number of k-tiles
//!          ├─────────┼─────────┼─────────┼─────────┤
//!   blocks ├──── 0 ──────┼──── 1 ──────┼──── 2 ────┤    the block that has a tile's last k-tile stores it
//! ```
//!
//! Changed since autotuned: the tiles of the last, partial wave and of one full wave more are stream-K tiles. Their k-tiles are
//! divided evenly into work units, one per CTA slot. A block computes its work unit from the end to the start. So it begins with
//! the first k-tiles of a tile that the next block finishes: it publishes this partial tile in the reduction workspace, and sets
//! a flag. It ends with the last k-tiles of a tile whose earlier splits were published long ago: the fixup loads and reduces
//! them.
//!
//! ```text
//!   tiles        0                        1                            fewer of them than CTA slots
//!                ├────────────────────────┼────────────────────────┤
//!   max_splits   ├─── 0 ───┼─── 1 ───┼─── 2 ───┼─── 3 ───┼─── 4 ───┤   2 reduces what 0 and 1 published, 4 what 2 and 3 did
//! ```
//!
//! With more than two splits of a tile, fewer tiles than CTA slots are stream-K tiles, too. split-k does this in clusters, and
//! needs no workspace; but a cluster's blocks run on one GPC. GPCs differ in size: with eight blocks per cluster, a grid of as
//! many blocks as CTA slots takes a second wave (wave quantization). stream-k needs no clusters, so it fills every CTA slot.
//!
//! Cycles of the fastest shape at 4096 on an H200 (SASS, Nsight Compute): its inner loop has 1621 instructions. 1536 are FMAs,
//! 72 load from shared memory. A scheduler issues an FMA in 86 % of its cycles, another instruction in 5 %, none in 9 %. A
//! 128-bit load costs three issue slots: its own, and two in which its values are written to registers. Only larger thread
//! tiles would load less, and there are no registers for them.
//!
//! Source: M. Osama et al., Stream-K: Work-centric Parallel Decomposition for Dense Matrix-Matrix Multiplication on the GPU
//! (2023), the hybrid of two tiles; none of the seeds.

use crate::mainloop::simt_tma::Pipeline;
use crate::{Schedule, Step};

const BASE: &str = "autotuned";
const SUMMARY: &str = "the tiles of a partial wave are divided along k into equal work units, one per CTA slot";
const SOURCE: &str = "M. Osama et al., Stream-K (2023); none of the seeds";

/// This step's entry in the registry: the shape for large matrices.
pub const STEP: Step = Step { variants: ALL.split_at(1).1, ..ALL[0] };

/// Declares a kernel and a [`Step`] for each shape, with the CTA slots of an SM and the schedule's `max_splits`.
macro_rules! kernels {
    ($($kernel:ident $slug:literal $shape:ty, $blocks:literal $max_splits:expr;)*) => {
        const ALL: &[Step] = &[$(Step {
            slug: $slug,
            kernel: stringify!($kernel),
            fused: Some(concat!(stringify!($kernel), "_fused")),
            base: Some(BASE),
            summary: SUMMARY,
            source: SOURCE,
            schedule: Schedule::StreamK { blocks_per_sm: $blocks, max_splits: $max_splits },
            ..<$shape>::STEP
        }),*];

        $(
            #[cfg(feature = "device")]
            crate::epilogue::fusion::gemm_kernels! {
                $kernel, launch_bounds(<$shape>::THREADS, $blocks), <$shape>::stream_k::<{ $max_splits }>,
                a_map: &crate::ptx::tensor::TensorMap, b_map: &crate::ptx::tensor::TensorMap,
                stream_k_tiles: u32, partial_tiles: *mut f32, flags: *mut u32
            }
        )*
    };
}

kernels! {
    sgemm_stream_k "stream-k" Pipeline<4, 2, 8, 16, 48, 3, false>, 1 2;
    sgemm_stream_k_256x128_16x8 "stream-k/256x128-16x8" Pipeline<2, 4, 16, 8, 48, 3, false>, 1 2;
    sgemm_stream_k_128x64t_many "stream-k/128x64t-many" Pipeline<2, 2, 8, 8, 16, 4, true>, 3 u32::MAX;
    sgemm_stream_k_64x256_many "stream-k/64x256-many" Pipeline<1, 4, 8, 16, 24, 3, false>, 2 u32::MAX;
}

/// What runs on the device.
#[cfg(feature = "device")]
pub mod kernel {
    use super::*;
    use crate::epilogue::fixup::ReductionWorkspace;
    use crate::epilogue::fusion::Fusion;
    use crate::gemm::Gemm;
    use crate::mainloop::WorkTile;
    use crate::ptx::tensor::TensorMap;
    use cuda_std::prelude::*;

    impl<
        const WARPS_M: u32,
        const WARPS_N: u32,
        const TM: usize,
        const TN: usize,
        const BK: u32,
        const STAGES: u32,
        const TRANSPOSES: bool,
    > Pipeline<WARPS_M, WARPS_N, TM, TN, BK, STAGES, TRANSPOSES>
    {
        /// The work unit of a stream-K block, or the tile of a data-parallel one.
        ///
        /// # Safety
        /// As of the kernels.
        #[inline(always)]
        pub(super) unsafe fn stream_k<const MAX_SPLITS: u32>(
            g: Gemm,
            fusion: impl Fusion<f32>,
            a_map: *const TensorMap,
            b_map: *const TensorMap,
            stream_k_tiles: u32,
            partial_tiles: *mut f32,
            flags: *mut u32,
        ) {
            // SAFETY: every thread of the block is here, with this step's shared memory and maps.
            let mut stages = unsafe { Self::start(a_map, b_map) };
            let has_many_splits = const { MAX_SPLITS > 2 };
            let (bm, bn) = (Self::BM, Self::BN);
            let columns = g.n.div_ceil(bn);
            let stream_k_blocks = thread::grid_dim_x() - (columns * g.m.div_ceil(bm) - stream_k_tiles);
            // SAFETY: nothing is launched where C has no columns.
            unsafe { core::hint::assert_unchecked(columns > 0) };
            let k_tiles = g.k.div_ceil(BK);
            let tile_k_tiles = k_tiles.max(1); // C is scaled by beta even if k is 0
            let all = u64::from(stream_k_tiles) * u64::from(tile_k_tiles);
            // The tile and its k-tile where a stream-K block's work unit begins.
            let start_of = |block: u32| {
                let position = u64::from(block) * all / u64::from(stream_k_blocks);
                ((position / u64::from(tile_k_tiles)) as u32, (position % u64::from(tile_k_tiles)) as u32)
            };
            let block = thread::block_idx_x();
            let ((first_tile, first_k_tile), (mut tile, mut end)) = if block < stream_k_blocks {
                (start_of(block), start_of(block + 1))
            } else {
                let tile = block - stream_k_blocks + stream_k_tiles;
                ((tile, 0), (tile + 1, 0))
            };
            if has_many_splits && (first_tile, first_k_tile) == (tile, end) {
                return; // an empty work unit: k is short
            }
            let reduction = ReductionWorkspace::new(partial_tiles, flags, bm * bn, Self::THREADS);
            loop {
                if end == 0 {
                    (tile, end) = (tile - 1, tile_k_tiles);
                }
                let start = if tile == first_tile { first_k_tile } else { 0 };
                let (row, col) = (tile / columns * bm, tile % columns * bn);
                let mut acc = Self::zeros();
                // SAFETY: a tile below their number starts in bounds of C. A block publishes at most one partial tile: of its last
                // tile, if the next block finishes that. The block that finishes a tile loads or reduces its partial tiles.
                unsafe {
                    if start > 0 && end == tile_k_tiles && !has_many_splits {
                        reduction.load(block - 1, &mut acc);
                    }
                    Self::mainloop(&mut stages, &WorkTile { row, col, k_tiles: start..end.min(k_tiles) }, &mut acc);
                    if start > 0 && end == tile_k_tiles && has_many_splits {
                        core::hint::assert_unchecked(stream_k_blocks > 0); // this block is one
                        let mut first = block; // these blocks compute as long as this one
                        while start_of(first) > (tile, 0) {
                            first -= 1;
                        }
                        reduction.reduce(first..block, |other| start_of(other) != start_of(other + 1), &mut acc);
                    }
                    if end == tile_k_tiles {
                        Self::store(&g, fusion, row, col, &acc);
                    } else {
                        reduction.publish(block, &acc);
                    }
                }
                if (tile, start) == (first_tile, first_k_tile) {
                    return;
                }
                end = start;
            }
        }
    }
}
