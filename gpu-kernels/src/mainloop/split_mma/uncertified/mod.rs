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
use crate::ptx::{barrier, compiler, lanes};
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

/// In which ways a tile is computed again, and the least sum of three bf16 that is certified whatever the element: one register beside the
/// sums. That sum is a power of two or infinite, which has no bits but the first nine.
#[derive(Clone, Copy)]
struct Ways(u32);

impl Ways {
    const BY_BF16: u32 = 1;
    const BY_SIGNS: u32 = 2;
    const IN_FP32: u32 = 4;
    const ALL: u32 = Self::BY_BF16 | Self::BY_SIGNS | Self::IN_FP32;
    /// Elements whose sum of three bf16 is not certified are computed in fp32.
    const BY_SUMS: u32 = 8;
    /// There are elements that the hi/lo split has computed.
    const ANY_HI_LO: u32 = 16;
    const FLAGS: u32 = 31;

    #[inline(always)]
    fn new(open: Open, any_hi_lo: bool) -> Self {
        let flag = |is: bool, flag: u32| if is { flag } else { 0 };
        let flags = flag(open.by_bf16, Self::BY_BF16)
            | flag(open.by_signs, Self::BY_SIGNS)
            | flag(open.in_fp32, Self::IN_FP32)
            | flag(open.least_sum > 0.0, Self::BY_SUMS)
            | flag(any_hi_lo, Self::ANY_HI_LO);
        Self(compiler::opaque(flags | open.least_sum.to_bits()))
    }

    #[inline(always)]
    const fn has(self, flag: u32) -> bool {
        self.0 & flag != 0
    }

    /// Whether all elements are computed in that one.
    #[inline(always)]
    const fn is_only(self, way: u32) -> bool {
        self.0 & (Self::ALL | Self::ANY_HI_LO) == way
    }

    #[inline(always)]
    const fn least_sum(self) -> f32 {
        f32::from_bits(self.0 & !Self::FLAGS)
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
            let open = if P::IS_SCALED { Self::open(g, tile, words) } else { Open { in_fp32: true, ..Open::NONE } };
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
            if P::IS_SCALED && ways.has(Ways::BY_BF16) {
                let mut totals = Self::sums_by_bf16(g, tile, words, ring, smem);
                Self::unscale_by_bf16(g, tile, words, &mut totals);
                let are_certified = ways.is_only(Ways::BY_BF16) && Self::are_certified(&totals, ways.least_sum(), smem);
                let mut any_left = false;
                Self::store_computed(g, fusion, tile, smem, &totals, |i, at, total| {
                    are_certified || {
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
                    ways.is_only(Ways::IN_FP32)
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
                    ways.is_only(Ways::BY_SIGNS) || Self::computed(g, words, at) == Computed::BySigns
                });
            }
        }
    }

    /// Whether all sums of this warp are at least that, and therefore certified. If so, none of its elements is left to fp32.
    ///
    /// # Safety
    /// As of [`Self::set_left`].
    #[inline(always)]
    unsafe fn are_certified(totals: &[f32; ACC], least: f32, smem: *mut f32) -> bool {
        // SAFETY: upheld by the caller.
        unsafe {
            let are_certified = lanes::all(totals.iter().all(|total| total.abs() >= least));
            if are_certified {
                Self::set_none_left(smem);
            }
            are_certified
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
