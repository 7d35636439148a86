//! split-k: the blocks of a cluster share the k of a tile, and add up their sums in each other's shared memory.
//!
//! ```text
//!        k in parts                            one cluster, one tile of C
//!   A  ┌───┬───┬───┬───┐  ┌───┐ B       ┌─────┐ ┌─────┐ ┌─────┐ ┌─────┐
//!      │ 0 │ 1 │ 2 │ 3 │  ├───┤         │ sum │ │ sum │ │ sum │ │ sum │   each block adds up a part of the
//!      └───┴───┴───┴───┘  ├───┤         │  0  │ │  1  │ │  2  │ │  3  │   tile from all, and stores it
//!                         ├───┤         └─────┘ └─────┘ └─────┘ └─────┘
//!                         └───┘
//! ```
//!
//! Changed since autotuned: z runs along k. A C of few tiles leaves multiprocessors idle, however long k is; so several blocks
//! take a part of k each. They are a cluster: each leaves its sums in its shared memory, and the others read them there. No
//! second kernel and no memory is needed, and the order in which sums are added is always the same.
//!
//! A cluster's blocks are in one group of multiprocessors, and what is left of a group stays idle. So some shapes have clusters
//! of seven: more of them fit at once than of eight.
//!
//! Source: none of the seeds'; cuBLAS and CUTLASS split k through global memory.

use crate::f32x4::VEC;
use crate::gemm::Gemm;
use crate::pipeline::{Pipeline, Work, pipeline_kernel};
use crate::ptx::cluster;
use crate::{Schedule, Step, tile};
use cuda_std::prelude::*;

const BASE: &str = "autotuned";
const SUMMARY: &str = "a cluster of blocks shares the k of a tile, and adds up its sums through shared memory";
const SOURCE: &str = "CUTLASS, split-K and distributed shared memory; none of the seeds";

/// This step's entry in the registry: for small matrices.
pub const STEP: Step = Step { variants: ALL.split_at(1).1, ..ALL[0] };

/// Makes a kernel and a [`Step`] of each shape, given with the blocks that a multiprocessor is to hold, and those that share
/// a tile.
macro_rules! kernels {
    ($($kernel:ident $slug:literal $shape:ty, $blocks:literal $parts:literal;)*) => {
        const ALL: &[Step] = &[$(Step {
            slug: $slug,
            kernel: stringify!($kernel),
            base: Some(BASE),
            summary: SUMMARY,
            source: SOURCE,
            cluster: [1, 1, $parts],
            schedule: Schedule::SplitK { parts: $parts },
            ..<$shape>::STEP
        }),*];

        $(pipeline_kernel! { $kernel, $shape, $blocks, (), split_k($parts) })*
    };
}

kernels! {
    sgemm_split_k "split-k" Pipeline<1, 2, 8, 8, 16, 5, true>, 6 4;
    sgemm_split_k_64x128x7 "split-k/64x128x7" Pipeline<1, 4, 8, 8, 16, 4, true>, 3 7;
    sgemm_split_k_128x64x7 "split-k/128x64x7" Pipeline<2, 2, 8, 8, 16, 4, true>, 3 7;
    sgemm_split_k_256x64x7 "split-k/256x64x7" Pipeline<4, 1, 8, 16, 16, 3, true>, 2 7;
    sgemm_split_k_32x64x7 "split-k/32x64x7" Pipeline<1, 2, 4, 8, 16, 5, true>, 4 7;
    sgemm_split_k_32x128x7 "split-k/32x128x7" Pipeline<1, 4, 4, 8, 16, 5, true>, 3 7;
    sgemm_split_k_64x64x2 "split-k/64x64x2" Pipeline<1, 2, 8, 8, 16, 5, true>, 6 2;
    sgemm_split_k_64x64x8 "split-k/64x64x8" Pipeline<1, 2, 8, 8, 16, 5, true>, 6 8;
    sgemm_split_k_32x32x8 "split-k/32x32x8" Pipeline<1, 2, 4, 4, 16, 5, true>, 6 8;
    sgemm_split_k_32x32x4 "split-k/32x32x4" Pipeline<1, 2, 4, 4, 16, 5, true>, 6 4;
    sgemm_split_k_32x64x8 "split-k/32x64x8" Pipeline<1, 2, 4, 8, 16, 5, true>, 4 8;
    sgemm_split_k_32x128x8 "split-k/32x128x8" Pipeline<1, 4, 4, 8, 16, 5, true>, 3 8;
    sgemm_split_k_64x128x4 "split-k/64x128x4" Pipeline<1, 4, 8, 8, 16, 4, true>, 3 4;
    sgemm_split_k_64x256x4 "split-k/64x256x4" Pipeline<1, 4, 8, 16, 16, 4, true>, 2 4;
    sgemm_split_k_64x256x8 "split-k/64x256x8" Pipeline<1, 4, 8, 16, 16, 4, true>, 2 8;
    sgemm_split_k_256x64x8 "split-k/256x64x8" Pipeline<4, 1, 8, 16, 16, 3, true>, 2 8;
    sgemm_split_k_128x64x4 "split-k/128x64x4" Pipeline<2, 2, 8, 8, 16, 4, true>, 3 4;
    sgemm_split_k_128x128x2 "split-k/128x128x2" Pipeline<2, 4, 8, 8, 16, 4, true>, 1 2;
    sgemm_split_k_128x128x4 "split-k/128x128x4" Pipeline<2, 4, 8, 8, 16, 4, true>, 1 4;
}

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
    /// This block's part of k, then its part of the tile.
    ///
    /// # Safety
    /// As the kernels.
    #[inline(always)]
    unsafe fn split_k(mut self, g: &Gemm, parts: u32) {
        const { assert!(Self::BM * Self::BN * 4 <= Self::SMEM_BYTES, "the tile fits where slices were") };
        let (bm, bn) = (Self::BM, Self::BN);
        let (row, col, part) = (thread::block_idx_y() * bm, thread::block_idx_x() * bn, thread::block_idx_z());
        let slices = g.k.div_ceil(BK);
        let mut acc = Self::zeros();
        // SAFETY: the grid covers C, so the block starts inside it; the tile fits into the shared memory that slices were in,
        // and indices are below its size.
        unsafe {
            let work = Work { row, col, slices: slices * part / parts..slices * (part + 1) / parts };
            self.accumulate(&work, &mut acc);

            // Each thread's sums lie beside those of the next thread: pieces of 128 bits would tie four sums to neighbouring
            // registers, and so to the banks of their operands.
            let threads = Self::THREADS as usize;
            let c_smem = shared::dynamic_shared_mem::<f32>().add(thread::thread_idx_x() as usize); // (TM * TN, THREADS)
            thread::sync_threads(); // nobody reads a slice any more
            for (index, sum) in acc.as_flattened().iter().enumerate() {
                *c_smem.add(index * threads) = *sum;
            }
            cluster::sync(); // all blocks have left their sums

            let g = g.block_at(row, col);
            let fits = Self::fits(&g);
            let vectors = (TM * TN) as u32 / VEC;
            for vector in vectors * part / parts..vectors * (part + 1) / parts {
                let mut sums = [0.0; VEC as usize];
                for other in 0..parts {
                    sums = core::array::from_fn(|v| {
                        let theirs = c_smem.add((vector * VEC) as usize * threads).add(v * threads);
                        sums[v] + cluster::load(shared::address(theirs), other)
                    });
                }
                let (row, col) = Self::of_vector(vector);
                tile::store(&g, fits, row, col, sums);
            }
            cluster::sync(); // nobody reads this block's sums any more
        }
    }
}
