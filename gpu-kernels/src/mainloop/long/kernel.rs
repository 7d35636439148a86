//! What a block computes.

use super::matrix::{BLOCKS, Matrix};
use super::vectors::Vectors;
use super::{BK, FEW, Long, OCTETS, ROWS, partial};
use crate::epilogue::direct::Output;
use crate::epilogue::fused::Fused;
use crate::epilogue::partial_tile::Target;
use crate::gemm::Gemm;
use crate::mainloop::gemv::{Strided, reduction};
use crate::planned::{Planned, PlannedBlock};
use crate::ptx::compiler;
use crate::ptx::mma::WarpMma;
use crate::{Coord, Extent};
use cuda_std::prelude::*;

impl Long {
    /// # Safety
    /// As of the kernels.
    #[inline(always)]
    pub unsafe fn any_layout<I: WarpMma + Output>(
        g: Gemm,
        fused: Fused<I>,
        a_transposed: u32,
        b_transposed: u32,
        planned: Planned,
    ) {
        // tile coordinates
        let block = planned.begin();
        let tile = Coord { row: thread::block_idx_y() * ROWS, col: thread::block_idx_x() * FEW };
        let strides = |is_k_contiguous: bool, ld: usize| if is_k_contiguous { (1, ld as u32) } else { (ld as u32, 1) };
        let operand = |matrix: *const f32, stride: u64, first: u32, (along_k, across): (u32, u32)| {
            let offset = u64::from(block.problem) * stride + u64::from(first) * u64::from(across);
            Strided { start: matrix.cast::<u16>().wrapping_add(offset as usize), along_k, across }
        };
        let long = operand(g.a, planned.a_stride, tile.row, strides(a_transposed == 0, g.lda));
        let narrow = operand(g.b, planned.b_stride, tile.col, strides(b_transposed != 0, g.ldb));
        let (rows, few) = (g.m - tile.row, g.n - tile.col);
        let k_tiles = block.k_tiles(g.k.div_ceil(BK));
        let k = (k_tiles.start * BK).min(g.k)..(k_tiles.end * BK).min(g.k);

        // SAFETY: every thread of the cluster is here, with this step's shared memory; the grid covers C, so the tile begins in bounds,
        // and what is stored is in bounds of it.
        unsafe {
            // mainloop
            let matrix = Matrix { from: long, rows: rows.min(ROWS) };
            let of_vectors = matrix.of_vectors(&k);
            let vectors = Vectors { from: narrow, few: few.min(FEW), end: of_vectors.end };
            let partial_tiles = if matrix.has_adjacent_rows() & !of_vectors.is_empty() {
                let mut acc = [[[0.0; 4]; OCTETS]; BLOCKS];
                matrix.multiply_columns::<I>(vectors, of_vectors, &mut acc);
                thread::sync_threads(); // every warp has read the chunks: partial tiles may be stored there
                partial::publish_columns(vectors, &acc)
            } else {
                let mut acc = [[0.0; 4]; OCTETS];
                let rest = of_vectors.end..k.end;
                matrix.multiply_rows::<I>(vectors, of_vectors, &mut acc);
                matrix.multiply_elements::<I>(vectors, rest, &mut acc);
                thread::sync_threads(); // likewise
                partial::publish_rows(vectors, &acc)
            };

            // epilogue: its coordinates are computed anew, or they would be in registers throughout the mainloop
            let block = PlannedBlock::new(compiler::opaque(planned.planes));
            let target = Target { g: &g, tile, offset: planned.offset_of_c(block), is_f32: planned.c_is_f32 };
            partial::reduce(block, partial_tiles, vectors, Extent { rows, cols: few }, |at, sum| {
                reduction::store(target, fused, at, sum);
            });
        }
    }
}
