//! What a block computes.

use super::long::{Lines, Operand};
use super::vectors::Vectors;
use super::{BK, LINE_BYTES, Narrow, PAD, ROWS, STAGE_BYTES, THREADS, VECTOR, WARP_BYTES, WARPS};
use crate::Coord;
use crate::epilogue::direct::Output;
use crate::epilogue::fused::Fused;
use crate::epilogue::partial_tile::{PartialTile, Target};
use crate::gemm::Gemm;
use crate::hardware::VEC;
use crate::planned::{Planned, PlannedBlock};
use crate::ptx::mma::WarpMma;
use crate::ptx::{compiler, cp_async, f32x4, lanes, matrix};
use core::ops::Range;
use cuda_std::prelude::*;

/// Depth, and rows, of an MMA.
const DEPTH: u32 = 16;

/// MMAs above each other for a line of rows: the last half is of the vector behind.
const BLOCKS: usize = (ROWS / DEPTH + 1) as usize;
const LAST: usize = BLOCKS - 1;

/// Accumulators of a thread. Where k is contiguous, the warp has but DEPTH rows, and the first of these.
type Acc<const OCTETS: usize> = [[[f32; 4]; OCTETS]; BLOCKS];

impl<const BM: u32, const BN: u32, const OCTETS: usize, const STAGES: u32> Narrow<BM, BN, OCTETS, STAGES> {
    /// Whether A is the long operand.
    const HAS_LONG_A: bool = BM > BN;

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
        let tile = Coord { row: thread::block_idx_y() * BM, col: thread::block_idx_x() * BN };
        let operand = |matrix: *const f32, stride: u64, ld: usize, is_k_contiguous: bool, before: u32, rows: u32| {
            let matrix = matrix.cast::<u16>().wrapping_add((u64::from(block.problem) * stride) as usize);
            let start = matrix.wrapping_add(before as usize * if is_k_contiguous { ld } else { 1 });
            Operand { start, ld, is_k_contiguous, before, rows: rows - before }
        };
        let a = operand(g.a, planned.a_stride, g.lda, a_transposed == 0, tile.row, g.m);
        let b = operand(g.b, planned.b_stride, g.ldb, b_transposed != 0, tile.col, g.n);
        let (long, narrow) = if Self::HAS_LONG_A { (a, b) } else { (b, a) };
        // Where k is contiguous, k-tiles begin up to so many elements earlier.
        let more = if long.is_k_contiguous && !long.is_aligned() { VECTOR - 1 } else { 0 };
        let k_tiles = block.k_tiles((g.k + more).div_ceil(BK));
        let lines = Lines::new(long, lanes::warp_index(), k_tiles.start * BK, g.k);
        let vectors = Vectors { from: narrow, end: g.k };

        // SAFETY: every thread of the block is here, with this step's shared memory; the grid covers C.
        unsafe {
            // mainloop
            let mut acc = [[[0.0; 4]; OCTETS]; BLOCKS];
            Self::multiply::<I>(lines, vectors, k_tiles, &mut acc);

            // epilogue: its coordinates are computed anew, or they would be in registers throughout the mainloop
            Self::publish(long.is_k_contiguous, lines.shift, &acc);
            let block = PlannedBlock::new(compiler::opaque(planned.planes));
            let target = Target { g: &g, tile, offset: planned.offset_of_c(block), is_f32: planned.c_is_f32 };
            Self::partial_tile(0).reduce::<I>(block, target, fused);
        }
    }

    /// acc += the products of these k-tiles. While one is multiplied, those of the other stages are in flight.
    ///
    /// # Safety
    /// Every thread of the block calls it.
    #[inline(always)]
    unsafe fn multiply<I: WarpMma>(
        mut lines: Lines,
        vectors: Vectors<OCTETS>,
        k_tiles: Range<u32>,
        acc: &mut Acc<OCTETS>,
    ) {
        let warp = lanes::warp_index() * WARP_BYTES;
        let (mut copied, mut multiplied) = (warp, warp);
        let is_last = |stage: u32| stage >= (STAGES - 1) * STAGE_BYTES;
        let next = |stage: u32| if is_last(stage) { stage - (STAGES - 1) * STAGE_BYTES } else { stage + STAGE_BYTES };
        let buffer = |step: u32| STAGES * STAGE_BYTES + step % 2 * Self::NARROW_BYTES;
        let count = k_tiles.end - k_tiles.start;
        let mut k = k_tiles.start * BK;
        // SAFETY: upheld by the caller (see `# Safety`).
        let mut raw = unsafe { vectors.load(k, count > 0) }; // the narrow operand is in registers while a k-tile is multiplied
        let mut step = 0;
        while step < count + STAGES - 1 {
            let is_full = step >= STAGES - 1; // the prologue is over
            if is_full {
                cp_async::wait_for_stage::<STAGES>();
                thread::sync_threads(); // this k-tile is complete, and every warp has multiplied the one before
            }
            // SAFETY: the stage and the buffer are free; what is multiplied is complete.
            unsafe {
                // global to shared
                if step < count {
                    lines.copy(copied);
                    copied = next(copied);
                }
                cp_async::commit_group();

                if is_full {
                    if lines.is_k_contiguous {
                        Self::multiply_rows::<I>(multiplied, buffer(step + 1), lines.shift, &mut acc[0]);
                    } else {
                        Self::multiply_columns::<I>(multiplied, buffer(step + 1), lines.shift, acc);
                    }
                    multiplied = next(multiplied);
                }
                let next_k_tile = step + 2; // beyond STAGES
                if (next_k_tile >= STAGES) & (next_k_tile < STAGES + count) {
                    vectors.store(buffer(step), lines.is_k_contiguous, raw);
                    k += BK;
                    raw = vectors.load(k, next_k_tile + 1 < STAGES + count);
                }
            }
            step = compiler::opaque(step + 1); // or LLVM would unroll the loop
        }
        cp_async::wait_group::<0>();
        thread::sync_threads(); // every warp has read the stages: partial tiles may be stored there
    }

    /// The fragment of eight vectors for an MMA, of the [`DEPTH`] places from `place` on.
    ///
    /// # Safety
    /// The whole warp calls it; the buffer at that byte of shared memory is complete.
    #[inline(always)]
    unsafe fn b_frag(buffer: u32, place: u32, octet: usize) -> [u32; 2] {
        // SAFETY: upheld by the caller (see `# Safety`).
        unsafe {
            let smem = shared::address(shared::dynamic_shared_mem::<u8>());
            let byte = Vectors::<OCTETS>::octet(place + warp::lane_id() % DEPTH, octet as u32);
            matrix::load_2_transposed(smem + buffer + byte)
        }
    }

    /// acc += the products of the warp's rows, whose k is contiguous, in those bytes of shared memory.
    ///
    /// # Safety
    /// The whole warp calls it; stage and buffer are complete.
    #[allow(clippy::needless_range_loop)] // an iterator would keep the accumulators in memory
    #[inline(always)]
    unsafe fn multiply_rows<I: WarpMma>(stage: u32, buffer: u32, shift: u32, acc: &mut [[f32; 4]; OCTETS]) {
        let lane = compiler::opaque(warp::lane_id());
        // SAFETY: upheld by the caller (see `# Safety`).
        unsafe {
            let smem = shared::address(shared::dynamic_shared_mem::<u8>());
            let from = smem + stage + lane % DEPTH * LINE_BYTES + lane / DEPTH * 16;
            for i in 0..BK / DEPTH {
                let a_frag = matrix::load_4::<false>(from + i * DEPTH * 2);
                for octet in 0..OCTETS {
                    I::mma(&mut acc[octet], a_frag, Self::b_frag(buffer, i * DEPTH + VECTOR - shift, octet));
                }
            }
        }
    }

    /// The same of the warp's k, whose rows are contiguous.
    ///
    /// # Safety
    /// As of [`multiply_rows`](Self::multiply_rows).
    #[allow(clippy::needless_range_loop)] // as of `multiply_rows`
    #[inline(always)]
    unsafe fn multiply_columns<I: WarpMma>(stage: u32, buffer: u32, shift: u32, acc: &mut Acc<OCTETS>) {
        let lane = compiler::opaque(warp::lane_id());
        // SAFETY: upheld by the caller (see `# Safety`).
        unsafe {
            let smem = shared::address(shared::dynamic_shared_mem::<u8>());
            let from = smem + stage + (lane % 8 + lane / DEPTH * 8) * LINE_BYTES + lane / 8 % 2 * 16;
            let mut b_frag = [[0; 2]; OCTETS];
            for (octet, b_frag) in b_frag.iter_mut().enumerate() {
                *b_frag = Self::b_frag(buffer, lanes::warp_index() * DEPTH, octet);
            }
            for i in 0..LAST {
                let a_frag = matrix::load_4::<true>(from + i as u32 * DEPTH * 2);
                for octet in 0..OCTETS {
                    I::mma(&mut acc[i][octet], a_frag, b_frag[octet]);
                }
            }
            if shift > 0 {
                let from = smem + stage + lane % DEPTH * LINE_BYTES + ROWS * 2;
                let [low, high] = matrix::load_2_transposed(from);
                for octet in 0..OCTETS {
                    I::mma(&mut acc[LAST][octet], [low, 0, high, 0], b_frag[octet]);
                }
            }
        }
    }

    /// Publishes the block's partial tile: where k is not contiguous, the sum of all warps'.
    ///
    /// # Safety
    /// Every thread of the block calls it, and none reads the stages any more.
    #[allow(clippy::needless_range_loop)] // as of `multiply_rows`
    #[inline(always)]
    unsafe fn publish(is_k_contiguous: bool, shift: u32, acc: &Acc<OCTETS>) {
        let (warp, lane) = (lanes::warp_index(), warp::lane_id());
        let (row, vector) = (lane / 4, lane % 4 * 2); // of the first accumulator
        let at = |row: u32, vector: u32| (row * Self::ROW_WORDS + vector * Self::VECTOR_WORDS) as usize;
        // SAFETY: of the partial tiles; nobody else stores these.
        unsafe {
            if is_k_contiguous {
                let target = Self::words(0).wrapping_add(at(warp + row * WARPS, vector));
                for octet in 0..OCTETS {
                    for i in 0..4 {
                        let (row, vector) = (i as u32 / 2 * 8 * WARPS, octet as u32 * VECTOR + i as u32 % 2);
                        *target.wrapping_add(at(row, vector)) = acc[0][octet][i];
                    }
                }
                return; // every row is of one warp
            }
            let target = Self::words(warp).wrapping_add(at(row, vector)).wrapping_sub(at(shift, 0));
            for block in 0..BLOCKS {
                for half in 0..2 {
                    let is_of_tile = match (block, half) {
                        (0, 0) => row >= shift,
                        (LAST, 0) => row < shift,
                        (LAST, _) => false,
                        _ => true,
                    };
                    if is_of_tile {
                        for octet in 0..OCTETS {
                            for i in 0..2 {
                                let (row, vector) = (block as u32 * DEPTH + half * 8, octet as u32 * VECTOR + i as u32);
                                *target.wrapping_add(at(row, vector)) = acc[block][octet][half as usize * 2 + i];
                            }
                        }
                    }
                }
            }
            thread::sync_threads(); // every warp's partial tile is complete
            let mut element = thread::thread_idx_x() * VEC;
            while element < BM * BN {
                let at = Coord { row: element / BN, col: element % BN };
                let mut sum = f32x4::load(Self::partial_tile(0).at(at));
                for warp in 1..WARPS {
                    let other = f32x4::load(Self::partial_tile(warp).at(at));
                    sum = core::array::from_fn(|v| sum[v] + other[v]);
                }
                f32x4::store(Self::partial_tile(0).at(at), sum);
                element = compiler::opaque(element + THREADS * VEC); // or LLVM would unroll the loop
            }
        }
    }

    /// Words of a partial tile from a row of the long operand to the next, and from a vector to the next.
    const ROW_WORDS: u32 = if Self::HAS_LONG_A { PartialTile::<BM, BN, PAD>::PITCH } else { 1 };
    const VECTOR_WORDS: u32 = if Self::HAS_LONG_A { 1 } else { PartialTile::<BM, BN, PAD>::PITCH };

    /// The block's partial tile, or that of one of its warps, where the stages were.
    #[inline(always)]
    fn partial_tile(index: u32) -> PartialTile<BM, BN, PAD> {
        PartialTile::new(Self::words(index))
    }

    /// Its first word.
    #[inline(always)]
    fn words(index: u32) -> *mut f32 {
        let words = index * BM * PartialTile::<BM, BN, PAD>::PITCH;
        shared::dynamic_shared_mem::<f32>().wrapping_add(words as usize)
    }
}
