//! What a block computes.

use super::copies::Copies;
use super::steps::Ring;
use super::vectors::{self, Vectors};
use super::{BK, FEW, MMA_ROWS, STEP_K, Strip, VECTOR};
use crate::epilogue::direct::Output;
use crate::epilogue::fused::Fused;
use crate::epilogue::partial_tile::Target;
use crate::gemm::Gemm;
use crate::mainloop::gemv::{Strided, reduction};
use crate::planned::{Planned, PlannedBlock};
use crate::ptx::mma::WarpMma;
use crate::ptx::{compiler, griddepcontrol, lanes, read_only};
use crate::{Coord, Extent};
use core::ops::Range;
use cuda_std::prelude::*;

/// Accumulators of a lane, by blocks of rows: columns lane / 4, and eight behind, of two adjacent rows each.
pub(super) type Acc<const BLOCKS: usize> = [[f32; 4]; BLOCKS];

impl<const BLOCKS: usize, const WARPS: u32, const STEPS: u32, const RUN: u32> Strip<BLOCKS, WARPS, STEPS, RUN> {
    /// # Safety
    /// As of the kernels.
    #[allow(clippy::needless_range_loop)] // an iterator would keep the accumulators in memory
    #[inline(always)]
    pub unsafe fn any_layout<I: WarpMma + Output>(
        g: Gemm,
        fused: Fused<I>,
        _a_transposed: u32,
        b_transposed: u32,
        planned: Planned,
    ) {
        // tile coordinates
        let block = PlannedBlock::new(planned.planes);
        let tile = Coord { row: thread::block_idx_y() * Self::ROWS, col: thread::block_idx_x() * FEW };
        let operand = |matrix: *const f32, stride: u64, first: u32, (along_k, across): (u32, u32)| {
            let offset = u64::from(block.problem) * stride + u64::from(first) * u64::from(across);
            Strided { start: matrix.cast::<u16>().wrapping_add(offset as usize), along_k, across }
        };
        let of_b = if b_transposed != 0 { (1, g.ldb as u32) } else { (g.ldb as u32, 1) };
        let strip = operand(g.a, planned.a_stride, tile.row, (1, g.lda as u32));
        let (rows, few) = (g.m - tile.row, g.n - tile.col);
        let vectors = Vectors { from: operand(g.b, planned.b_stride, tile.col, of_b), few: few.min(FEW) };
        let k_tiles = block.k_tiles(g.k.div_ceil(BK));
        let k = (k_tiles.start * BK).min(g.k)..(k_tiles.end * BK).min(g.k);
        let a = Rows { from: strip, last: rows.min(Self::ROWS) - 1 };
        let of_vectors = if a.is_aligned() & vectors.is_aligned() { k.end / VECTOR * VECTOR } else { 0 };
        let of_vectors = k.start..of_vectors.max(k.start);
        let first = of_vectors.start + lanes::warp_index() * RUN * STEP_K;
        let copies = Copies::<BLOCKS, STEPS, RUN>::new(a, vectors, first..of_vectors.end, WARPS);

        // SAFETY: every thread of the cluster is here, with this step's shared memory; the grid covers C, so the tile begins in bounds,
        // and what is stored is in bounds of it.
        unsafe {
            // mainloop: all before it are numbers
            griddepcontrol::wait_then_launch_dependents();
            let mut acc = [[0.0; 4]; BLOCKS];
            copies.for_each_step(first..of_vectors.end, |(columns, rows)| {
                for block in 0..BLOCKS {
                    multiply::<I>(&mut acc[block], columns, rows[block]);
                }
            });
            Self::multiply_elements::<I>(a, vectors, of_vectors.end..k.end, &mut acc);
            Self::publish(vectors.few, &acc);

            // epilogue: its coordinates are computed anew, or they would be in registers throughout the mainloop
            let block = PlannedBlock::new(compiler::opaque(planned.planes));
            let target = Target { g: &g, tile, offset: planned.offset_of_c(block), is_f32: planned.c_is_f32 };
            Self::reduce::<false>(block, Extent { rows, cols: few }, |at, sum| {
                reduction::store(target, fused, at, sum)
            });
        }
    }

    /// acc += the products of the block's k, element by element.
    ///
    /// # Safety
    /// The whole warp calls it; what is in bounds of the operands may be read.
    #[allow(clippy::needless_range_loop)] // an iterator would keep the accumulators in memory
    #[inline(always)]
    unsafe fn multiply_elements<I: WarpMma>(a: Rows, vectors: Vectors, k: Range<u32>, acc: &mut Acc<BLOCKS>) {
        let lane = warp::lane_id();
        let of_vectors = if a.is_aligned() { k.end / VECTOR * VECTOR } else { 0 };
        let mut first = k.start + lanes::warp_index() * STEP_K;
        while first < k.end {
            let at = first + lane % 4 * VECTOR;
            // SAFETY: in bounds, or not loaded; the whole warp is here.
            unsafe {
                let vectors = [0, 1].map(|octet| {
                    let vector = octet * VECTOR + lane / 4;
                    let end = if vector < vectors.few { k.end } else { 0 };
                    load_elements(vectors.from, vector, at, end)
                });
                let columns = vectors::columns(vectors);
                for block in 0..BLOCKS {
                    let row = a.of_lane(block);
                    let vector = load_below(a.from.at(row, at), at, of_vectors);
                    let elements = load_elements(a.from, row, at, if at < of_vectors { 0 } else { k.end });
                    multiply::<I>(&mut acc[block], columns, core::array::from_fn(|i| vector[i] | elements[i]));
                }
            }
            first += WARPS * STEP_K;
        }
    }
}

/// A strip of A.
#[derive(Clone, Copy)]
pub(super) struct Rows {
    pub from: Strided<u16>,
    last: u32,
}

impl Rows {
    /// Whether it is loaded in vectors.
    #[inline(always)]
    fn is_aligned(&self) -> bool {
        vectors::has_vectors(&self.from, self.from.across)
    }

    /// A lane's row of a block. One that is not there is another, and not stored.
    #[inline(always)]
    pub fn of_lane(&self, block: usize) -> u32 {
        (warp::lane_id() / 4 + block as u32 * MMA_ROWS).min(self.last)
    }
}

/// acc += the products of a vector along k of eight rows and sixteen columns: of two MMAs.
///
/// # Safety
/// The whole warp is here.
#[inline(always)]
unsafe fn multiply<I: WarpMma>(acc: &mut [f32; 4], [first, second]: [[u32; 4]; 2], row: [u32; 4]) {
    // SAFETY: upheld by the caller (see `# Safety`).
    unsafe {
        I::mma(acc, first, [row[0], row[1]]);
        I::mma(acc, second, [row[2], row[3]]);
    }
}

/// A vector whose first element has that index, or zeros.
#[inline(always)]
unsafe fn load_below(source: *const u16, index: u32, end: u32) -> [u32; 4] {
    // SAFETY: upheld by the caller: in bounds and aligned, if it is loaded.
    unsafe { read_only::load_4_below(source.cast(), index, end).map(f32::to_bits) }
}

/// Eight elements along k, with zeros for what is not below `end`.
#[inline(always)]
unsafe fn load_elements(from: Strided<u16>, row: u32, first: u32, end: u32) -> [u32; 4] {
    let source = from.at(row, first);
    core::array::from_fn(|word| {
        let [low, high] = [2 * word as u32, 2 * word as u32 + 1].map(|further| {
            let source = source.wrapping_add(further as usize * from.along_k as usize);
            // SAFETY: in bounds, or not loaded, upheld by the caller.
            unsafe { read_only::load_16_below(source, first + further, end) }
        });
        low | high << 16
    })
}
