//! hgemm-batch: f16 or bf16 on the tensor cores, for batches of large C and short k, whose tiles persistent blocks compute one after the
//! other.
//!
//! ```text
//!   producer    loads of tile 0 │ loads of tile 1 │ loads of tile 2 │ ...              one problem's tiles, row by row,
//!   consumers                   │ MMAs 0 │ C of 0 │ MMAs 1 │ C of 1 │ ...              then the next one's
//! ```
//!
//! Changed since hgemm-split-k: its blocks end with their tile. Where k is short, a block's start, its loads, its MMAs and its stores take
//! about as long as each other, and follow each other; so C is stored at half of the memory's rate. Here a block stays, and its producer
//! warp runs ahead over the tiles' ends: loads are in flight while C is stored. Staging buffers lie beside the stages, not in their
//! place. Tiles of all problems of a batch are one sequence, divided among the blocks evenly. k is never split.
//!
//! Source: CUTLASS, persistent cooperative kernels for Hopper, and its batched GEMM; none of the seeds.

use crate::mainloop::half_tile::HalfTile;
use crate::{Precision, Step};
#[cfg(feature = "device")]
use half::{bf16, f16};

/// This step's entry in the registry: f16.
pub const STEP: Step = Step { variants: ALL.split_at(1).1, ..ALL[0] };

/// Declares a kernel and a [`Step`] for each element type and shape.
macro_rules! kernels {
    ($($kernel:ident $slug:literal $shape:ty, $blocks:literal $precision:ident $input:ident;)*) => {
        const ALL: &[Step] = &[$(Step {
            slug: $slug,
            kernel: stringify!($kernel),
            fused: Some(stringify!($kernel)),
            base: Some("hgemm-split-k"),
            summary: "f16 or bf16 on the tensor cores: persistent blocks for the tiles of a whole batch, of large C and short k",
            source: "CUTLASS, persistent kernels for Hopper and batched GEMM",
            ..<$shape>::persistent_step(Precision::$precision, $blocks)
        }),*];

        $(
            #[cfg(feature = "device")]
            crate::epilogue::fusion::planned_kernel! {
                $kernel, launch_bounds(<$shape>::THREADS, $blocks), $input => $input,
                <$shape>::batch::<$input>,
                a_map: &crate::ptx::tensor::TensorMap, b_map: &crate::ptx::tensor::TensorMap,
                a_transposed: u32, b_transposed: u32, problems: u32
            }
        )*
    };
}

kernels! {
    hgemm_batch_f16 "hgemm-batch" HalfTile<128, 256, 128, 3>, 1 F16 f16;
    hgemm_batch_f16_128x128 "hgemm-batch/128x128" HalfTile<128, 128, 64, 2>, 2 F16 f16;
    hgemm_batch_bf16 "hgemm-batch/bf16" HalfTile<128, 256, 128, 3>, 1 Bf16 bf16;
    hgemm_batch_bf16_128x128 "hgemm-batch/bf16-128x128" HalfTile<128, 128, 64, 2>, 2 Bf16 bf16;
}

/// What runs on the device.
#[cfg(feature = "device")]
pub mod kernel {
    use super::*;
    use crate::epilogue::direct::Output;
    use crate::epilogue::fused::Fused;
    use crate::epilogue::partial_tile::Target;
    use crate::epilogue::warp_rows;
    use crate::gemm::Gemm;
    use crate::mainloop::half_tile::BK;
    use crate::mainloop::warp_specialized::producer_warp::Mapped;
    use crate::planned::{Peers, Planned};
    use crate::ptx::tensor::TensorMap;
    use crate::ptx::wgmma::{self, Input};
    use crate::{Ab, Extent};
    use cuda_std::prelude::*;

    impl<const BM: u32, const BN: u32, const ACC: usize, const STAGES: u32> HalfTile<BM, BN, ACC, STAGES> {
        /// # Safety
        /// As of the kernels.
        #[allow(clippy::too_many_arguments)]
        #[inline(always)]
        pub(super) unsafe fn batch<I: Input + Output>(
            g: Gemm,
            fused: Fused<I>,
            a_map: *const TensorMap,
            b_map: *const TensorMap,
            a_transposed: u32,
            b_transposed: u32,
            problems: u32,
            planned: Planned,
        ) {
            // SAFETY: every thread of the block is here, with this step's shared memory and maps; as many k-tiles are consumed as produced.
            unsafe {
                // shared memory
                let mut ring = Self::persistent_ring(Ab { a: a_map, b: b_map });

                // tile coordinates
                let mut block = planned.begin();
                let k_tiles = g.k.div_ceil(BK);
                let is_transposed = Ab { a: a_transposed != 0, b: b_transposed != 0 };
                let rows_are_aligned = [g.c.addr(), 2 * g.ldc, 2 * g.n as usize, 2 * planned.c_stride as usize];
                let is_plain = !planned.c_is_f32
                    & (g.beta == 0.0)
                    & fused.changes_nothing()
                    & rows_are_aligned.into_iter().fold(0, |all, bytes| all | bytes).is_multiple_of(16);
                let c = Extent { rows: g.m, cols: g.n };
                let mut index = thread::block_idx_x();
                while index < Self::tiles(c).count() * problems {
                    let (problem, tile) = Self::tile_at(index, c);
                    block.problem = problem;
                    let offset = planned.offset_of_c(block);
                    let target = Target { g: &g, tile, offset, is_f32: planned.c_is_f32 };
                    if Self::is_producer() {
                        // global to shared (producer)
                        let shared = Peers::ALONE.shared();
                        let a = Mapped::new(a_map, block, planned.a_stride, is_transposed.a, shared.a);
                        let b = Mapped::new(b_map, block, planned.b_stride, is_transposed.b, shared.b);
                        Self::produce(&mut ring, tile, 0..k_tiles, Ab { a, b });
                    } else {
                        // mainloop
                        let acc = Self::consume::<I>(&mut ring, k_tiles, is_transposed);
                        if k_tiles > 0 {
                            ring.consumer_release_ago(1);
                        }

                        // epilogue
                        if is_plain {
                            let row = Self::warp_row();
                            let bounds = Extent { rows: (g.m - tile.row).saturating_sub(row), cols: g.n - tile.col };
                            let c = g.c.cast::<I>().wrapping_add(target.first() + row as usize * g.ldc);
                            warp_rows::store(Self::staging(), &g, c, bounds, &acc);
                        } else {
                            Self::publish(Self::staged_tile(), &acc);
                        }
                    }
                    if !is_plain {
                        Self::staged_tile().store_alone(block, target, fused);
                        wgmma::fence_operands(); // TMA loads overwrite what threads wrote
                        thread::sync_threads(); // every warp has read its part of the tile
                    }
                    index += thread::grid_dim_x();
                }
            }
        }
    }
}
