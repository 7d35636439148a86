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
use crate::{Coord, InnerSums, Operand};
use cuda_std::prelude::*;

/// A thread's rows, LANES_M apart.
const TM: usize = 8;
/// Adjacent values of a row of A that are loaded at once.
const PAIR: usize = 2;
/// Warps along n.
const WARPS_N: u32 = 4;
const _: () = assert!(CONSUMER_THREADS / WARP / WARPS_N * LANES_M * TM as u32 == BM, "the warps' rows");
const _: () = assert!(LANES_M * VEC == STAGE_K, "lanes have different rows for the swizzle");

impl<P: HiLo, const ACC: usize, const STAGES: u32> SplitMma<P, ACC, STAGES> {
    /// A thread's columns.
    const TN: usize = ACC / TM;

    /// The totals of a tile. Those of a thread are in shared memory meanwhile, as in the mainloop.
    ///
    /// # Safety
    /// All consumers call it, and the producers fill stages with as much of `k`; a thread's totals are its own.
    #[inline(always)]
    pub(super) unsafe fn sums_in_fp32(k: u32, ring: &mut Ring<1>, totals_smem: *mut f32) -> [f32; ACC] {
        let stages = k.div_ceil(STAGE_K);
        let mut left = stages;
        loop {
            let (mut inner, mut partial) = ([0.0; ACC], [0.0; ACC]);
            let steps = compiler::opaque(k).div_ceil(DEPTH); // what depends on it would stay in a register
            let now = left.min((InnerSums::OF_OTHERS.summands(steps) * DEPTH).div_ceil(STAGE_K));
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

    /// Adds the products of a stage: DEPTH of them to `partial`, which is first added to `inner`. The values of a pair of k are loaded where they
    /// are multiplied, while another warp multiplies: of more registers ptxas would have sums and values in the same banks.
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
        let mut k = 0;
        while k < STAGE_K {
            for is_first in [true, false] {
                let end = if is_first { k + PAIR as u32 } else { (k / DEPTH + 1) * DEPTH };
                while k < end {
                    // SAFETY: the thread's values of the stage, upheld by the caller.
                    let (a_frag, b_frag) = unsafe {
                        let (a, b) = (a_at(k), b_at(k));
                        let a_frag: [_; TM] =
                            core::array::from_fn(|i| f32x4::load_2(a.add(i * (LANES_M * STAGE_K) as usize)));
                        let row = |row: u32| [0, LANES_N * VEC].map(|j| f32x4::load(b.add((row + j) as usize)));
                        (a_frag, [row(0), row(Self::BN)])
                    };
                    compiler::keep_loads_above();
                    let columns = [0, 1].map(|d| a_frag.map(|pair| pair[d]));
                    Self::multiply(&columns[0], &b_frag[0], |i, a, b| {
                        if is_first {
                            inner[i] += partial[i];
                            partial[i] = a * b;
                        } else {
                            partial[i] = GpuFloat::mul_add(a, b, partial[i]);
                        }
                    });
                    Self::multiply(&columns[1], &b_frag[1], |i, a, b| partial[i] = GpuFloat::mul_add(a, b, partial[i]));
                    k = compiler::opaque(k + PAIR as u32); // or LLVM would unroll the loop
                }
            }
        }
    }

    /// Stores those of the tile's sums that are results.
    ///
    /// # Safety
    /// All consumers call it.
    #[inline(always)]
    pub(super) unsafe fn store_in_fp32(
        g: &Gemm,
        fusion: impl Fusion<f32>,
        tile: Coord,
        smem: *mut f32,
        sums: &[f32; ACC],
        is_result: impl Fn(Coord) -> bool,
    ) {
        let thread = Self::thread();
        let element = |i: u32| {
            let (row, col) = (i / Self::TN as u32, i % Self::TN as u32);
            let (row, col) = (row * LANES_M, col / VEC * VEC * LANES_N + col % VEC);
            Coord { row: tile.row + thread.row + row, col: tile.col + thread.col + col }
        };
        // SAFETY: upheld by the caller.
        unsafe { Self::store_some(g, fusion, smem, sums, element, |_, at, _| is_result(at)) }
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

    /// Has `add` add each product of a k, with the number of its sum.
    #[allow(clippy::needless_range_loop)] // an iterator would keep the values in memory
    #[inline(always)]
    fn multiply(a_frag: &[f32; TM], b_frag: &[[f32; VEC as usize]; 2], mut add: impl FnMut(usize, f32, f32)) {
        for i in 0..TM {
            for j in 0..Self::TN {
                let j = if i % 2 == 0 { j } else { Self::TN - 1 - j }; // consecutive FMAs share a value of A: a bank has fewer of their operands
                add(i * Self::TN + j, a_frag[i], b_frag[j / VEC as usize][j % VEC as usize]);
            }
        }
    }
}
