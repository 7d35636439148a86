//! Tiles with elements for which the hi/lo split is not certified: all consumers compute them again, from A and B as they are, in three-level
//! summation.
//!
//! ```text
//!                 producers: cp.async ──► the ring's stages: values of A and B ─┐
//!   in fp32:        ┌───────────────────────────────────────────────────────────┴──► sums of 16 products ──► of some ──► totals
//!   by three bf16:  ├──► parts of A and of B, where totals were ──► tensor cores ──► sums of 16 products ──► of some ──► totals
//!   by signs:       └──► signs of A and of B, where totals were ──► tensor cores ──► infinities and NaN
//! ```

use super::SplitMma;
use super::verdict::Verdict;
use crate::epilogue::fusion::Fusion;
use crate::gemm::Gemm;
use crate::hardware::WARPGROUP;
use crate::mainloop::warp_specialized::{CONSUMER_THREADS, Ring, THREADS};
use crate::prepass::split::hi_lo::HiLo;
use crate::ptx::{barrier, compiler};
use crate::{Ab, Computed, Coord, Open, largest_exponents, least_certified_sum};
use cuda_std::prelude::*;

mod bf16x6;
mod fp32;
mod left;
mod parts;
mod signs;
mod values;

/// The consumers' barrier. Barrier 0 is the block's, and the next two are the mainloop's.
const CONSUMERS: u32 = 3;
/// The producers' barrier.
const PRODUCERS: u32 = 4;
/// That of both.
const ALL: u32 = 5;

/// In which ways a tile is computed again: one register beside the sums.
#[derive(Clone, Copy)]
struct Ways(u32);

impl Ways {
    const BY_BF16: u32 = 1;
    /// Elements whose sum of three bf16 is not certified are computed in fp32.
    const BY_SUMS: u32 = 2;
    const BY_SIGNS: u32 = 4;
    const IN_FP32: u32 = 8;
    /// All elements are computed in one of them, whatever the sums.
    const IS_ONE: u32 = 16;

    #[inline(always)]
    fn new(open: Open, any_hi_lo: bool) -> Self {
        let flag = |is: bool, flag: u32| if is { flag } else { 0 };
        let ways = flag(open.by_bf16, Self::BY_BF16)
            | flag(open.by_sums, Self::BY_SUMS)
            | flag(open.by_signs, Self::BY_SIGNS)
            | flag(open.in_fp32, Self::IN_FP32);
        let is_one = !any_hi_lo && ways.is_power_of_two();
        Self(compiler::opaque(ways | flag(is_one, Self::IS_ONE)))
    }

    #[inline(always)]
    const fn has(self, flags: u32) -> bool {
        self.0 & flags != 0
    }

    /// Whether the tile is computed in fp32, too, where sums of three bf16 may leave some to it.
    ///
    /// # Safety
    /// All consumers call it, and all producers.
    #[inline(always)]
    unsafe fn with_sums(self, any_left: bool) -> Self {
        // SAFETY: upheld by the caller.
        let is_left = unsafe { self.has(Self::BY_SUMS) && barrier::any(ALL, THREADS, any_left) };
        Self(self.0 | if is_left { Self::IN_FP32 } else { 0 })
    }
}

impl<P: HiLo, const ACC: usize, const STAGES: u32> SplitMma<P, ACC, STAGES> {
    /// # Safety
    /// All lanes are here.
    #[inline(always)]
    unsafe fn ways(g: &Gemm, tile: Coord, verdict: Verdict, words: Ab<*const i32>) -> Ways {
        // SAFETY: upheld by the caller.
        unsafe {
            let open = if P::IS_SCALED {
                Self::open(g, tile, words)
            } else {
                Open { by_bf16: false, by_sums: false, by_signs: false, in_fp32: true }
            };
            Ways::new(open, verdict.any_hi_lo())
        }
    }

    /// Fills stages with the values of the tile at `tile`, once for each way.
    ///
    /// # Safety
    /// All producers call it, and not all elements have the verdict that they are certified.
    #[inline(always)]
    pub(super) unsafe fn produce_others(
        g: &Gemm,
        tile: Coord,
        verdict: Verdict,
        words: Ab<*const i32>,
        ring: &mut Ring<1>,
    ) {
        // SAFETY: upheld by the caller. Behind a barrier, the assembler knows that all lanes are here; and all producers are at the same stage,
        // or a wait for one further on would end with another phase of the same parity.
        unsafe {
            barrier::sync(PRODUCERS, WARPGROUP);
            let mut ways = Self::ways(g, tile, verdict, words);
            for way in [Ways::BY_BF16, Ways::IN_FP32, Ways::BY_SIGNS] {
                if way == Ways::IN_FP32 {
                    ways = ways.with_sums(false);
                }
                if ways.has(way) {
                    Self::produce_values(g, tile, ring);
                }
            }
        }
    }

    /// Computes and stores the elements of the tile at `tile` that its verdict leaves open, in the shared memory from `smem` on.
    ///
    /// # Safety
    /// All consumers call it, as the producers call [`Self::produce_others`], k > 0, and there are `BEHIND_RING_BYTES` and `BITS_BYTES`, which
    /// nobody else uses.
    #[inline(always)]
    pub(super) unsafe fn compute_others(
        g: &Gemm,
        fusion: impl Fusion<f32>,
        tile: Coord,
        verdict: Verdict,
        words: Ab<*const i32>,
        ring: &mut Ring<1>,
        smem: *mut f32,
    ) {
        // SAFETY: upheld by the caller. Behind a barrier, the assembler knows that all lanes are here.
        unsafe {
            barrier::sync(CONSUMERS, CONSUMER_THREADS);
            let mut ways = Self::ways(g, tile, verdict, words);
            let is_one = ways.has(Ways::IS_ONE);
            if P::IS_SCALED && ways.has(Ways::BY_BF16) {
                let mut totals = Self::sums_by_bf16(g, tile, words, ring, smem);
                Self::unscale_by_bf16(g, tile, words, &mut totals);
                let mut any_left = false;
                Self::store_computed(g, fusion, tile, smem, &totals, |i, at, total| {
                    is_one || {
                        let [is_certified, is_left] = Self::certified(g, words, at, total);
                        any_left |= is_left;
                        Self::set_left(smem, i, is_left);
                        is_certified
                    }
                });
                ways = ways.with_sums(any_left);
            }
            if ways.has(Ways::IN_FP32) {
                let sums = Self::sums_in_fp32(g.k, ring, smem);
                Self::store_in_fp32(g, fusion, tile, smem, &sums, |at| {
                    is_one
                        || match Self::computed(g, words, at) {
                            Computed::InFp32 => true,
                            Computed::ByBf16OrInFp32 => {
                                Self::is_left(smem, Coord { row: at.row - tile.row, col: at.col - tile.col })
                            }
                            _ => false,
                        }
                });
            }
            if P::IS_SCALED && ways.has(Ways::BY_SIGNS) {
                let acc = Self::sums_of_signs(g.k, ring, smem);
                Self::store_computed(g, fusion, tile, smem, &acc, |_, at, _| {
                    is_one || Self::computed(g, words, at) == Computed::BySigns
                });
            }
        }
    }

    /// Whether an element's sum of three bf16 is certified, and whether it is left to fp32.
    ///
    /// # Safety
    /// There are words of all rows and columns.
    #[inline(always)]
    unsafe fn certified(g: &Gemm, words: Ab<*const i32>, at: Coord, total: f32) -> [bool; 2] {
        // SAFETY: upheld by the caller.
        let [row, column] = unsafe { Self::words_of(g, words, at) };
        match Computed::of(row, column) {
            Computed::ByBf16 => [true, false],
            Computed::ByBf16OrInFp32 => {
                let is_certified = total.abs() >= least_certified_sum(largest_exponents(row, column));
                [is_certified, !is_certified && at.row < g.m && at.col < g.n]
            }
            _ => [false, false],
        }
    }
}

/// This thread's index among the consumers. What depends on it is computed where it is needed: sums take all registers.
#[inline(always)]
fn thread_index() -> u32 {
    compiler::opaque(thread::thread_idx_x()) - WARPGROUP
}
