//! What a block computes, of a strip of columns.

use super::column_copies::{ColumnCopies, Lines};
use super::kernel::Acc;
use super::{BK, ColumnStrip, FEW, STEP_K, Strip};
use crate::epilogue::direct::Output;
use crate::epilogue::fused::Fused;
use crate::epilogue::partial_tile::Target;
use crate::gemm::Gemm;
use crate::mainloop::gemv::reduction;
use crate::planned::{Planned, PlannedBlock};
use crate::ptx::mma::WarpMma;
use crate::ptx::{compiler, cp_async, griddepcontrol, lanes};
use crate::{Coord, Extent};
use core::ops::Range;
use cuda_std::prelude::*;

impl<const BLOCKS: usize, const WARPS: u32, const STEPS: u32> ColumnStrip<BLOCKS, WARPS, STEPS> {
    /// # Safety
    /// As of the kernels.
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
        let copies = ColumnCopies::new(a, b, of_warp.clone(), WARPS);

        // SAFETY: every thread of the cluster is here, with this step's shared memory; the grid covers C, so the tile begins in bounds,
        // and what is stored is in bounds of it.
        unsafe {
            // mainloop: all before it are numbers
            griddepcontrol::wait_then_launch_dependents();
            let mut acc = [[0.0; 4]; BLOCKS];
            Self::multiply::<I>(copies, of_warp, &mut acc);
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

    /// acc += the products of that k, which is the warp's. While a step is multiplied, those behind it are in flight.
    ///
    /// # Safety
    /// The whole warp calls it; the copies are those of that k.
    #[allow(clippy::needless_range_loop)] // an iterator would keep the accumulators in memory
    #[inline(always)]
    unsafe fn multiply<I: WarpMma>(mut copies: ColumnCopies<BLOCKS, STEPS>, mut k: Range<u32>, acc: &mut Acc<BLOCKS>) {
        // SAFETY: a slot is read when every lane's copies to it are complete, and written when every lane has read it.
        unsafe {
            if k.start < k.end {
                for _ in 0..STEPS {
                    copies.start();
                }
            }
            while k.start < k.end {
                cp_async::wait_for_all_but(STEPS - 1);
                warp::sync_warp(u32::MAX); // this step's lines are there
                let rows = [0, 1].map(|half| copies.rows(half));
                let mut columns = [[[0; 2]; BLOCKS]; 2];
                for (half, columns) in columns.iter_mut().enumerate() {
                    for block in (0..BLOCKS).step_by(2) {
                        [columns[block], columns[block + 1]] = copies.columns(half as u32, block as u32);
                    }
                }
                warp::sync_warp(u32::MAX); // they are read
                copies.start();
                for half in 0..2 {
                    for block in 0..BLOCKS {
                        I::mma(&mut acc[block], rows[half], columns[half][block]);
                    }
                }
                k.start += WARPS * STEP_K;
            }
            cp_async::wait_group::<0>();
            warp::sync_warp(u32::MAX); // no lane's copies, of zeros, are under way: partial tiles may be stored there
        }
    }
}
