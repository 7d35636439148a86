//! hgemm-any-layout: f16 or bf16 on the tensor cores, in any order and at any alignment, without a pre-pass.
//!
//! ```text
//!   A (m, k) or (k, m)   ┐ 16 or 4 bytes: cp.async       ┌ a stage, swizzled ┐           z: problems x planes x ranks of a cluster
//!                        ├                               ┤                   ├─ wgmma ─► acc ─► C
//!   B (k, n) or (n, k)   ┘ 2 bytes: through registers    └ a stage, swizzled ┘
//! ```
//!
//! Changed since hgemm-split-k: no TMA, which wants rows at multiples of 16 bytes. A pre-pass that aligns an operand costs a launch, as
//! long as most of these problems take. Here all threads copy the k-tiles themselves (`mainloop/half_tile/copies.rs`): what is aligned to
//! 4 bytes asynchronously, into as many stages as there are, and what is not through registers. Of a thin k, no more is copied and
//! multiplied than there is, in multiples of 16. Stages, MMAs of either order and epilogue are those of the base.
//!
//! Source: CUTLASS, `MainloopSm90CpAsyncGmmaWarpSpecialized`, for operands that TMA cannot load; none of the seeds.

use crate::mainloop::half_tile::HalfTile;
use crate::mainloop::long::Long;
use crate::mainloop::narrow::Narrow;
use crate::mainloop::outer_product::OuterProduct;
use crate::mainloop::strip::{ColumnStrip, Strip};
use crate::{Precision, Step};
#[cfg(feature = "device")]
use half::{bf16, f16};

/// This step's entry in the registry: f16.
pub const STEP: Step = Step { variants: ALL.split_at(1).1, ..ALL[0] };

/// Declares a kernel that reads operands in either order, or rows alone.
#[cfg(feature = "device")]
macro_rules! kernel {
    (either $kernel:ident $shape:ty, $blocks:literal $input:ident) => {
        crate::epilogue::fusion::planned_kernel! {
            $kernel, launch_bounds(<$shape>::ANY_LAYOUT_THREADS, $blocks), $input => $input,
            <$shape>::any_layout::<$input>,
            a_transposed: u32, b_transposed: u32
        }
    };
    (rows $kernel:ident $shape:ty, $blocks:literal $input:ident) => {
        crate::epilogue::fusion::planned_kernel! {
            $kernel, launch_bounds(<$shape>::ANY_LAYOUT_THREADS, $blocks), $input => $input,
            <$shape>::any_layout::<$input>
        }
    };
}

/// Declares a kernel and a [`Step`] for each element type and shape.
macro_rules! kernels {
    ($($kernel:ident $slug:literal $shape:ty, $blocks:literal $precision:ident $input:ident $reads:ident;)*) => {
        const ALL: &[Step] = &[$(Step {
            slug: $slug,
            kernel: stringify!($kernel),
            fused: Some(stringify!($kernel)),
            base: Some("hgemm-split-k"),
            summary: "f16 or bf16 on the tensor cores in any order and at any alignment, thin k included: no pre-pass",
            source: "CUTLASS, cp.async and wgmma for operands that TMA cannot load",
            ..<$shape>::any_layout_step(Precision::$precision, $blocks)
        }),*];

        $(
            #[cfg(feature = "device")]
            kernel! { $reads $kernel $shape, $blocks $input }
        )*
    };
}

kernels! {
    hgemm_any_layout_f16 "hgemm-any-layout" HalfTile<64, 64, 32, 4>, 3 F16 f16 either;
    hgemm_any_layout_f16_thin "hgemm-any-layout/thin" HalfTile<64, 64, 32, 2>, 6 F16 f16 either;
    hgemm_any_layout_f16_64x32 "hgemm-any-layout/64x32" HalfTile<64, 32, 16, 4>, 4 F16 f16 either;
    hgemm_any_layout_f16_128x128 "hgemm-any-layout/128x128" HalfTile<128, 128, 64, 3>, 2 F16 f16 either;
    hgemm_any_layout_f16_outer_2 "hgemm-any-layout/outer-2" OuterProduct<2, 16>, 4 F16 f16 either;
    hgemm_any_layout_f16_outer_2_low "hgemm-any-layout/outer-2-low" OuterProduct<2, 4>, 4 F16 f16 either;
    hgemm_any_layout_f16_outer_8 "hgemm-any-layout/outer-8" OuterProduct<8, 4>, 2 F16 f16 either;
    hgemm_any_layout_f16_columns_16 "hgemm-any-layout/columns-16" Narrow<128, 16, 2, 3>, 2 F16 f16 either;
    hgemm_any_layout_f16_rows_16 "hgemm-any-layout/rows-16" Narrow<16, 128, 2, 3>, 2 F16 f16 either;
    hgemm_any_layout_f16_long "hgemm-any-layout/long-a" Long, 2 F16 f16 either;
    hgemm_any_layout_f16_strip "hgemm-any-layout/strip-a" Strip<2, 4, 4, 2>, 5 F16 f16 either;
    hgemm_any_layout_f16_strip_8 "hgemm-any-layout/strip-a-8" Strip<2, 8, 4, 2>, 3 F16 f16 either;
    hgemm_any_layout_f16_columns "hgemm-any-layout/strip-b" ColumnStrip<8, 4, 4>, 2 F16 f16 rows;
    hgemm_any_layout_f16_columns_8 "hgemm-any-layout/strip-b-8" ColumnStrip<8, 8, 4>, 1 F16 f16 rows;
    hgemm_any_layout_bf16 "hgemm-any-layout/bf16" HalfTile<64, 64, 32, 4>, 3 Bf16 bf16 either;
    hgemm_any_layout_bf16_thin "hgemm-any-layout/bf16-thin" HalfTile<64, 64, 32, 2>, 6 Bf16 bf16 either;
    hgemm_any_layout_bf16_64x32 "hgemm-any-layout/bf16-64x32" HalfTile<64, 32, 16, 4>, 4 Bf16 bf16 either;
    hgemm_any_layout_bf16_128x128 "hgemm-any-layout/bf16-128x128" HalfTile<128, 128, 64, 3>, 2 Bf16 bf16 either;
    hgemm_any_layout_bf16_outer_2 "hgemm-any-layout/bf16-outer-2" OuterProduct<2, 16>, 4 Bf16 bf16 either;
    hgemm_any_layout_bf16_outer_2_low "hgemm-any-layout/bf16-outer-2-low" OuterProduct<2, 4>, 4 Bf16 bf16 either;
    hgemm_any_layout_bf16_outer_8 "hgemm-any-layout/bf16-outer-8" OuterProduct<8, 4>, 2 Bf16 bf16 either;
    hgemm_any_layout_bf16_columns_16 "hgemm-any-layout/bf16-columns-16" Narrow<128, 16, 2, 3>, 2 Bf16 bf16 either;
    hgemm_any_layout_bf16_rows_16 "hgemm-any-layout/bf16-rows-16" Narrow<16, 128, 2, 3>, 2 Bf16 bf16 either;
    hgemm_any_layout_bf16_long "hgemm-any-layout/bf16-long-a" Long, 2 Bf16 bf16 either;
    hgemm_any_layout_bf16_strip "hgemm-any-layout/bf16-strip-a" Strip<2, 4, 4, 2>, 5 Bf16 bf16 either;
    hgemm_any_layout_bf16_strip_8 "hgemm-any-layout/bf16-strip-a-8" Strip<2, 8, 4, 2>, 3 Bf16 bf16 either;
    hgemm_any_layout_bf16_columns "hgemm-any-layout/bf16-strip-b" ColumnStrip<8, 4, 4>, 2 Bf16 bf16 rows;
    hgemm_any_layout_bf16_columns_8 "hgemm-any-layout/bf16-strip-b-8" ColumnStrip<8, 8, 4>, 1 Bf16 bf16 rows;
}

/// What runs on the device.
#[cfg(feature = "device")]
pub mod kernel {
    use super::*;
    use crate::epilogue::direct::Output;
    use crate::epilogue::fused::Fused;
    use crate::epilogue::partial_tile;
    use crate::gemm::Gemm;
    use crate::mainloop::half_tile::{BK, Source};
    use crate::planned::{Planned, PlannedBlock};
    use crate::ptx::compiler;
    use crate::ptx::wgmma::Input;
    use crate::{Ab, Coord};
    use cuda_std::prelude::*;

    impl<const BM: u32, const BN: u32, const ACC: usize, const STAGES: u32> HalfTile<BM, BN, ACC, STAGES> {
        /// # Safety
        /// As of the kernels.
        #[inline(always)]
        pub(super) unsafe fn any_layout<I: Input + Output>(
            g: Gemm,
            fused: Fused<I>,
            a_transposed: u32,
            b_transposed: u32,
            planned: Planned,
        ) {
            // tile coordinates
            let block = planned.begin();
            let tile = Coord { row: thread::block_idx_y() * BM, col: thread::block_idx_x() * BN };
            let k_tiles = block.k_tiles(g.k.div_ceil(BK));
            let k = k_tiles.start * BK;

            // mainloop
            let source = |matrix: *const f32, stride: u64, ld, is_k_contiguous, tile_rows, rows: u32, row| {
                let matrix = matrix.cast::<u16>().wrapping_add((u64::from(block.problem) * stride) as usize);
                Source { matrix, ld, is_k_contiguous, tile_rows, row, rows: rows - row }
            };
            let a = source(g.a, planned.a_stride, g.lda, a_transposed == 0, BM, g.m, tile.row);
            let b = source(g.b, planned.b_stride, g.ldb, b_transposed != 0, BN, g.n, tile.col);
            // SAFETY: every thread of the block is here, with this step's shared memory; the grid covers C.
            unsafe {
                let left = g.k.saturating_sub(k);
                let acc = Self::multiply::<I>(Ab { a, b }, k, left, k_tiles.end - k_tiles.start);

                // epilogue: its coordinates are computed anew, or they would be in registers throughout the mainloop
                let block = PlannedBlock::new(compiler::opaque(planned.planes));
                let offset = planned.offset_of_c(block);
                let target = partial_tile::Target { g: &g, tile, offset, is_f32: planned.c_is_f32 };
                if !target.is_f32 & target.is_plain(block, fused) {
                    Self::store::<I>(target, &acc);
                } else {
                    let partial = Self::partial_tile();
                    Self::publish(partial, &acc);
                    partial.reduce::<I>(block, target, fused);
                }
            }
        }
    }
}
