//! In fp32 on the CUDA cores: what no split is certified for.

use super::{A_VECTORS, a_place, thread_index};
use crate::epilogue::fusion::Fusion;
use crate::gemm::Gemm;
use crate::hardware::{VEC, WARP};
use crate::mainloop::split_mma::{BM, DEPTH, SplitMma};
use crate::mainloop::warp_specialized::CONSUMER_THREADS;
use crate::mainloop::{LANES_M, LANES_N, warp_tile};
use crate::prepass::split::hi_lo::HiLo;
use crate::ptx::compiler;
use crate::{Ab, Computed, Coord};
use cuda_std::GpuFloat;

/// A thread's elements.
const TM: usize = 8;
/// Warps along n.
const WARPS_N: u32 = 4;
const _: () = assert!((LANES_M / 2).is_multiple_of(A_VECTORS), "a thread's rows are swizzled alike");
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
        let b_smem = stage.wrapping_add((BM * DEPTH + thread.col) as usize); // (DEPTH, BN)
        let mut d = 0;
        while d < DEPTH {
            let a_smem = stage.wrapping_add(a_place(thread.row, d) as usize); // (BM, DEPTH)
            // SAFETY: upheld by the caller; the thread's values of the stage.
            unsafe { Self::multiply(a_smem, b_smem.add((d * Self::BN) as usize), partial) }
            d = compiler::opaque(d + 1); // or LLVM would unroll the loop
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
                let col = col / VEC * VEC * LANES_N + col % VEC;
                Coord { row: tile.row + thread.row + row * LANES_M, col: tile.col + thread.col + col }
            });
        }
    }

    /// The first of this thread's elements of a tile. Its rows are LANES_M apart, its columns adjacent by VEC.
    #[inline(always)]
    fn thread() -> Coord {
        let (warp, lane) = (thread_index() / WARP, thread_index() % WARP);
        Coord {
            row: warp / WARPS_N * LANES_M * TM as u32 + lane % LANES_M,
            col: warp % WARPS_N * LANES_N * Self::TN as u32 + lane / LANES_M * VEC,
        }
    }

    /// Adds the products of a k.
    ///
    /// # Safety
    /// They are the thread's, in a stage.
    #[allow(clippy::needless_range_loop)] // an iterator would keep the values in memory
    #[inline(always)]
    unsafe fn multiply(a_smem: *const f32, b_smem: *const f32, partial: &mut [f32; ACC]) {
        let mut a_frag = [0.0; TM];
        for i in 0..TM {
            // SAFETY: in the stage, upheld by the caller: rows that are LANES_M apart are swizzled alike.
            a_frag[i] = unsafe { *a_smem.add(i * (LANES_M * DEPTH) as usize) };
        }
        for j in (0..Self::TN).step_by(VEC as usize) {
            // SAFETY: as above.
            let b_frag: [f32; VEC as usize] = unsafe { warp_tile::fragment(b_smem.add(j * LANES_N as usize), LANES_N) };
            for v in 0..VEC as usize {
                for i in 0..TM {
                    let at = i * Self::TN + j + v;
                    partial[at] = GpuFloat::mul_add(a_frag[i], b_frag[v], partial[at]);
                }
            }
        }
    }
}
