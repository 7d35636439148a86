//! tf32-split-k: f32 on the tensor cores in small tiles, as hgemm-split-k; B as it is, through registers only where it is n-major.
//!
//! ```text
//!   a block: BM x 64 or BM x 128 of C, as C^T            B stored k x n ──► fragments ──┐
//!     one or two consumer warpgroups, 64 columns each    B stored n x k ────────────────┴► left operand
//!     one producer warp                                  A ─────────────────────────────► right operand
//! ```
//!
//! Changed since tf32: what hgemm-split-k changes in hgemm. The tiles are small, several blocks share an SM, and k is divided into as many
//! splits as the plan says. A transposed B is k-major, which is how `wgmma` reads elements of 32 bits: it needs neither registers nor
//! a pre-pass. A transposed A needs one. Since rows of C are columns of the accumulators, a tile may have as few as 16 rows.
//!
//! Source: CUTLASS, split-K and stream-K for few tiles; NVIDIA's cuBLAS, whose kernels for small problems have such tiles.

use crate::Step;
use crate::mainloop::tf32_tile::Tf32Tile;

/// This step's entry in the registry.
pub const STEP: Step = Step { variants: ALL.split_at(1).1, ..ALL[0] };

/// Declares a kernel and a [`Step`] for each shape, with its CTA slots per SM.
macro_rules! kernels {
    ($($kernel:ident $slug:literal $shape:ty, $blocks:literal;)*) => {
        const ALL: &[Step] = &[$(Step {
            slug: $slug,
            kernel: stringify!($kernel),
            fused: Some(stringify!($kernel)),
            base: Some("tf32"),
            summary: "TF32 in small tiles: k in as many splits as the plan says, B as it is",
            source: "CUTLASS, split-K for few tiles; cuBLAS's tiles for small problems",
            ..<$shape>::step($blocks)
        }),*];

        $(
            #[cfg(feature = "device")]
            crate::epilogue::fusion::planned_kernel! {
                $kernel, launch_bounds(<$shape>::THREADS, $blocks), f32 => f32,
                <$shape>::split_k,
                a_map: &crate::ptx::tensor::TensorMap, b_map: &crate::ptx::tensor::TensorMap,
                a_transposed: u32, b_transposed: u32
            }
        )*
    };
}

kernels! {
    sgemm_tf32_split_k "tf32-split-k" Tf32Tile<64, 64, 32, 4>, 3;
    sgemm_tf32_split_k_16x64 "tf32-split-k/16x64" Tf32Tile<16, 64, 8, 5>, 4;
    sgemm_tf32_split_k_32x64 "tf32-split-k/32x64" Tf32Tile<32, 64, 16, 4>, 4;
    sgemm_tf32_split_k_128x64 "tf32-split-k/128x64" Tf32Tile<128, 64, 64, 4>, 2;
    sgemm_tf32_split_k_64x128 "tf32-split-k/64x128" Tf32Tile<64, 128, 32, 8>, 1;
    sgemm_tf32_split_k_128x128 "tf32-split-k/128x128" Tf32Tile<128, 128, 64, 6>, 1;
}

/// What runs on the device.
#[cfg(feature = "device")]
pub mod kernel {
    use super::*;
    use crate::epilogue::fused::Fused;
    use crate::epilogue::partial_tile;
    use crate::gemm::Gemm;
    use crate::mainloop::tf32_tile::BK;
    use crate::mainloop::warp_specialized::{boxes::Mapped, producer_warp};
    use crate::planned::{Peers, Planned};
    use crate::ptx::tensor::TensorMap;
    use crate::{Ab, Coord};
    use cuda_std::prelude::*;

    impl<const BM: u32, const BN: u32, const ACC: usize, const STAGES: u32> Tf32Tile<BM, BN, ACC, STAGES> {
        /// # Safety
        /// As of the kernels.
        #[inline(always)]
        pub(super) unsafe fn split_k(
            g: Gemm,
            fused: Fused<f32>,
            a_map: *const TensorMap,
            b_map: *const TensorMap,
            _a_transposed: u32,
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
                let b_is_transposed = b_transposed != 0;

                // global to shared
                let shared = block.peers.shared();
                let a = Mapped::new(a_map, block, planned.a_stride, false, shared.a);
                let b = Mapped::new(b_map, block, planned.b_stride, b_is_transposed, shared.b);
                let loads = Self::loads(tile, block.c_to_load(&g), Ab { a, b });
                if Self::is_producer() {
                    planned.wait();
                    producer_warp::produce::<true>(&mut ring, k_tiles, loads);
                } else {
                    producer_warp::zero_rest(&ring, loads, Self::CONSUMER_THREADS);
                    planned.wait();

                    // mainloop
                    let acc = Self::consume(&mut ring, k_tiles.end - k_tiles.start, b_is_transposed);
                    Self::publish(partial, &acc, b_is_transposed);
                }

                // epilogue
                let offset = planned.offset_of_c(block);
                let target = partial_tile::Target { g: &g, tile, offset, is_f32: true };
                partial.reduce::<f32>(block, target, fused);
            }
        }
    }
}
