//! In fp32 on the CUDA cores: what no split is certified for.

use super::thread_index;
use crate::epilogue::fusion::Fusion;
use crate::gemm::Gemm;
use crate::hardware::{VEC, WARP};
use crate::mainloop::split_mma::{A_PITCH, BM, DEPTH, SplitMma};
use crate::mainloop::warp_specialized::CONSUMER_THREADS;
use crate::mainloop::{LANES_M, LANES_N, warp_tile};
use crate::prepass::split::hi_lo::HiLo;
use crate::ptx::compiler;
use crate::{Ab, Computed, Coord};
use cuda_std::prelude::*;

/// Of a stage's k, so many are one piece of code.
const UNROLLED: u32 = 1;
/// A thread's elements.
const TM: usize = 8;
/// Warps along n.
const WARPS_N: u32 = 4;
const _: () = assert!(CONSUMER_THREADS / WARP / WARPS_N * LANES_M * TM as u32 == BM, "the warps' rows");

impl<P: HiLo, const ACC: usize, const CLUSTER: u32, const STAGES: u32> SplitMma<P, ACC, CLUSTER, STAGES> {
    /// A thread's columns.
    const TN: usize = ACC / TM;

    /// Adds the products of a stage.
    ///
    /// # Safety
    /// The stage is written, and nobody writes to it meanwhile.
    #[inline(always)]
    pub(super) unsafe fn multiply_in_fp32(stage: *const f32, partial: &mut [f32; ACC]) {
        const { assert!(WARPS_N * LANES_N * Self::TN as u32 == Self::BN, "the warps' columns") };
        let thread = Self::thread();
        let a_smem = stage.wrapping_add(thread.row as usize); // (DEPTH, A_PITCH)
        let b_smem = stage.wrapping_add((DEPTH * A_PITCH + thread.col) as usize); // (DEPTH, BN)
        let mut d = 0;
        while d < DEPTH {
            let (a, b) = ((d * A_PITCH) as usize, (d * Self::BN) as usize);
            // SAFETY: upheld by the caller; the thread's values of the stage.
            unsafe { Self::multiply(a_smem.add(a), b_smem.add(b), partial) }
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
        let at = |i: u32| warp_tile::element(thread, false, i / Self::TN as u32, i % Self::TN as u32 / VEC * VEC);
        // SAFETY: upheld by the caller.
        unsafe {
            Self::store_some(g, fusion, words, Computed::InFp32, smem, totals, |i| {
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
}
