//! The epilogue of a tile during the mainloop of the next one, where C has elements of 16 bits.
//!
//! ```text
//!   mainloop of tile i      │ pack │ mainloop of tile i + 1
//!   accumulators, 128 words │  ──► │ 64 words: 64 columns of C behind the MMAs of each fourth k-tile, or of each where there are few
//! ```
//!
//! Packed, C takes half the registers of its accumulators, so it can stay in registers while the next MMAs overwrite these. The tensor
//! cores wait for the packing only, not for the stores.

use super::direct::Output;
use super::narrow::{self, Window};
use super::staged::{Layout, Region, Rows, StagingBuffer};
use crate::gemm::Gemm;
use crate::ptx::compiler;
use crate::{Coord, Extent};

/// Words of the most accumulators, and of a round.
const WORDS: usize = 64;
const ROUND_WORDS: usize = narrow::ROUND / 2;
/// The logarithm of the most k-tiles for each round: shared memory has little bandwidth left beside the MMAs and the TMA loads.
const MOST_PACE: u32 = 2;

/// The part of C that a warp still has to store, of ACC accumulators per thread: at most so many rounds, the last ones.
pub(crate) struct Deferred<O, const ACC: usize, const MOST: usize = 4> {
    staging: StagingBuffer,
    words: [u32; WORDS],
    /// The warp's first element of the next round; null where nothing is left to store.
    c: *mut O,
}

impl<O: Output, const ACC: usize, const MOST: usize> Deferred<O, ACC, MOST> {
    /// Rounds in which all is stored, the first of them that may be deferred, and the fewest k-tiles behind which these can be.
    const ROUNDS: usize = ACC.div_ceil(narrow::ROUND);
    const FIRST: usize = Self::ROUNDS.saturating_sub(MOST);
    pub const K_TILES: u32 = (Self::ROUNDS - Self::FIRST) as u32;

    /// The logarithm of the k-tiles for each round, where a tile has so many: a round's stores slow the MMAs down less the more it has, but
    /// stores that no MMAs hide take longer.
    #[inline(always)]
    pub fn pace(k_tiles: u32) -> u32 {
        if Self::K_TILES == 1 {
            return 0; // any would do; a constant is faster
        }
        (1..=MOST_PACE).fold(0, |pace, next| if k_tiles > (Self::K_TILES - 1) << next { next } else { pace })
    }

    /// Nothing to store yet.
    #[inline(always)]
    pub fn new(staging: StagingBuffer) -> Self {
        const { assert!(ACC / 2 <= WORDS) }
        Self { staging, words: [0; WORDS], c: core::ptr::null_mut() }
    }

    /// Where accumulators are stored that are not deferred.
    #[inline(always)]
    pub fn staging(&self) -> StagingBuffer {
        self.staging
    }

    /// Takes alpha\*acc over, the first of this warpgroup's at (`row`, `col`), if that is all of C, in whole pieces. Nothing is left of
    /// what it took before.
    #[allow(clippy::needless_range_loop)] // an iterator would keep the accumulators in memory
    #[inline(always)]
    pub fn take(&mut self, g: &Gemm, Coord { row, col }: Coord, acc: &mut [f32; ACC]) -> bool {
        let Region { first, extent } = Rows::region(ACC as u32);
        let (row, col) = (row + first.row, col + first.col);
        let is_full_tile = row + extent.rows <= g.m && col + extent.cols <= g.n;
        let is_aligned = g.c.addr().is_multiple_of(16) && (g.ldc * size_of::<O>()).is_multiple_of(16);
        if !(O::IS_NARROW && is_full_tile && is_aligned && g.beta == 0.0) {
            self.words = [0; WORDS]; // the old ones would occupy registers
            return false;
        }
        if g.alpha != 1.0 {
            for i in 0..ACC {
                acc[i] *= g.alpha;
            }
        }
        self.pack(acc);
        self.c = g.c.cast::<O>().wrapping_add(row as usize * g.ldc + col as usize);
        true
    }

    /// Takes alpha\*acc over, of rows of which so many are in bounds, and which begin at `c`; where that is not all, it is stored at once.
    /// Nothing is left of what it took before.
    ///
    /// # Safety
    /// All lanes are here. What is in `bounds` is in bounds of C, and no other warp touches it; rows of C begin at multiples of 16 bytes, and
    /// none ends within one.
    #[allow(clippy::needless_range_loop)] // an iterator would keep the accumulators in memory
    #[inline(always)]
    pub unsafe fn take_rows(&mut self, g: &Gemm, c: *mut O, bounds: Extent, acc: &mut [f32; ACC]) {
        for i in 0..ACC {
            acc[i] *= g.alpha;
        }
        self.pack(acc);
        self.c = c;
        let full = Rows::region(ACC as u32).extent;
        // SAFETY: upheld by the caller (see `# Safety`).
        unsafe {
            if bounds.rows < full.rows || bounds.cols < full.cols {
                self.store_inside(g, Extent { cols: bounds.cols.min(full.cols), ..bounds });
            } else {
                for round in 0..Self::FIRST {
                    self.store_round::<false>(g, round as u32, full); // the last round is deferred
                }
            }
        }
    }

    /// What is left of the deferred part of a full tile from that round on, as far as it matters: all rounds but the last have all columns.
    #[inline(always)]
    fn extent(round: u32) -> Extent {
        let all = Rows::region(ACC as u32).extent;
        let is_even = const { ACC.is_multiple_of(narrow::ROUND) };
        if is_even {
            all
        } else {
            Extent { cols: all.cols - (Self::FIRST as u32 + round) * narrow::columns(ACC), ..all }
        }
    }

    /// Two accumulators in each word.
    #[inline(always)]
    fn pack(&mut self, acc: &[f32; ACC]) {
        for i in 0..ACC / 2 {
            self.words[i] = O::pair(acc[2 * i], acc[2 * i + 1]);
        }
    }

    /// Stores what belongs behind the MMAs of that k-tile at a [`pace`](Self::pace), if anything is left.
    ///
    /// # Safety
    /// All lanes are here, behind each k-tile; what was taken is in bounds of C, and no other warp touches it.
    #[inline(always)]
    pub unsafe fn store_behind(&mut self, g: &Gemm, k_tile: u32, pace: u32) {
        let round = k_tile >> pace;
        if !self.c.is_null() && round << pace == k_tile {
            // SAFETY: upheld by the caller (see `# Safety`).
            unsafe { self.store_round::<true>(g, round, Self::extent(round)) }
        }
    }

    /// Stores all that was taken.
    ///
    /// # Safety
    /// As of [`store_behind`](Self::store_behind); nothing of it is stored yet.
    #[inline(always)]
    pub unsafe fn store(&mut self, g: &Gemm) {
        let mut round = 0;
        while !self.c.is_null() {
            // SAFETY: upheld by the caller (see `# Safety`).
            unsafe { self.store_round::<true>(g, round, Self::extent(round)) };
            round = compiler::opaque(round + 1); // or LLVM would unroll the loop
        }
    }

    /// Stores what is in bounds of all rounds.
    ///
    /// # Safety
    /// As of [`take_rows`](Self::take_rows), whose words are packed.
    #[inline(always)]
    unsafe fn store_inside(&mut self, g: &Gemm, mut bounds: Extent) {
        let mut round = 0;
        while !self.c.is_null() {
            // SAFETY: upheld by the caller (see `# Safety`).
            unsafe { self.store_round::<false>(g, round, bounds) };
            bounds.cols = bounds.cols.saturating_sub(narrow::columns(ACC));
            round = compiler::opaque(round + 1); // as there
        }
    }

    /// Stores the round of that index, of those that are deferred or of all.
    ///
    /// # Safety
    /// As of [`store_behind`](Self::store_behind).
    #[inline(always)]
    unsafe fn store_round<const IS_DEFERRED: bool>(&mut self, g: &Gemm, round: u32, bounds: Extent) {
        let first = if IS_DEFERRED { Self::FIRST } else { 0 };
        let mut words = [0; ROUND_WORDS];
        for i in first..Self::ROUNDS {
            if (i - first) as u32 == round {
                words = core::array::from_fn(|word| self.words[i * ROUND_WORDS + word]);
            }
        }
        let window = Window { c: self.c, bounds, is_wide: true };
        // SAFETY: upheld by the caller (see `# Safety`).
        unsafe { self.staging.store_words(g, &words, window) };
        let is_last = round as usize + 1 == Self::ROUNDS - first;
        self.c = if is_last { core::ptr::null_mut() } else { self.c.wrapping_add(narrow::columns(ACC) as usize) };
    }
}
