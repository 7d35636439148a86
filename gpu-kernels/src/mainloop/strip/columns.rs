//! What a block computes, of a strip of columns.

use super::column_copies::{ColumnCopies, Lines};
use super::steps::Ring;
use super::{BK, ColumnStrip, FEW, STEP_K, Strip};
use crate::epilogue::direct::Output;
use crate::epilogue::fused::Fused;
use crate::epilogue::partial_tile::Target;
use crate::gemm::Gemm;
use crate::mainloop::gemv::reduction;
use crate::planned::{Planned, PlannedBlock};
use crate::ptx::mma::WarpMma;
use crate::ptx::{compiler, griddepcontrol, lanes};
use crate::{Coord, Extent};
use cuda_std::prelude::*;

impl<const BLOCKS: usize, const WARPS: u32, const STEPS: u32> ColumnStrip<BLOCKS, WARPS, STEPS> {
    /// # Safety
    /// As of the kernels.
    #[allow(clippy::needless_range_loop)] // an iterator would keep the accumulators in memory
    #[inline(always)]
    pub unsafe fn any_layout<I: WarpMma + Output>(g: Gemm, fused: Fused<I>, planned: Planned) {
        // tile coordinates
        let block = PlannedBlock::new(planned.planes);
        let tile = Coord { row: thread::block_idx_y() * FEW, col: thread::block_idx_x() * Self::COLUMNS };
        let (few, columns) = (g.m - tile.row, g.n - tile.col);
        let lines = |matrix: *const f32, stride: u64, first: u64, ld: usize, left: u32| {
            let offset = u64::from(block.problem) * stride + first;
            Lines { start: matrix.cast::<u16>().wrapping_add(offset as usize), ld: ld as u32, left }
        };
        let a = lines(g.a, planned.a_stride, u64::from(tile.row) * g.lda as u64, g.lda, few);
        let b = lines(g.b, planned.b_stride, u64::from(tile.col), g.ldb, columns);
        let k_tiles = block.k_tiles(g.k.div_ceil(BK));
        let k = (k_tiles.start * BK).min(g.k)..(k_tiles.end * BK).min(g.k);
        let of_warp = k.start + lanes::warp_index() * STEP_K..k.end;
        let copies = ColumnCopies::<BLOCKS, STEPS>::new(a, b, of_warp.clone(), WARPS);

        // SAFETY: every thread of the cluster is here, with this step's shared memory; the grid covers C, so the tile begins in bounds,
        // and what is stored is in bounds of it.
        unsafe {
            // mainloop: all before it are numbers
            griddepcontrol::wait_then_launch_dependents();
            let mut acc = [[0.0; 4]; BLOCKS];
            copies.for_each_step(of_warp, |(rows, columns)| {
                for half in 0..2 {
                    for block in 0..BLOCKS {
                        I::mma(&mut acc[block], rows[half], columns[half][block]);
                    }
                }
            });
            Strip::<BLOCKS, WARPS, STEPS, 1>::publish(few, &acc);

            // epilogue: its coordinates are computed anew, or they would be in registers throughout the mainloop
            let block = PlannedBlock::new(compiler::opaque(planned.planes));
            let target = Target { g: &g, tile, offset: planned.offset_of_c(block), is_f32: planned.c_is_f32 };
            let bounds = Extent { rows: columns, cols: few };
            Strip::<BLOCKS, WARPS, STEPS, 1>::reduce::<true>(block, bounds, |at, sum| {
                reduction::store(target, fused, Coord { row: at.col, col: at.row }, sum);
            });
        }
    }
}
