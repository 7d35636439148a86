//! By a split into three bf16, which has the exponents of f32: x = first + second + third exactly, and six of their nine products do.
//!
//! ```text
//!   values ──► parts of the next step ──► sums of 16 products of this step, in the tensor cores
//! ```
//!
//! As everywhere, the small products come before the large ones, which a truncated sum would take more from.

use super::CONSUMERS;
use super::parts::{Piece, pairs};
use crate::gemm::Gemm;
use crate::mainloop::split_mma::consumer::add;
use crate::mainloop::split_mma::epilogue::Words;
use crate::mainloop::split_mma::{BM, DEPTH, PARTS, SplitMma};
use crate::mainloop::warp_specialized::{CONSUMER_THREADS, Ring, Stage};
use crate::prepass::split::hi_lo::{BF16_MORE, HiLo};
use crate::prepass::split::range::powers;
use crate::ptx::{barrier, wgmma};
use crate::{Ab, CERTIFICATE_BITS, Coord, InnerSums, Operand};

/// Which parts of A and B are multiplied: all products above 2^-24 of the largest, and the least first.
const PRODUCTS: [[u32; 2]; 6] = [[0, 2], [2, 0], [1, 1], [0, 1], [1, 0], [0, 0]];

impl<P: HiLo, const ACC: usize, const STAGES: u32> SplitMma<P, ACC, STAGES> {
    /// The totals of a tile.
    ///
    /// # Safety
    /// All consumers call it, and the producers fill stages with as much of `k`; there are words of all rows and columns, `BEHIND_RING_BYTES`
    /// of shared memory, which nobody else uses, and k > DEPTH.
    #[inline(always)]
    pub(super) unsafe fn sums_by_bf16(
        g: &Gemm,
        tile: Coord,
        words: Ab<*const i32>,
        ring: &mut Ring<1>,
        smem: *mut f32,
    ) -> [f32; ACC] {
        let steps = g.k.div_ceil(DEPTH);
        let parts = |step: u32| smem.wrapping_add((step % 2 * Self::PARTS_BYTES / 4) as usize);
        let mut totals = [0.0; ACC];
        // SAFETY: consumers alone are here; they write parts that all have read, and read those that all have written.
        unsafe {
            barrier::sync(CONSUMERS, CONSUMER_THREADS); // what was there is read
            Self::store_exponents(g, tile, words, smem);
            barrier::sync(CONSUMERS, CONSUMER_THREADS); // the exponents are stored
            let stage = ring.consumer_peek();
            Self::split_piece(stage, 0, Operand::A, smem, parts(0));
            Self::split_piece(stage, 0, Operand::B, smem, parts(0));
            wgmma::fence_operands();
            let (mut next, mut end) = (1, 0);
            while end < steps {
                let mut inner = [0.0; ACC];
                end = steps.min(end + InnerSums::OF_OTHERS.summands(steps));
                while next <= end {
                    barrier::sync(CONSUMERS, CONSUMER_THREADS); // the parts are written, and the next ones read
                    let mut partial = [0.0; ACC];
                    Self::issue_mmas_of_parts(parts(next - 1), &mut partial);
                    if next < steps {
                        // beside the MMAs
                        let stage = ring.consumer_peek();
                        Self::split_piece(stage, next, Operand::A, smem, parts(next));
                        Self::split_piece(stage, next, Operand::B, smem, parts(next));
                        Self::release_behind(next, steps, ring);
                        wgmma::fence_operands();
                    }
                    wgmma::wait_acc::<0, ACC>(&mut partial);
                    add(&mut inner, &partial);
                    next += 1;
                }
                add(&mut totals, &inner);
            }
            barrier::sync(CONSUMERS, CONSUMER_THREADS); // the last parts are read
        }
        totals
    }

    /// Where the exponent is that this thread's row of A, or column of B, is scaled by.
    #[inline(always)]
    fn exponent(of: Operand, smem: *mut f32) -> *mut i32 {
        let rows = Piece::this().row + if of == Operand::A { 0 } else { BM };
        smem.wrapping_add((2 * Self::PARTS_BYTES / 4 + rows) as usize).cast()
    }

    /// Stores the exponents.
    ///
    /// # Safety
    /// There are words of all rows and columns, and nobody else uses the memory.
    #[inline(always)]
    unsafe fn store_exponents(g: &Gemm, tile: Coord, words: Ab<*const i32>, smem: *mut f32) {
        let store = |of: Operand, words: *const i32, first: u32, count: u32| {
            if Self::has_piece(of) {
                let index = (first + Piece::this().row).min(count - 1) as usize;
                // SAFETY: upheld by the caller; in bounds of the words. Both threads of a row store the same.
                unsafe { *Self::exponent(of, smem) = (*words.wrapping_add(index) >> CERTIFICATE_BITS) + BF16_MORE }
            }
        };
        store(Operand::A, words.a, tile.row, g.m);
        store(Operand::B, words.b, tile.col, g.n);
    }

    /// Scales and splits this thread's piece of an operand for a step's MMAs behind a barrier.
    ///
    /// # Safety
    /// The stage has the step's values, the exponents are stored, and nobody else uses the parts.
    #[inline(always)]
    unsafe fn split_piece(stage: Stage, step: u32, of: Operand, smem: *mut f32, parts: *mut f32) {
        if Self::has_piece(of) {
            // SAFETY: the thread's own values, exponent and parts, upheld by the caller.
            unsafe {
                let [first, second] = powers(*Self::exponent(of, smem));
                let mut rest = Self::piece(stage, step, of).map(|x| x * first * second);
                for part in 0..PARTS {
                    let pairs = pairs(&rest);
                    for i in 0..pairs.len() {
                        rest[2 * i] -= f32::from_bits(pairs[i] << 16);
                        rest[2 * i + 1] -= f32::from_bits(pairs[i] & 0xffff_0000);
                    }
                    Self::store_part(parts, of, part, pairs);
                }
            }
        }
    }

    /// Issues the MMAs of parts.
    ///
    /// # Safety
    /// They are written, and nobody writes to them before the MMAs are waited for; all consumers call it.
    #[inline(always)]
    unsafe fn issue_mmas_of_parts(parts: *const f32, partial: &mut [f32; ACC]) {
        let first = Self::first_parts(parts);
        // SAFETY: upheld by the caller.
        unsafe {
            wgmma::fence();
            for (i, parts) in PRODUCTS.into_iter().enumerate() {
                Self::mma_of_parts(first, parts, partial, i > 0);
            }
            wgmma::commit_group();
        }
    }

    /// Undoes the scaling of a tile's totals.
    ///
    /// # Safety
    /// All lanes are here; there are words of all rows and columns, and k > 0.
    #[inline(always)]
    pub(super) unsafe fn unscale_by_bf16(g: &Gemm, tile: Coord, words: Ab<*const i32>, totals: &mut [f32; ACC]) {
        let k_tiles = g.k.div_ceil(Self::BK);
        let scaled = |word: i32| word + (BF16_MORE << CERTIFICATE_BITS);
        // SAFETY: upheld by the caller.
        unsafe {
            let rows = Self::rows(g, Self::first_row(tile.row), k_tiles, words.a).map(scaled);
            let own_words = Words { rows, columns: Self::columns(g, tile.col, k_tiles, words.b).map(scaled) };
            Self::unscale(&own_words, totals);
        }
    }
}
