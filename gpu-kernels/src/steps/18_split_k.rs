//! split-k: the blocks of a cluster share the k of a tile, and reduce their partial tiles through distributed shared memory.
//!
//! ```text
//!        k in splits                            one cluster, one tile of C
//!   A  ┌───┬───┬───┬───┐  ┌───┐ B       ┌─────┐ ┌─────┐ ┌─────┐ ┌─────┐
//!      │ 0 │ 1 │ 2 │ 3 │  ├───┤         │part.│ │part.│ │part.│ │part.│   each block reduces a share of the
//!      └───┴───┴───┴───┘  ├───┤         │  0  │ │  1  │ │  2  │ │  3  │   tile from all, and stores it
//!                         ├───┤         └─────┘ └─────┘ └─────┘ └─────┘
//!                         └───┘
//! ```
//!
//! Changed since autotuned: z runs along k. A C of few tiles leaves SMs idle, however long k is; so several blocks take one
//! split of k each. They are a cluster: each publishes its partial tile in its shared memory, from which the others load. There
//! is no second kernel and no workspace, and the order of the reduction is fixed.
//!
//! A cluster's blocks run on one GPC, and what does not fill a GPC stays idle. So some shapes have clusters of seven: more of
//! them are resident at once than of eight.
//!
//! In `128x128x7-serial` one block computes all seven splits of its tile, one after the other, and keeps the sum of those before in
//! shared memory. It adds in the same order as `32x64x7`, so that its bits are those of the clusters of seven: a problem may have few
//! rows or many, and an element of C does not tell.
//!
//! Source: none of the seeds; cuBLAS and CUTLASS split k through global memory.

use crate::mainloop::simt_tma::Pipeline;
use crate::{Schedule, Step};

const BASE: &str = "autotuned";
const SUMMARY: &str =
    "a cluster of blocks shares the k of a tile, and reduces partial tiles through distributed shared memory";
const SOURCE: &str = "CUTLASS, split-K and distributed shared memory; none of the seeds";

/// This step's entry in the registry: for small matrices.
pub const STEP: Step = Step { variants: ALL.split_at(1).1, ..ALL[0] };

/// A step whose splits are a cluster's blocks.
const fn parallel(splits: u32, shape: Step) -> Step {
    Step { cluster: [1, 1, splits], schedule: Schedule::SplitK { splits }, ..shape }
}

/// A step whose blocks compute all splits of a tile: beside the stages lies the sum of those before.
const fn serial(splits: u32, shape: Step) -> Step {
    let totals = shape.tile.bm * shape.tile.bn * 4;
    Step { schedule: Schedule::SerialSplitK { splits }, dynamic_smem_bytes: shape.dynamic_smem_bytes + totals, ..shape }
}

/// Declares a kernel and a [`Step`] for each shape, with its CTA slots per SM, and the splits of a tile and where they run.
macro_rules! kernels {
    ($($kernel:ident $slug:literal $shape:ty, $blocks:literal $schedule:ident $splits:literal;)*) => {
        const ALL: &[Step] = &[$(Step {
            slug: $slug,
            kernel: stringify!($kernel),
            fused: Some(concat!(stringify!($kernel), "_fused")),
            base: Some(BASE),
            summary: SUMMARY,
            source: SOURCE,
            ..$schedule($splits, <$shape>::STEP)
        }),*];

        $(
            #[cfg(feature = "device")]
            crate::epilogue::fusion::gemm_kernels! {
                $kernel, launch_bounds(<$shape>::THREADS, $blocks), <$shape>::$schedule::<$splits>,
                a_map: &crate::ptx::tensor::TensorMap, b_map: &crate::ptx::tensor::TensorMap
            }
        )*
    };
}

kernels! {
    sgemm_split_k "split-k" Pipeline<1, 2, 8, 8, 16, 5, true>, 6 parallel 4;
    sgemm_split_k_32x64x7 "split-k/32x64x7" Pipeline<1, 2, 4, 8, 16, 5, true>, 4 parallel 7;
    sgemm_split_k_32x32x8 "split-k/32x32x8" Pipeline<1, 2, 4, 4, 16, 5, true>, 6 parallel 8;
    sgemm_split_k_32x32x4 "split-k/32x32x4" Pipeline<1, 2, 4, 4, 16, 5, true>, 6 parallel 4;
    sgemm_split_k_32x64x8 "split-k/32x64x8" Pipeline<1, 2, 4, 8, 16, 5, true>, 4 parallel 8;
    sgemm_split_k_128x128x7_serial "split-k/128x128x7-serial" Pipeline<2, 2, 8, 16, 16, 3, false>, 2 serial 7;
}

/// What runs on the device.
#[cfg(feature = "device")]
pub mod kernel {
    use super::*;
    use crate::Coord;
    use crate::epilogue::fusion::Fusion;
    use crate::gemm::Gemm;
    use crate::hardware::VEC;
    use crate::mainloop::WorkTile;
    use crate::ptx::cluster;
    use crate::ptx::tensor::TensorMap;
    use core::ops::Range;
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
        /// This block's split of k, then its share of the reduction.
        ///
        /// # Safety
        /// As of the kernels.
        #[inline(always)]
        pub(super) unsafe fn parallel<const SPLITS: u32>(
            g: Gemm,
            fusion: impl Fusion<f32>,
            a_map: *const TensorMap,
            b_map: *const TensorMap,
        ) {
            // SAFETY: every thread of the block is here, with this step's shared memory and maps.
            let mut stages = unsafe { Self::start(a_map, b_map) };
            const { assert!(Self::BM * Self::BN * 4 <= Self::SMEM_BYTES, "the partial tile fits where the stages were") };
            let (row, col) = (thread::block_idx_y() * Self::BM, thread::block_idx_x() * Self::BN);
            let split = thread::block_idx_z();
            let k_tiles = g.k.div_ceil(BK);
            let mut acc = Self::zeros();
            // SAFETY: the grid covers C, so the block starts in bounds; the partial tile fits where the stages were, and
            // indices are below its size.
            unsafe {
                let work = WorkTile { row, col, k_tiles: share::<SPLITS>(k_tiles, split) };
                Self::mainloop(&mut stages, &work, &mut acc);

                // epilogue: publish the partial tile. A thread's accumulators are not contiguous: 128-bit accesses would tie four
                // of them to adjacent registers, and so to the banks of the FMAs' operands.
                let threads = Self::THREADS as usize;
                let c_smem = shared::dynamic_shared_mem::<f32>().add(thread::thread_idx_x() as usize); // (TM * TN, THREADS)
                thread::sync_threads(); // every warp has read the last stage
                for (index, value) in acc.as_flattened().iter().enumerate() {
                    *c_smem.add(index * threads) = *value;
                }
                cluster::sync(); // every block has published its partial tile

                let g = g.block_at(row, col);
                let fusion = fusion.block_at(row, col);
                let is_full_tile = Self::is_full_tile(&g);
                let vectors = (TM * TN) as u32 / VEC;
                for vector in share::<SPLITS>(vectors, split) {
                    let mut reduced = [0.0; VEC as usize];
                    for rank in 0..SPLITS {
                        reduced = core::array::from_fn(|v| {
                            let partial = c_smem.add((vector * VEC) as usize * threads).add(v * threads);
                            reduced[v] + cluster::load(shared::address(partial), rank)
                        });
                    }
                    let Coord { row, col } = Self::of_vector(vector);
                    fusion.store_4(&g, is_full_tile, row, col, reduced);
                }
                cluster::sync(); // no block loads from this one any more
            }
        }

        /// All splits of this block's tile in turn, each added to the sum of those before, as [`Self::parallel`] adds them.
        ///
        /// # Safety
        /// As of the kernels.
        #[inline(always)]
        pub(super) unsafe fn serial<const SPLITS: u32>(
            g: Gemm,
            fusion: impl Fusion<f32>,
            a_map: *const TensorMap,
            b_map: *const TensorMap,
        ) {
            // SAFETY: every thread of the block is here, with this step's shared memory and maps.
            let mut stages = unsafe { Self::start(a_map, b_map) };
            let (row, col) = (thread::block_idx_y() * Self::BM, thread::block_idx_x() * Self::BN);
            let k_tiles = g.k.div_ceil(BK);
            let tid = thread::thread_idx_x() as usize;
            let totals = shared::dynamic_shared_mem::<f32>().wrapping_add((Self::SMEM_BYTES / 4) as usize + tid); // (TM * TN, THREADS)
            let total = |index: usize| totals.wrapping_add(index * Self::THREADS as usize);
            let mut split = 0;
            // SAFETY: the grid covers C, so the block starts in bounds; a thread accesses its own totals, behind the stages.
            unsafe {
                loop {
                    let mut acc = Self::zeros();
                    let work = WorkTile { row, col, k_tiles: share::<SPLITS>(k_tiles, split) };
                    Self::mainloop(&mut stages, &work, &mut acc);
                    for (index, value) in acc.as_flattened_mut().iter_mut().enumerate() {
                        let before = if split == 0 { 0.0 } else { *total(index) };
                        *value += before;
                    }
                    split += 1;
                    if split == SPLITS {
                        return Self::store(&g, fusion, row, col, &acc);
                    }
                    for (index, value) in acc.as_flattened().iter().enumerate() {
                        *total(index) = *value;
                    }
                }
            }
        }
    }

    /// What belongs to one of the splits, of so many k-tiles or of something else.
    #[inline(always)]
    fn share<const SPLITS: u32>(count: u32, split: u32) -> Range<u32> {
        count * split / SPLITS..count * (split + 1) / SPLITS
    }
}
