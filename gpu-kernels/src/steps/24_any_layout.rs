//! any-layout: small, thin, deep and unaligned problems, transposed or not, in batches or not, without a pre-pass.
//!
//! ```text
//!   A (m, k) or (k, m)   ┐ cp.async,        ┌ a_smem (BK, BM) ┐            z: problems x planes x ranks of a cluster
//!                        ├ which transposes ┤                 ├─► acc ─► partial tile ┐
//!   B (k, n) or (n, k)   ┘                  └ b_smem (BK, BN) ┘          partial tile ├─► C
//!                                                                        partial tile ┘
//! ```
//!
//! Changed since async-copy: both operands are copied in the order that they have, 4 bytes at a time where k is contiguous or rows are
//! not aligned (`mainloop/operand_copy.rs`). So neither TMA nor a pre-pass is needed, which would cost a launch: as long as most of
//! these problems take. Tiles are small, and several blocks per SM hide the latency of each other. The plan says how many blocks
//! share the k of a tile: a cluster, which reduces its partial tiles through distributed shared memory (`epilogue/partial_tile.rs`), and
//! several of them where a cluster is not enough. Where k is 1 or 2, C takes the time: `outer-2` is made for its stores
//! (`mainloop/outer_product.rs`).
//!
//! Source: CUTLASS's SIMT kernels for any layout, with split-K; none of the seeds.

use crate::mainloop::any_layout::AnyLayout;
use crate::mainloop::outer_product::OuterProduct;
use crate::{Step, Target, Transposed};

/// This step's entry in the registry.
pub const STEP: Step = Step { variants: ALL.split_at(1).1, ..ALL[0] };

/// Declares a kernel and a [`Step`] for each shape, with its CTA slots per SM.
macro_rules! kernels {
    ($($kernel:ident $slug:literal $shape:ty, $blocks:literal;)*) => {
        const ALL: &[Step] = &[$(Step {
            slug: $slug,
            kernel: stringify!($kernel),
            fused: Some(stringify!($kernel)),
            base: Some("async-copy"),
            summary: "any order and alignment of A and B, batches, and as many splits of k as the plan says: no pre-pass",
            source: "CUTLASS, SIMT kernels and split-K; none of the seeds",
            target: Target::Sm90a,
            transposed: Transposed::Read,
            ..<$shape>::step($blocks)
        }),*];

        $(
            #[cfg(feature = "device")]
            crate::epilogue::fusion::planned_kernel! {
                $kernel, launch_bounds(<$shape>::THREADS, $blocks), f32 => f32, <$shape>::run,
                a_transposed: u32, b_transposed: u32
            }
        )*
    };
}

kernels! {
    sgemm_any_layout "any-layout" AnyLayout<64, 64, 8, 4, 128, 8, 3, false, 4>, 4;
    sgemm_any_layout_64x64x2 "any-layout/64x64x2" AnyLayout<64, 64, 8, 8, 128, 16, 2, false, 0>, 3;
    sgemm_any_layout_64x64x4 "any-layout/64x64x4" AnyLayout<64, 64, 8, 8, 256, 32, 1, false, 0>, 1;
    sgemm_any_layout_32x32 "any-layout/32x32" AnyLayout<32, 32, 4, 4, 64, 8, 4, false, 6>, 8;
    sgemm_any_layout_32x32x4 "any-layout/32x32x4" AnyLayout<32, 32, 4, 8, 128, 32, 1, false, 10>, 5;
    sgemm_any_layout_32x64x2 "any-layout/32x64x2" AnyLayout<32, 64, 4, 8, 128, 16, 2, false, 15>, 5;
    sgemm_any_layout_64x128 "any-layout/64x128" AnyLayout<64, 128, 8, 8, 128, 8, 3, false, 7>, 4;
    sgemm_any_layout_64x128x2 "any-layout/64x128x2" AnyLayout<64, 128, 8, 8, 256, 16, 2, false, 0>, 1;
    sgemm_any_layout_128x64 "any-layout/128x64" AnyLayout<128, 64, 8, 8, 128, 8, 3, false, 3>, 3;
    sgemm_any_layout_128x32 "any-layout/128x32" AnyLayout<128, 32, 8, 4, 128, 8, 3, false, 0>, 4;
    sgemm_any_layout_32x128 "any-layout/32x128" AnyLayout<128, 32, 8, 4, 128, 8, 3, true, 8>, 4;
    sgemm_any_layout_128x16 "any-layout/128x16" AnyLayout<128, 16, 4, 4, 128, 8, 3, false, 0>, 6;
    sgemm_any_layout_16x128 "any-layout/16x128" AnyLayout<128, 16, 4, 4, 128, 8, 3, true, 14>, 6;
    sgemm_any_layout_outer_2 "any-layout/outer-2" OuterProduct<2, 8>, 4;
}

/// What runs on the device.
#[cfg(feature = "device")]
pub mod kernel {
    use super::*;
    use crate::Coord;
    use crate::epilogue::fused::Fused;
    use crate::epilogue::partial_tile::{self, PartialTile};
    use crate::epilogue::tile_rows;
    use crate::gemm::Gemm;
    use crate::mainloop::any_layout::PAD;
    use crate::mainloop::operand_copy::Source;
    use crate::planned::{Planned, PlannedBlock};
    use crate::ptx::{compiler, f32x4};
    use cuda_std::prelude::*;

    impl<
        const BM: u32,
        const BN: u32,
        const TM: usize,
        const TN: usize,
        const THREADS: u32,
        const BK: u32,
        const AHEAD: u32,
        const TURNED: bool,
        const NN_GAIN: u32,
    > AnyLayout<BM, BN, TM, TN, THREADS, BK, AHEAD, TURNED, NN_GAIN>
    {
        /// # Safety
        /// As of the kernels.
        #[inline(always)]
        pub(super) unsafe fn run(g: Gemm, fused: Fused<f32>, a_transposed: u32, b_transposed: u32, planned: Planned) {
            // tile coordinates
            let block = planned.begin();
            let (bm, bn) = if TURNED { (BN, BM) } else { (BM, BN) };
            let tile = Coord { row: thread::block_idx_y() * bm, col: thread::block_idx_x() * bn };
            let k_tiles = block.k_tiles(g.k.div_ceil(BK));
            let k = k_tiles.start * BK;

            // mainloop
            let [a, b] = [planned.a_stride, planned.b_stride].map(|stride| u64::from(block.problem) * stride);
            let (a, b) = (g.a.wrapping_add(a as usize), g.b.wrapping_add(b as usize));
            let source = |matrix, ld, is_k_contiguous, rows, row| Source { matrix, ld, is_k_contiguous, rows, row, k };
            let a = source(a, g.lda, a_transposed == 0, g.m, tile.row);
            let b = source(b, g.ldb, b_transposed != 0, g.n, tile.col);
            let operands = if TURNED { [b, a] } else { [a, b] };
            let mut acc = [[0.0; TN]; TM];
            // SAFETY: every thread of the block is here; a thread's elements are in the tile.
            unsafe {
                Self::mainloop(operands, g.k.saturating_sub(k), k_tiles.end - k_tiles.start, &mut acc);
                Self::add_slices(&mut acc);

                // epilogue: its coordinates are computed anew, or they would be in registers throughout the mainloop
                let block = PlannedBlock::new(compiler::opaque(planned.planes));
                let offset = planned.offset_of_c(block);
                let target = partial_tile::Target { g: &g, tile, offset, is_f32: true };
                if TURNED {
                    Self::epilogue::<BN, BM>(&acc, block, target, fused);
                } else {
                    Self::epilogue::<BM, BN>(&acc, block, target, fused);
                }
            }
        }

        /// Stores the tile of C, which is (M, N).
        ///
        /// # Safety
        /// Every thread of the block calls it.
        #[inline(always)]
        unsafe fn epilogue<const M: u32, const N: u32>(
            acc: &[[f32; TN]; TM],
            block: PlannedBlock,
            target: partial_tile::Target,
            fused: Fused<f32>,
        ) {
            let partial = PartialTile::<M, N, PAD>::new(shared::dynamic_shared_mem());
            // SAFETY: a thread's elements are in the tile. The partial tile is where the stages were, which every warp has read.
            unsafe {
                let is_plain = target.is_plain(block, fused);
                if is_plain && partial.is_full_and_aligned(target) {
                    if !Self::is_first_slice() {
                        return;
                    }
                    let g = target.g;
                    let tile = g.c.wrapping_add(target.first()); // (M, N)
                    Self::for_each_vector(acc, |Coord { row, col }, values| {
                        let c = tile.wrapping_add(row as usize * g.ldc + col as usize);
                        f32x4::store(c, values.map(|value| g.alpha * value));
                    });
                    return;
                }
                if Self::SLICES == 1 {
                    thread::sync_threads(); // every warp has read the last stage, as `add_slices` makes sure of where it adds any
                }
                if Self::is_first_slice() {
                    Self::for_each_vector(acc, |at, values| f32x4::store(partial.at(at), values));
                }
                if is_plain {
                    tile_rows::store::<M, N, PAD, THREADS>(partial, target);
                    return;
                }
                partial.reduce(block, target, fused);
            }
        }
    }
}
