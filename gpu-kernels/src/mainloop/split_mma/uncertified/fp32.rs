//! In fp32 on the CUDA cores: what no split is certified for.

use super::thread_index;
use crate::epilogue::fusion::Fusion;
use crate::gemm::Gemm;
use crate::hardware::{SECTOR_BYTES, VEC, WARP};
use crate::mainloop::split_mma::{A_STRIDE, BM, DEPTH, SplitMma};
use crate::mainloop::warp_specialized::CONSUMER_THREADS;
use crate::mainloop::{LANES_M, LANES_N, warp_tile};
use crate::prepass::split::hi_lo::HiLo;
use crate::ptx::{compiler, cp_async};
use crate::{Ab, Computed, Coord};
use cuda_std::prelude::*;

/// A thread's elements.
const TM: usize = 8;
/// Warps along n.
const WARPS_N: u32 = 4;
/// Along k, without a branch.
const UNROLLED: u32 = 2;
/// Adjacent values of a row of A that adjacent threads copy: a sector.
const SECTOR: u32 = SECTOR_BYTES / 4;
const _: () = assert!(CONSUMER_THREADS / WARP * 2 == DEPTH, "two rows of B in a stage are a warp's");
const _: () = assert!(CONSUMER_THREADS / WARP / WARPS_N * LANES_M * TM as u32 == BM, "the warps' rows");

impl<P: HiLo, const ACC: usize, const CLUSTER: u32, const STAGES: u32> SplitMma<P, ACC, CLUSTER, STAGES> {
    /// A thread's columns.
    const TN: usize = ACC / TM;

    /// Issues this thread's copies of a stage, in which A is transposed; zeros replace what is beyond k or n, and the last row what is beyond
    /// m.
    ///
    /// # Safety
    /// All consumers call it, and nobody reads the stage.
    #[inline(always)]
    pub(super) unsafe fn copy(g: &Gemm, tile: Coord, step: u32, stage: *mut f32) {
        let tid = thread_index();
        // SAFETY: the targets are in the stage; the sources are read only if they are in bounds.
        unsafe {
            let stage = shared::address(stage);
            let (row, d) = (tid / SECTOR, tid % SECTOR);
            let p = step * DEPTH + d;
            for row in
                (row..).step_by((CONSUMER_THREADS / SECTOR) as usize).take((BM * SECTOR / CONSUMER_THREADS) as usize)
            {
                let source = g.a((tile.row + row).min(g.m - 1), p);
                for i in (0..DEPTH).step_by(SECTOR as usize) {
                    let target = stage + ((d + i) * A_STRIDE + row) * 4;
                    cp_async::copy_below(target, source.wrapping_add(i as usize), p + i, g.k);
                }
            }
            let (col, d) = (tid % WARP, tid / WARP);
            let columns_left = g.n.saturating_sub(tile.col + col);
            for d in [d, d + CONSUMER_THREADS / WARP] {
                let p = step * DEPTH + d;
                let end = if p < g.k { columns_left } else { 0 };
                let source = g.b(p, tile.col + col);
                for i in (0..Self::BN).step_by(WARP as usize) {
                    let target = stage + (DEPTH * A_STRIDE + d * Self::BN + col + i) * 4;
                    cp_async::copy_below(target, source.wrapping_add(i as usize), i, end);
                }
            }
        }
        cp_async::commit_group();
    }

    /// Adds the products of a stage.
    ///
    /// # Safety
    /// The stage is written, and nobody writes to it meanwhile.
    #[inline(always)]
    pub(super) unsafe fn multiply_in_fp32(stage: *const f32, partial: &mut [f32; ACC]) {
        const { assert!(WARPS_N * LANES_N * Self::TN as u32 == Self::BN, "the warps' columns") };
        let thread = Self::thread();
        let mut a_smem = stage.wrapping_add(thread.row as usize); // (DEPTH, BM)
        let mut b_smem = stage.wrapping_add((DEPTH * A_STRIDE + thread.col) as usize); // (DEPTH, BN)
        let mut multiply_some = || {
            for _ in 0..UNROLLED {
                // SAFETY: upheld by the caller; the thread's values of the stage.
                unsafe { Self::multiply(a_smem, b_smem, partial) }
                a_smem = a_smem.wrapping_add(A_STRIDE as usize);
                b_smem = b_smem.wrapping_add(Self::BN as usize);
            }
        };
        multiply_some(); // outside the loop, so that no registers are set to zero
        let mut d = UNROLLED;
        while d < DEPTH {
            multiply_some();
            d = compiler::opaque(d + UNROLLED); // or LLVM would unroll the loop
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
                let [row, col] = [row / VEC * VEC * LANES_M + row % VEC, col / VEC * VEC * LANES_N + col % VEC];
                Coord { row: tile.row + thread.row + row, col: tile.col + thread.col + col }
            });
        }
    }

    /// The first of this thread's elements of a tile. Its rows and columns are adjacent by VEC.
    #[inline(always)]
    fn thread() -> Coord {
        let (warp, lane) = (thread_index() / WARP, warp_tile::lane_in_quads(thread_index() % WARP));
        Coord {
            row: warp / WARPS_N * LANES_M * TM as u32 + lane.row * VEC,
            col: warp % WARPS_N * LANES_N * Self::TN as u32 + lane.col * VEC,
        }
    }

    /// Adds the products of a k.
    ///
    /// # Safety
    /// They are the thread's, in a stage.
    #[allow(clippy::needless_range_loop)] // an iterator would keep the values in memory
    #[inline(always)]
    unsafe fn multiply(a_smem: *const f32, b_smem: *const f32, partial: &mut [f32; ACC]) {
        // SAFETY: in the stage, upheld by the caller.
        let a_frag: [f32; TM] = unsafe { warp_tile::fragment(a_smem, LANES_M) };
        for j in (0..Self::TN).step_by(VEC as usize) {
            // SAFETY: as above.
            let b_frag: [f32; VEC as usize] = unsafe { warp_tile::fragment(b_smem.add(j * LANES_N as usize), LANES_N) };
            for v in 0..VEC as usize {
                for i in 0..TM {
                    let i = if v % 2 == 0 { i } else { TM - 1 - i }; // consecutive FMAs share an operand
                    let at = i * Self::TN + j + v;
                    partial[at] = GpuFloat::mul_add(a_frag[i], b_frag[v], partial[at]);
                }
            }
        }
    }
}
