//! What a block computes.

use super::copies::Copies;
use super::fragments::{DEPTH, Fragments};
use super::lines::{Lines, Operand};
use super::{BK, FRAGMENT, PAD, SquareTile, WARP_ROWS, WARPS_ACROSS};
use crate::Coord;
use crate::epilogue::fused::Fused;
use crate::epilogue::partial_tile::{PartialTile, Target};
use crate::gemm::Gemm;
use crate::planned::{Planned, PlannedBlock};
use crate::ptx::mma;
use crate::ptx::{compiler, cp_async, lanes};
use cuda_std::prelude::*;

/// Fragments of the wide operand, and octets of a fragment of the narrow one.
const WIDE: usize = (WARP_ROWS / FRAGMENT) as usize;
const OCTETS: usize = (FRAGMENT / 8) as usize;

/// Accumulators of a thread.
type Acc<const FRAGMENTS: usize> = [[[[f32; 4]; OCTETS]; WIDE]; FRAGMENTS];

impl<const SIDE: u32, const FRAGMENTS: usize, const STAGES: u32> SquareTile<SIDE, FRAGMENTS, STAGES> {
    /// # Safety
    /// As of the kernels.
    #[inline(always)]
    pub unsafe fn any_layout(g: Gemm, fused: Fused<f32>, a_transposed: u32, b_transposed: u32, planned: Planned) {
        // tile coordinates
        let block = planned.begin();
        let tile = Coord { row: thread::block_idx_y() * SIDE, col: thread::block_idx_x() * SIDE };
        let k_tiles = block.k_tiles(g.k.div_ceil(BK));
        let k = k_tiles.start * BK;
        let rows = [(g.m - tile.row).min(SIDE), (g.n - tile.col).min(SIDE)];
        let is_wide = rows[0] >= rows[1]; // A

        let operand = |matrix: *const f32, stride: u64, ld: usize, is_k_contiguous: bool, before: u32, rows: u32| {
            let first = matrix.wrapping_add((u64::from(block.problem) * stride) as usize);
            let start = first.wrapping_add(before as usize * if is_k_contiguous { ld } else { 1 });
            Operand { first, start, ld, is_k_contiguous, rows }
        };
        let a = operand(g.a, planned.a_stride, g.lda, a_transposed == 0, tile.row, rows[0]);
        let b = operand(g.b, planned.b_stride, g.ldb, b_transposed != 0, tile.col, rows[1]);
        let operands = if is_wide { [a, b] } else { [b, a] };

        // SAFETY: every thread of the block is here, with this step's shared memory; the grid covers C.
        unsafe {
            // mainloop
            let mut acc = [[[[0.0; 4]; OCTETS]; WIDE]; FRAGMENTS];
            Self::multiply(operands, k, g.k.saturating_sub(k), k_tiles.end - k_tiles.start, &mut acc);

            // epilogue: its coordinates are computed anew, or they would be in registers throughout the mainloop
            let partial = PartialTile::<SIDE, SIDE, PAD>::new(shared::dynamic_shared_mem());
            Self::publish(partial, compiler::opaque(is_wide.into()) != 0, &acc);
            let block = PlannedBlock::new(compiler::opaque(planned.planes));
            let target = Target { g: &g, tile, offset: planned.offset_of_c(block), is_f32: true };
            partial.reduce::<f32>(block, target, fused);
        }
    }

    /// acc += the products of so many k-tiles, the first of which begins at `k`; so much of k is left from there. While one is multiplied,
    /// those of the other stages are in flight.
    ///
    /// # Safety
    /// Every thread of the block calls it.
    #[inline(always)]
    unsafe fn multiply([wide, narrow]: [Operand; 2], k: u32, mut left: u32, k_tiles: u32, acc: &mut Acc<FRAGMENTS>) {
        // SAFETY: the stages begin there.
        let stages = unsafe { shared::address(shared::dynamic_shared_mem::<u8>()) };
        let (wide_row, narrow_row) = Self::warp_rows(lanes::warp_index());
        let fragments = (Fragments::new(wide_row, Lines::new(&wide)), Fragments::new(narrow_row, Lines::new(&narrow)));
        // This warp's fragments of the narrow operand.
        let count = match wide_row < wide.rows {
            true => narrow.rows.saturating_sub(narrow_row).div_ceil(WARPS_ACROSS * FRAGMENT),
            false => 0,
        };
        let mut wide_copies = Copies::<SIDE, FRAGMENTS, STAGES>::new(wide, k, 0);
        let mut narrow_copies = Copies::<SIDE, FRAGMENTS, STAGES>::new(narrow, k, Self::OPERAND_BYTES);
        let mut left_to_copy = left;
        let (mut copied, mut multiplied) = (0, 0);
        let mut step = 0;
        while step < k_tiles + STAGES - 1 {
            let is_full = step >= STAGES - 1; // the prologue is over
            if is_full {
                cp_async::wait_for_stage::<STAGES>();
                thread::sync_threads(); // this k-tile is complete, and every warp has multiplied the one before
            }

            // global to shared
            if step < k_tiles {
                // SAFETY: the stage is free.
                unsafe {
                    wide_copies.issue(left_to_copy, stages + copied);
                    narrow_copies.issue(left_to_copy, stages + copied);
                }
                copied = Self::next(copied);
                left_to_copy = left_to_copy.saturating_sub(BK);
            }
            cp_async::commit_group();

            if is_full {
                if count > 0 {
                    // SAFETY: the stage is complete.
                    unsafe { Self::multiply_k_tile(multiplied, fragments, left, count, acc) }
                }
                multiplied = Self::next(multiplied);
                left = left.saturating_sub(BK);
            }
            step = compiler::opaque(step + 1); // or LLVM would unroll the loop
        }
        cp_async::wait_group::<0>();
        thread::sync_threads(); // every warp has read the stages: the partial tile may be stored there
    }

    /// acc += the products of the k-tile at that byte of shared memory; so much of k is left from its first on.
    ///
    /// # Safety
    /// The whole warp calls it; the stage is complete.
    #[allow(clippy::needless_range_loop)] // an iterator would keep the accumulators in memory
    #[inline(always)]
    unsafe fn multiply_k_tile(
        stage: u32,
        (wide, narrow): (Fragments<true, SIDE, FRAGMENTS, STAGES>, Fragments<false, SIDE, FRAGMENTS, STAGES>),
        left: u32,
        count: u32,
        acc: &mut Acc<FRAGMENTS>,
    ) {
        let depth = left.min(BK);
        let (mut wide_frag, mut narrow_frag) = ([[0; 4]; WIDE], [[0; 4]; FRAGMENTS]);
        let mut k = 0;
        while k < depth {
            // SAFETY: upheld by the caller (see `# Safety`).
            unsafe {
                let narrow_stage = stage + Self::OPERAND_BYTES;
                wide.load::<WIDE, FRAGMENT>(stage, k, WIDE as u32, &mut wide_frag);
                narrow.load::<FRAGMENTS, { WARPS_ACROSS * FRAGMENT }>(narrow_stage, k, count, &mut narrow_frag);
                for j in 0..FRAGMENTS {
                    if (j as u32) < count {
                        for i in 0..WIDE {
                            for octet in 0..OCTETS {
                                let b_frag = [narrow_frag[j][octet * 2], narrow_frag[j][octet * 2 + 1]];
                                mma::tf32(&mut acc[j][i][octet], wide_frag[i], b_frag);
                            }
                        }
                    }
                }
            }
            k = compiler::opaque(k + DEPTH); // or LLVM would unroll the loop
        }
    }

    /// The byte of the stage after that one.
    #[inline(always)]
    fn next(stage: u32) -> u32 {
        if stage == (STAGES - 1) * Self::STAGE_BYTES { 0 } else { stage + Self::STAGE_BYTES }
    }

    /// A warp's first row of the wide operand, and of the narrow one.
    #[inline(always)]
    fn warp_rows(warp: u32) -> (u32, u32) {
        (warp / WARPS_ACROSS * WARP_ROWS, warp % WARPS_ACROSS * FRAGMENT)
    }

    /// Publishes the accumulators.
    ///
    /// # Safety
    /// Every thread of the block calls it, and none reads the stages any more.
    #[allow(clippy::needless_range_loop)] // as of `multiply_k_tile`
    #[inline(always)]
    unsafe fn publish(tile: PartialTile<SIDE, SIDE, PAD>, is_a_wide: bool, acc: &Acc<FRAGMENTS>) {
        let pitch = PartialTile::<SIDE, SIDE, PAD>::PITCH;
        let (wide_step, narrow_step) = if is_a_wide { (pitch, 1) } else { (1, pitch) };
        let (lane, (wide, narrow)) = (warp::lane_id(), Self::warp_rows(lanes::warp_index()));
        // Of two accumulators, half of the lanes store the second one first, or two lanes would store to each bank.
        let is_turned = if is_a_wide { lane / 16 } else { lane / 2 % 2 };
        let first = (wide + lane / 4) * wide_step + (narrow + lane % 4 * 2) * narrow_step;
        let mut target = tile.at(Coord { row: 0, col: 0 }).wrapping_add(first as usize);
        let next = |target: *mut f32, steps: u32, step: u32| target.wrapping_add((steps * step) as usize);
        for j in 0..FRAGMENTS {
            for i in 0..WIDE {
                for octet in 0..OCTETS {
                    let at = next(next(target, i as u32 * FRAGMENT, wide_step), octet as u32 * 8, narrow_step);
                    for half in 0..2 {
                        let at = next(at, half as u32 * 8, wide_step);
                        let [one, other] = [acc[j][i][octet][half * 2], acc[j][i][octet][half * 2 + 1]];
                        let (one, other) = if is_turned > 0 { (other, one) } else { (one, other) };
                        // SAFETY: inside the tile, and nobody else stores these.
                        unsafe {
                            *next(at, is_turned, narrow_step) = one;
                            *next(at, 1 - is_turned, narrow_step) = other;
                        }
                    }
                }
            }
            target = next(target, WARPS_ACROSS * FRAGMENT, narrow_step);
        }
    }
}
