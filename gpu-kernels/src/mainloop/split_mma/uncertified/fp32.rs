//! In fp32 on the CUDA cores: what no split is certified for.

use super::thread_index;
use super::values::place_of_a;
use crate::epilogue::fusion::Fusion;
use crate::gemm::Gemm;
use crate::hardware::{VEC, WARP};
use crate::mainloop::split_mma::consumer::{add, add_totals, store_totals};
use crate::mainloop::split_mma::{BM, DEPTH, STAGE_K, SplitMma};
use crate::mainloop::warp_specialized::{CONSUMER_THREADS, Ring, Stage};
use crate::mainloop::{LANES_M, LANES_N, warp_tile};
use crate::prepass::split::hi_lo::HiLo;
use crate::ptx::{compiler, f32x4};
use crate::{Ab, Computed, Coord, InnerSums, Operand};
use core::ops::Range;
use cuda_std::prelude::*;

/// A thread's rows, LANES_M apart.
const TM: usize = 8;
/// Adjacent values of a row of A that are loaded at once.
const PAIR: usize = 2;
/// Warps along n.
const WARPS_N: u32 = 4;
const _: () = assert!(CONSUMER_THREADS / WARP / WARPS_N * LANES_M * TM as u32 == BM, "the warps' rows");
const _: () = assert!(LANES_M * VEC == STAGE_K, "lanes have different rows for the swizzle");

impl<P: HiLo, const ACC: usize, const CLUSTER: u32, const STAGES: u32> SplitMma<P, ACC, CLUSTER, STAGES> {
    /// A thread's columns.
    const TN: usize = ACC / TM;

    /// The totals of a tile. Those of a thread are in shared memory meanwhile, as in the mainloop.
    ///
    /// # Safety
    /// All consumers call it, and the producers fill stages with as much of `k`; a thread's totals are its own.
    #[inline(always)]
    pub(super) unsafe fn sums_in_fp32(k: u32, ring: &mut Ring<CLUSTER>, totals_smem: *mut f32) -> [f32; ACC] {
        let stages = k.div_ceil(STAGE_K);
        let of_inner = (InnerSums::OF_OTHERS.summands(k.div_ceil(DEPTH)) * DEPTH).div_ceil(STAGE_K);
        let mut left = stages;
        loop {
            let (mut inner, mut partial) = ([0.0; ACC], [0.0; ACC]);
            let now = left.min(of_inner);
            // SAFETY: a stage is full when it is read; the thread's own totals.
            unsafe {
                for _ in 0..now {
                    let stage = ring.consumer_wait();
                    Self::multiply_stage(stage, &mut inner, &mut partial);
                    ring.consumer_release(stage);
                }
                add(&mut inner, &partial);
                if left < stages {
                    add_totals(totals_smem, &mut inner);
                }
                left -= now;
                if left == 0 {
                    return inner;
                }
                store_totals(totals_smem, &inner);
            }
        }
    }

    /// Adds the products of a stage: DEPTH of them to `partial`, which is first added to `inner`. What is multiplied next is loaded before.
    ///
    /// # Safety
    /// The stage is full.
    #[inline(always)]
    unsafe fn multiply_stage(stage: Stage, inner: &mut [f32; ACC], partial: &mut [f32; ACC]) {
        const { assert!(WARPS_N * LANES_N * Self::TN as u32 == Self::BN, "the warps' columns") };
        let thread = Self::thread();
        let a_smem = Self::values(stage, Operand::A);
        let b_smem = Self::values(stage, Operand::B).wrapping_add(thread.col as usize);
        let a_at = |k: u32| a_smem.wrapping_add(place_of_a(thread.row, k) as usize);
        let b_at = |k: u32| b_smem.wrapping_add((k * Self::BN) as usize);
        // SAFETY: the thread's values of the stage, upheld by the caller.
        let load_a = |a_frag: &mut [[f32; PAIR]; TM], rows: Range<usize>, pairs: *const f32| unsafe {
            for i in rows {
                a_frag[i] = f32x4::load_2(pairs.add(i * (LANES_M * STAGE_K) as usize));
            }
        };
        // SAFETY: as above.
        let load_b = |b: *const f32| unsafe { [0, LANES_N * VEC].map(|j| f32x4::load(b.add(j as usize))) };
        let (mut a, mut b) = (a_at(0), b_at(0));
        let mut a_frag = [[[0.0; PAIR]; TM]; 2];
        load_a(&mut a_frag[0], 0..TM, a);
        let mut b_frag = load_b(b);
        let mut k = 0;
        while k < STAGE_K {
            let next = (k + VEC) % STAGE_K;
            let (a_next, b_next) = (a_at(next), b_at(next));
            for d in 0..VEC as usize {
                // Half of the pairs that follow, so that loads are evenly spread: all warps are at the same place.
                let (pair, half) = (d / PAIR, d % PAIR);
                let rows = half * TM / PAIR..(half + 1) * TM / PAIR;
                load_a(&mut a_frag[1 - pair], rows, if pair == 0 { a.wrapping_add(PAIR) } else { a_next });
                let follows = if d + 1 < VEC as usize { b.wrapping_add((d + 1) * Self::BN as usize) } else { b_next };
                let b_follows = load_b(follows);
                compiler::keep_loads_above();
                let column = a_frag[pair].map(|pair| pair[half]);
                if d == 0 && k.is_multiple_of(DEPTH) {
                    add(inner, partial);
                    Self::multiply(&column, &b_frag, partial, |a, b, _| a * b);
                } else {
                    Self::multiply(&column, &b_frag, partial, GpuFloat::mul_add);
                }
                b_frag = b_follows;
            }
            (a, b) = (a_next, b_next);
            k = compiler::opaque(k + VEC); // or LLVM would unroll the loop
        }
    }

    /// Stores what has no certificate of the tile at `tile`.
    ///
    /// # Safety
    /// All consumers call it, and k > 0.
    #[inline(always)]
    pub(super) unsafe fn store_in_fp32(
        g: &Gemm,
        fusion: impl Fusion<f32>,
        tile: Coord,
        words: Ab<*const i32>,
        smem: *mut f32,
        totals: &[f32; ACC],
    ) {
        let thread = Self::thread();
        // SAFETY: upheld by the caller.
        unsafe {
            Self::store_some(g, fusion, words, Computed::InFp32, smem, totals, |i| {
                let (row, col) = (i / Self::TN as u32, i % Self::TN as u32);
                let (row, col) = (row * LANES_M, col / VEC * VEC * LANES_N + col % VEC);
                Coord { row: tile.row + thread.row + row, col: tile.col + thread.col + col }
            });
        }
    }

    /// The first of this thread's elements of a tile. Its columns are adjacent by VEC.
    #[inline(always)]
    fn thread() -> Coord {
        let (warp, lane) = (thread_index() / WARP, warp_tile::lane_in_quads(thread_index() % WARP));
        Coord {
            row: warp / WARPS_N * LANES_M * TM as u32 + lane.row,
            col: warp % WARPS_N * LANES_N * Self::TN as u32 + lane.col * VEC,
        }
    }

    /// Makes partial sums of those before and of products of a k.
    #[allow(clippy::needless_range_loop)] // an iterator would keep the values in memory
    #[inline(always)]
    fn multiply(
        a_frag: &[f32; TM],
        b_frag: &[[f32; VEC as usize]; 2],
        partial: &mut [f32; ACC],
        sum: impl Fn(f32, f32, f32) -> f32,
    ) {
        for i in 0..TM {
            for j in 0..Self::TN {
                let j = if i % 2 == 0 { j } else { Self::TN - 1 - j }; // consecutive FMAs share a value of A: a bank has fewer of their operands
                let at = i * Self::TN + j;
                partial[at] = sum(a_frag[i], b_frag[j / VEC as usize][j % VEC as usize], partial[at]);
            }
        }
    }
}
