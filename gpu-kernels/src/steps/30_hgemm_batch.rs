//! hgemm-batch: f16 or bf16 on the tensor cores, operands as they are stored: persistent blocks compute the tiles of all problems of a batch
//! one after the other.
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
//! Variants `deferred` are for long k, where the tensor cores must not wait for stores. They take over what hgemm does for that: C is stored
//! behind the MMAs of the next tile (`epilogue/deferred.rs`), tiles are grouped so that operands stay in L2, and two blocks may share B.
//! Where three warpgroups leave no registers for all of C, the first two thirds of it are stored at once. Which size of tile is best is a
//! matter of how full the last wave is.
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
    ($($kernel:ident $slug:literal $shape:ty, $deferred:literal $blocks:literal $precision:ident $input:ident;)*) => {
        const ALL: &[Step] = &[$(Step {
            slug: $slug,
            kernel: stringify!($kernel),
            fused: Some(stringify!($kernel)),
            base: Some("hgemm-split-k"),
            summary: "f16 or bf16 on the tensor cores: persistent blocks for the tiles of a whole batch, operands as they are",
            source: "CUTLASS, persistent kernels for Hopper and batched GEMM",
            ..<$shape>::persistent_step::<$deferred>(Precision::$precision, $blocks)
        }),*];

        $(
            #[cfg(feature = "device")]
            crate::epilogue::fusion::planned_kernel! {
                $kernel, launch_bounds(<$shape>::persistent_threads::<$deferred>(), $blocks), $input => $input,
                <$shape>::batch::<$input, $deferred>,
                a_map: &crate::ptx::tensor::TensorMap, b_map: &crate::ptx::tensor::TensorMap,
                a_transposed: u32, b_transposed: u32, problems: u32
            }
        )*
    };
}

kernels! {
    hgemm_batch_f16 "hgemm-batch" HalfTile<128, 256, 128, 3>, 0 1 F16 f16;
    hgemm_batch_f16_deferred "hgemm-batch/deferred" HalfTile<128, 256, 128, 4>, 4 1 F16 f16;
    hgemm_batch_f16_deferred_128x192 "hgemm-batch/deferred-128x192" HalfTile<128, 192, 96, 5>, 4 1 F16 f16;
    hgemm_batch_f16_deferred_192x192 "hgemm-batch/deferred-192x192" HalfTile<192, 192, 96, 4>, 1 1 F16 f16;
    hgemm_batch_bf16 "hgemm-batch/bf16" HalfTile<128, 256, 128, 3>, 0 1 Bf16 bf16;
    hgemm_batch_bf16_deferred "hgemm-batch/bf16-deferred" HalfTile<128, 256, 128, 4>, 4 1 Bf16 bf16;
    hgemm_batch_bf16_deferred_128x192 "hgemm-batch/bf16-deferred-128x192" HalfTile<128, 192, 96, 5>, 4 1 Bf16 bf16;
    hgemm_batch_bf16_deferred_192x192 "hgemm-batch/bf16-deferred-192x192" HalfTile<192, 192, 96, 4>, 1 1 Bf16 bf16;
}

/// What runs on the device.
#[cfg(feature = "device")]
pub mod kernel {
    use super::*;
    use crate::epilogue::deferred::Deferred;
    use crate::epilogue::direct::Output;
    use crate::epilogue::fused::Fused;
    use crate::epilogue::partial_tile::Target;
    use crate::epilogue::staged::StagingBuffer;
    use crate::epilogue::warp_rows;
    use crate::gemm::Gemm;
    use crate::mainloop::half_tile::BK;
    use crate::mainloop::warp_specialized::{self, boxes::Mapped, producer_warp};
    use crate::planned::{Peers, Planned};
    use crate::ptx::compiler;
    use crate::ptx::tensor::TensorMap;
    use crate::ptx::wgmma::Input;
    use crate::{Ab, Extent, Group, persistent_tiles};
    use cuda_std::prelude::*;

    impl<const BM: u32, const BN: u32, const ACC: usize, const STAGES: u32> HalfTile<BM, BN, ACC, STAGES> {
        /// # Safety
        /// As of the kernels.
        #[allow(clippy::too_many_arguments)]
        #[inline(always)]
        pub(super) unsafe fn batch<I: Input + Output, const DEFERRED: usize>(
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
                let peers = if DEFERRED > 0 { Peers::above_each_other() } else { Peers::ALONE };
                let (mut ring, mut stores) = Self::persistent_ring(Ab { a: a_map, b: b_map }, peers);

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
                let count = persistent_tiles(Self::tiles(c), peers.group()) * problems;
                let mut index = thread::block_idx_x();

                if Self::is_producer() {
                    // global to shared (producer)
                    Self::setmaxnreg_dec::<DEFERRED>();
                    while index < count {
                        let tile;
                        (block.problem, tile) = Self::tile_at::<DEFERRED>(index, c, peers.group());
                        let shared = peers.shared();
                        let a = Mapped::new(a_map, block, planned.a_stride, is_transposed.a, shared.a);
                        let b = Mapped::new(b_map, block, planned.b_stride, is_transposed.b, shared.b);
                        if Self::is_first_producer() {
                            let loads = Self::loads(tile, Extent::ENDLESS, Ab { a, b });
                            producer_warp::produce::<false>(&mut ring, 0..k_tiles, loads);
                            if !is_plain {
                                stores.wait();
                            }
                        }
                        index += thread::grid_dim_x();
                    }
                } else {
                    Self::setmaxnreg_inc::<DEFERRED>();
                    let mut deferred =
                        Deferred::<I, ACC, DEFERRED>::new(StagingBuffer::at(Self::staging::<DEFERRED>()));
                    let pace = if DEFERRED > 0 { Deferred::<I, ACC, DEFERRED>::pace(k_tiles) } else { 0 };
                    while index < count {
                        // mainloop
                        if DEFERRED > 0 && k_tiles < Deferred::<I, ACC, DEFERRED>::K_TILES {
                            deferred.store(&g); // the mainloop is not long enough
                        }
                        let mut acc = Self::consume_while::<I>(&mut ring, k_tiles, is_transposed, |k_tile| {
                            if DEFERRED > 0 {
                                deferred.store_behind(&g, k_tile, pace);
                            }
                        });
                        if k_tiles > 0 {
                            ring.consumer_release_ago(1);
                        }

                        // epilogue
                        let tile;
                        let rows = compiler::opaque(peers.group().rows);
                        let group = Group { rows, ..peers.group() };
                        (block.problem, tile) = Self::tile_at::<DEFERRED>(compiler::opaque(index), c, group);
                        let offset = planned.offset_of_c(block);
                        let target = Target { g: &g, tile, offset, is_f32: planned.c_is_f32 };
                        if is_plain {
                            let row = Self::warp_row();
                            let rows = g.m.saturating_sub(tile.row + row);
                            let bounds = Extent { rows, cols: g.n - tile.col };
                            let c = g.c.cast::<I>().wrapping_add(target.first() + row as usize * g.ldc);
                            if DEFERRED > 0 {
                                deferred.take_rows(&g, c, bounds, &mut acc);
                            } else {
                                warp_rows::store(Self::staging::<DEFERRED>(), &g, c, bounds, &acc);
                            }
                        } else {
                            Self::store_through_stages(target, fused, &acc, &stores);
                        }
                        index += thread::grid_dim_x();
                    }
                    deferred.store(&g);
                }
                if DEFERRED > 0 {
                    warp_specialized::finish();
                }
            }
        }
    }
}
