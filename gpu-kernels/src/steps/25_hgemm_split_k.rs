//! hgemm-split-k: f16 or bf16 on the tensor cores, in small tiles, several blocks of which share an SM or the k of a tile.
//!
//! ```text
//!   a block: 64 to 192 rows                 a cluster: so many blocks, of one tile, as the plan says
//!     one to three consumer warpgroups        ┌─────┐ ┌─────┐ ┌─────┐
//!     one producer warp                       │part.│ │part.│ │part.│ ──► each block reduces a share of the tile from all,
//!     a ring of stages                        └─────┘ └─────┘ └─────┘     and stores it
//! ```
//!
//! Changed since hgemm: a block computes one tile and ends; the next block's prologue overlaps its epilogue, because several are
//! resident on an SM. The tiles are small, so that a small C has blocks for all SMs; where it has not, k is divided into as many splits
//! as the plan says, a number of the launch. All four combinations of transposed operands are read as they are: `wgmma` takes elements of
//! 16 bits k-major or MN-major, at no cost. Blocks of adjacent tiles may be a cluster, too: each loads some
//! rows of the k-tiles that they share, and multicasts them. The problems of a batch are the third dimension of the tensor maps, and one launch.
//! For a C of few rows there are tiles of its transpose.
//!
//! Source: CUTLASS, split-K and stream-K for few tiles; NVIDIA's cuBLAS, whose kernels for small problems have such tiles.

use crate::mainloop::half_tile::HalfTile;
use crate::mainloop::half_tile::swapped::SwappedTile;
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
            base: Some("hgemm"),
            summary: "f16 or bf16 on the tensor cores: small tiles, k in as many splits as the plan says, operands as they are",
            source: "CUTLASS, split-K for few tiles; cuBLAS's tiles for small problems",
            ..<$shape>::step(Precision::$precision, $blocks)
        }),*];

        $(
            #[cfg(feature = "device")]
            crate::epilogue::fusion::planned_kernel! {
                $kernel, launch_bounds(<$shape>::THREADS, $blocks), $input => $input,
                <$shape>::split_k::<$input>,
                a_map: &crate::ptx::tensor::TensorMap, b_map: &crate::ptx::tensor::TensorMap,
                a_transposed: u32, b_transposed: u32
            }
        )*
    };
}

kernels! {
    hgemm_split_k_f16 "hgemm-split-k" HalfTile<64, 64, 32, 4>, 3 F16 f16;
    hgemm_split_k_f16_64x16 "hgemm-split-k/64x16" HalfTile<64, 16, 8, 5>, 4 F16 f16;
    hgemm_split_k_f16_64x32 "hgemm-split-k/64x32" HalfTile<64, 32, 16, 4>, 4 F16 f16;
    hgemm_split_k_f16_64x128 "hgemm-split-k/64x128" HalfTile<64, 128, 64, 4>, 2 F16 f16;
    hgemm_split_k_f16_128x64 "hgemm-split-k/128x64" HalfTile<128, 64, 32, 4>, 2 F16 f16;
    hgemm_split_k_f16_128x128 "hgemm-split-k/128x128" HalfTile<128, 128, 64, 3>, 2 F16 f16;
    hgemm_split_k_f16_128x256 "hgemm-split-k/128x256" HalfTile<128, 256, 128, 4>, 1 F16 f16;
    hgemm_split_k_f16_64x96 "hgemm-split-k/64x96" HalfTile<64, 96, 48, 4>, 2 F16 f16;
    hgemm_split_k_f16_64x192 "hgemm-split-k/64x192" HalfTile<64, 192, 96, 4>, 1 F16 f16;
    hgemm_split_k_f16_64x256 "hgemm-split-k/64x256" HalfTile<64, 256, 128, 4>, 1 F16 f16;
    hgemm_split_k_f16_128x160 "hgemm-split-k/128x160" HalfTile<128, 160, 80, 4>, 1 F16 f16;
    hgemm_split_k_f16_128x192 "hgemm-split-k/128x192" HalfTile<128, 192, 96, 4>, 1 F16 f16;
    hgemm_split_k_f16_192x64 "hgemm-split-k/192x64" HalfTile<192, 64, 32, 3>, 2 F16 f16;
    hgemm_split_k_f16_192x96 "hgemm-split-k/192x96" HalfTile<192, 96, 48, 4>, 1 F16 f16;
    hgemm_split_k_f16_192x128 "hgemm-split-k/192x128" HalfTile<192, 128, 64, 4>, 1 F16 f16;
    hgemm_split_k_f16_16x64_swapped "hgemm-split-k/16x64-swapped" SwappedTile<16, 64, 8, 5, 2>, 3 F16 f16;
    hgemm_split_k_f16_64x64_swapped "hgemm-split-k/64x64-swapped" SwappedTile<64, 64, 32, 4, 2>, 2 F16 f16;
    hgemm_split_k_f16_96x64_swapped "hgemm-split-k/96x64-swapped" SwappedTile<96, 64, 48, 4, 1>, 2 F16 f16;
    hgemm_split_k_f16_96x128_swapped "hgemm-split-k/96x128-swapped" SwappedTile<96, 128, 48, 4, 1>, 2 F16 f16;
    hgemm_split_k_bf16 "hgemm-split-k/bf16" HalfTile<64, 64, 32, 4>, 3 Bf16 bf16;
    hgemm_split_k_bf16_64x16 "hgemm-split-k/bf16-64x16" HalfTile<64, 16, 8, 5>, 4 Bf16 bf16;
    hgemm_split_k_bf16_64x32 "hgemm-split-k/bf16-64x32" HalfTile<64, 32, 16, 4>, 4 Bf16 bf16;
    hgemm_split_k_bf16_64x128 "hgemm-split-k/bf16-64x128" HalfTile<64, 128, 64, 4>, 2 Bf16 bf16;
    hgemm_split_k_bf16_128x64 "hgemm-split-k/bf16-128x64" HalfTile<128, 64, 32, 4>, 2 Bf16 bf16;
    hgemm_split_k_bf16_128x128 "hgemm-split-k/bf16-128x128" HalfTile<128, 128, 64, 3>, 2 Bf16 bf16;
    hgemm_split_k_bf16_128x256 "hgemm-split-k/bf16-128x256" HalfTile<128, 256, 128, 4>, 1 Bf16 bf16;
    hgemm_split_k_bf16_64x96 "hgemm-split-k/bf16-64x96" HalfTile<64, 96, 48, 4>, 2 Bf16 bf16;
    hgemm_split_k_bf16_64x192 "hgemm-split-k/bf16-64x192" HalfTile<64, 192, 96, 4>, 1 Bf16 bf16;
    hgemm_split_k_bf16_64x256 "hgemm-split-k/bf16-64x256" HalfTile<64, 256, 128, 4>, 1 Bf16 bf16;
    hgemm_split_k_bf16_128x160 "hgemm-split-k/bf16-128x160" HalfTile<128, 160, 80, 4>, 1 Bf16 bf16;
    hgemm_split_k_bf16_128x192 "hgemm-split-k/bf16-128x192" HalfTile<128, 192, 96, 4>, 1 Bf16 bf16;
    hgemm_split_k_bf16_192x64 "hgemm-split-k/bf16-192x64" HalfTile<192, 64, 32, 3>, 2 Bf16 bf16;
    hgemm_split_k_bf16_192x96 "hgemm-split-k/bf16-192x96" HalfTile<192, 96, 48, 4>, 1 Bf16 bf16;
    hgemm_split_k_bf16_192x128 "hgemm-split-k/bf16-192x128" HalfTile<192, 128, 64, 4>, 1 Bf16 bf16;
    hgemm_split_k_bf16_16x64_swapped "hgemm-split-k/bf16-16x64-swapped" SwappedTile<16, 64, 8, 5, 2>, 3 Bf16 bf16;
    hgemm_split_k_bf16_64x64_swapped "hgemm-split-k/bf16-64x64-swapped" SwappedTile<64, 64, 32, 4, 2>, 2 Bf16 bf16;
    hgemm_split_k_bf16_96x64_swapped "hgemm-split-k/bf16-96x64-swapped" SwappedTile<96, 64, 48, 4, 1>, 2 Bf16 bf16;
    hgemm_split_k_bf16_96x128_swapped "hgemm-split-k/bf16-96x128-swapped" SwappedTile<96, 128, 48, 4, 1>, 2 Bf16 bf16;
}

/// What runs on the device.
#[cfg(feature = "device")]
pub mod kernel {
    use super::*;
    use crate::epilogue::direct::Output;
    use crate::epilogue::fused::Fused;
    use crate::epilogue::partial_tile::{self, PartialTile};
    use crate::gemm::Gemm;
    use crate::mainloop::half_tile::BK;
    use crate::mainloop::half_tile::swapped::PAD;
    use crate::mainloop::warp_specialized::{boxes::Mapped, producer_warp};
    use crate::planned::{Peers, Planned};
    use crate::ptx::tensor::TensorMap;
    use crate::ptx::wgmma::Input;
    use crate::{Ab, Coord};
    use cuda_std::prelude::*;

    impl<const BM: u32, const BN: u32, const ACC: usize, const STAGES: u32> HalfTile<BM, BN, ACC, STAGES> {
        /// # Safety
        /// As of the kernels.
        #[inline(always)]
        pub(super) unsafe fn split_k<I: Input + Output>(
            g: Gemm,
            fused: Fused<I>,
            a_map: *const TensorMap,
            b_map: *const TensorMap,
            a_transposed: u32,
            b_transposed: u32,
            planned: Planned,
        ) {
            // SAFETY: every thread of the block is here, with this step's shared memory and maps; the grid covers C.
            unsafe {
                // shared memory
                let peers = Peers::of_block();
                let mut ring = Self::ring(Ab { a: a_map, b: b_map }, peers);
                let partial = Self::partial_tile();

                // tile coordinates
                let block = planned.block();
                let tile = Coord { row: thread::block_idx_y() * BM, col: thread::block_idx_x() * BN };
                let k_tiles = block.k_tiles(g.k.div_ceil(BK));
                let is_transposed = Ab { a: a_transposed != 0, b: b_transposed != 0 };

                let offset = planned.offset_of_c(block);
                let target = partial_tile::Target { g: &g, tile, offset, is_f32: planned.c_is_f32 };
                let is_stored_directly = !target.is_f32 & target.is_plain(block, fused);
                // global to shared
                let shared = block.peers.shared();
                let a = Mapped::new(a_map, block, planned.a_stride, is_transposed.a, shared.a);
                let b = Mapped::new(b_map, block, planned.b_stride, is_transposed.b, shared.b);
                let loads = Self::loads(tile, block.c_to_load(&g), Ab { a, b });
                if Self::is_producer() {
                    planned.wait();
                    producer_warp::produce::<true>(&mut ring, k_tiles, loads);
                } else {
                    producer_warp::zero_rest(&ring, loads, Self::CONSUMER_THREADS);
                    planned.wait();

                    // mainloop
                    let acc = Self::consume::<I>(&mut ring, k_tiles.end - k_tiles.start, is_transposed);

                    // epilogue
                    if is_stored_directly {
                        Self::store::<I>(target, &acc);
                    } else {
                        Self::publish(partial, &acc);
                    }
                }
                if !is_stored_directly {
                    partial.reduce::<I>(block, target, fused);
                }
            }
        }
    }

    impl<const ROWS: u32, const COLS: u32, const ACC: usize, const STAGES: u32, const SLICES: u32>
        SwappedTile<ROWS, COLS, ACC, STAGES, SLICES>
    {
        /// # Safety
        /// As of the kernels.
        #[inline(always)]
        pub(super) unsafe fn split_k<I: Input + Output>(
            g: Gemm,
            fused: Fused<I>,
            a_map: *const TensorMap,
            b_map: *const TensorMap,
            a_transposed: u32,
            b_transposed: u32,
            planned: Planned,
        ) {
            // Each operand of the transpose is stored transposed where that of C is not.
            let is_transposed = Ab { a: b_transposed == 0, b: a_transposed == 0 };
            let maps = Ab { a: b_map, b: a_map };
            // SAFETY: upheld by the caller (see `# Safety`).
            unsafe {
                HalfTile::<COLS, ROWS, ACC, STAGES>::of_transpose::<I, SLICES>(g, fused, maps, is_transposed, planned)
            }
        }
    }

    impl<const BM: u32, const BN: u32, const ACC: usize, const STAGES: u32> HalfTile<BM, BN, ACC, STAGES> {
        /// With these operands of the transpose of C, (n, k) and (k, m).
        ///
        /// # Safety
        /// As of the kernels.
        #[inline(always)]
        unsafe fn of_transpose<I: Input + Output, const SLICES: u32>(
            g: Gemm,
            fused: Fused<I>,
            maps: Ab<*const TensorMap>,
            is_transposed: Ab<bool>,
            planned: Planned,
        ) {
            // SAFETY: every thread of the block is here, with this step's shared memory and maps; the grid covers C.
            unsafe {
                // shared memory
                let peers = Peers::of_block();
                let mut ring = Self::ring_of_slices::<SLICES>(maps, peers);
                let partial = PartialTile::<BN, BM, PAD>::new(shared::dynamic_shared_mem());

                // tile coordinates
                let block = planned.block();
                let tile = Coord { row: thread::block_idx_y() * BN, col: thread::block_idx_x() * BM };
                let k_tiles = block.k_tiles(g.k.div_ceil(BK));

                let offset = planned.offset_of_c(block);
                let target = partial_tile::Target { g: &g, tile, offset, is_f32: planned.c_is_f32 };
                // global to shared
                let shared = block.peers.shared();
                let a = Mapped::new(maps.a, block, planned.b_stride, is_transposed.a, shared.b);
                let b = Mapped::new(maps.b, block, planned.a_stride, is_transposed.b, shared.a);
                let loads = Self::loads(tile.transposed(), block.c_to_load(&g).transposed(), Ab { a, b });
                if Self::slice() == SLICES {
                    planned.wait();
                    producer_warp::produce::<true>(&mut ring, k_tiles, loads);
                } else {
                    producer_warp::zero_rest(&ring, loads, SLICES * Self::CONSUMER_THREADS);
                    planned.wait();

                    // mainloop
                    let k_tiles = k_tiles.end - k_tiles.start;
                    let mut acc = Self::consume_slice::<I, SLICES>(&mut ring, k_tiles, is_transposed);
                    Self::add_slices::<SLICES>(&mut acc);

                    // epilogue
                    if Self::slice() == 0 {
                        Self::publish_transposed(partial, &acc);
                    }
                }
                partial.reduce::<I>(block, target, fused);
            }
        }
    }
}
