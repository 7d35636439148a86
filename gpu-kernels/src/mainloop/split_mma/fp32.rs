//! Elements that are not certified, in fp32 on the CUDA cores: a tile of all consumers, in three-level summation.
//!
//! ```text
//!   cp.async ──► a_smem (DEPTH, A_PITCH), transposed ┐  two stages, where      fragments ──► sums of BK ──► of some of these ──► totals
//!   cp.async ──► b_smem (DEPTH, BN)                  ┘  totals were
//! ```

use super::consumer::{add, inner_k_tiles};
use super::{BM, SplitMma};
use crate::epilogue::fusion::Fusion;
use crate::gemm::Gemm;
use crate::hardware::{VEC, WARP, WARPGROUP};
use crate::mainloop::warp_specialized::CONSUMER_THREADS;
use crate::mainloop::{LANES_M, LANES_N, warp_tile};
use crate::prepass::split::hi_lo::HiLo;
use crate::ptx::{barrier, compiler, cp_async};
use crate::{Ab, Coord};
use cuda_std::prelude::*;

/// The consumers' barrier. Barrier 0 is the block's, and the next two are the mainloop's.
const CONSUMERS: u32 = 3;
/// Of a stage, along k.
const DEPTH: u32 = 16;
/// Of these, so many are one piece of code.
const UNROLLED: u32 = 4;
/// Elements from one k of A to the next: a warp copies 8 k of 4 rows at once, to 32 banks.
const A_PITCH: u32 = BM + VEC;
const A_COLS: u32 = 8;
/// A thread's elements.
const TM: usize = 8;
/// Warps along n.
const WARPS_N: u32 = 4;
const _: () = assert!(CONSUMER_THREADS / WARP / WARPS_N * LANES_M * TM as u32 == BM, "the warps' rows");

impl<P: HiLo, const ACC: usize, const CLUSTER: u32, const STAGES: u32> SplitMma<P, ACC, CLUSTER, STAGES> {
    /// A thread's columns.
    const TN: usize = ACC / TM;
    const STAGE_WORDS: u32 = DEPTH * (A_PITCH + Self::BN);

    /// Computes and stores what is not certified of the tile at `tile`, with stages in that shared memory.
    ///
    /// # Safety
    /// All consumers call it, and k > 0.
    #[inline(always)]
    pub(super) unsafe fn in_fp32(
        g: &Gemm,
        fusion: impl Fusion<f32>,
        tile: Coord,
        words: Ab<*const i32>,
        stages: *mut f32,
    ) {
        const {
            assert!(WARPS_N * LANES_N * Self::TN as u32 == Self::BN, "the warps' columns");
            assert!(2 * Self::STAGE_WORDS * 4 <= Self::TOTALS_BYTES, "room for two stages");
            assert!(Self::BK.is_multiple_of(DEPTH), "whole stages are added up");
        }
        let steps = g.k.div_ceil(DEPTH);
        // Steps of a sum of the first level, and of the second.
        let first_level = compiler::opaque(Self::BK / DEPTH);
        let second_level = first_level * inner_k_tiles(g.k.div_ceil(Self::BK));
        let mut totals = [0.0; ACC];
        // SAFETY: consumers alone are here; they copy to a stage that all have read, and read one that all have copied to.
        unsafe {
            barrier::sync(CONSUMERS, CONSUMER_THREADS); // totals are read
            Self::copy(g, tile, 0, stages);
            let mut step = 0;
            while step < steps {
                let mut inner = [0.0; ACC];
                let end_of_inner = steps.min(step + second_level);
                while step < end_of_inner {
                    let mut partial = [0.0; ACC];
                    let end_of_partial = end_of_inner.min(step + first_level);
                    while step < end_of_partial {
                        cp_async::wait_group::<0>();
                        barrier::sync(CONSUMERS, CONSUMER_THREADS); // the stage is written, and the other one read
                        let at = |step: u32| stages.wrapping_add((step % 2 * Self::STAGE_WORDS) as usize);
                        if step + 1 < steps {
                            Self::copy(g, tile, step + 1, at(step + 1));
                        }
                        let thread = Self::thread();
                        let a_smem = at(step).add(thread.row as usize).cast_const(); // (DEPTH, A_PITCH)
                        let b_smem = at(step).add((DEPTH * A_PITCH + thread.col) as usize).cast_const(); // (DEPTH, BN)
                        let mut d = 0;
                        while d < DEPTH {
                            let (a, b) = ((d * A_PITCH) as usize, (d * Self::BN) as usize);
                            Self::multiply(a_smem.add(a), b_smem.add(b), &mut partial);
                            d = compiler::opaque(d + UNROLLED); // or LLVM would unroll the loop
                        }
                        step += 1;
                    }
                    add(&mut inner, &partial);
                }
                add(&mut totals, &inner);
            }
            barrier::sync(CONSUMERS, CONSUMER_THREADS); // the last stage is read
            let thread = Self::thread();
            let at = |i: u32| warp_tile::element(thread, false, i / Self::TN as u32, i % Self::TN as u32 / VEC * VEC);
            Self::store_some(g, fusion, words, false, stages, &totals, |i| {
                let Coord { row, col } = at(i);
                Coord { row: tile.row + row, col: tile.col + col + i % VEC }
            });
        }
    }

    /// The first of this thread's elements of a tile.
    #[inline(always)]
    fn thread() -> Coord {
        let (warp, lane) = (thread_index() / WARP, thread_index() % WARP);
        Coord {
            row: warp / WARPS_N * LANES_M * TM as u32 + lane % LANES_M * VEC,
            col: warp % WARPS_N * LANES_N * Self::TN as u32 + lane / LANES_M * VEC,
        }
    }

    /// Adds the products of UNROLLED k.
    ///
    /// # Safety
    /// They are the thread's, in a stage.
    #[allow(clippy::needless_range_loop)] // an iterator would keep the values in memory
    #[inline(always)]
    unsafe fn multiply(a_smem: *const f32, b_smem: *const f32, partial: &mut [f32; ACC]) {
        for d in 0..UNROLLED as usize {
            // SAFETY: in the stage, upheld by the caller.
            let a_frag: [f32; TM] = unsafe { warp_tile::fragment(a_smem.add(d * A_PITCH as usize), LANES_M) };
            for j in (0..Self::TN).step_by(VEC as usize) {
                let b_smem = b_smem.wrapping_add(d * Self::BN as usize + j * LANES_N as usize);
                // SAFETY: as above.
                let b_frag: [f32; VEC as usize] = unsafe { warp_tile::fragment(b_smem, LANES_N) };
                for v in 0..VEC as usize {
                    for i in 0..TM {
                        let at = i * Self::TN + j + v;
                        partial[at] = a_frag[i].mul_add(b_frag[v], partial[at]);
                    }
                }
            }
        }
    }

    /// Issues this thread's copies of a stage; zeros replace what is out of bounds.
    #[inline(always)]
    unsafe fn copy(g: &Gemm, tile: Coord, step: u32, stage: *mut f32) {
        let (p, tid) = (step * DEPTH, thread_index());
        // SAFETY: the targets are in the stage, which nobody reads; the sources are read only if they are in bounds.
        unsafe {
            let stage = shared::address(stage);
            let (row, d) = (tid / A_COLS, tid % A_COLS);
            let mut i = 0;
            while i < BM {
                for d in [d, d + A_COLS] {
                    let (row, p) = (row + i, p + d);
                    let is_inside = (tile.row + row < g.m) & (p < g.k);
                    cp_async::copy_or_zero::<1>(stage + (d * A_PITCH + row) * 4, g.a(tile.row + row, p), is_inside);
                }
                i = compiler::opaque(i + CONSUMER_THREADS / A_COLS); // or LLVM would unroll the loop: sums take all registers
            }
            let (d, col) = (tid / WARP, tid % WARP);
            let mut j = 0;
            while j < Self::BN {
                for d in [d, d + CONSUMER_THREADS / WARP] {
                    let (col, p) = (col + j, p + d);
                    let is_inside = (tile.col + col < g.n) & (p < g.k);
                    let target = stage + (DEPTH * A_PITCH + d * Self::BN + col) * 4;
                    cp_async::copy_or_zero::<1>(target, g.b(p, tile.col + col), is_inside);
                }
                j = compiler::opaque(j + WARP);
            }
        }
        cp_async::commit_group();
    }
}

/// This thread's index among the consumers. What depends on it is computed where it is needed: sums take all registers.
#[inline(always)]
fn thread_index() -> u32 {
    compiler::opaque(thread::thread_idx_x()) - WARPGROUP
}
