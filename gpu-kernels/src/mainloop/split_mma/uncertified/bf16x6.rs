//! By a split into three bf16, which has the exponents of f32: x = first + second + third exactly, and six of their nine products do.
//!
//! ```text
//!   values ──► parts: A (3, BM, 16), B (3, BN, 16) ──► sums of 16 products in the tensor cores
//!                of the next step                        of this step
//! ```
//!
//! As everywhere, the small products come before the large ones, which a truncated sum would take more from.

use super::values::place_of_a;
use super::{CONSUMERS, thread_index};
use crate::epilogue::fusion::Fusion;
use crate::gemm::Gemm;
use crate::hardware::{VEC, WGMMA_M};
use crate::mainloop::split_mma::consumer::add;
use crate::mainloop::split_mma::epilogue::Words;
use crate::mainloop::split_mma::{BM, DEPTH, PARTS, STAGE_K, SplitMma};
use crate::mainloop::warp_specialized::{self, CONSUMER_THREADS, Ring, Stage};
use crate::prepass::split::hi_lo::{BF16_MORE, HiLo};
use crate::prepass::split::range::powers;
use crate::ptx::wgmma::{self, Descriptor, Input, WGMMA_K_BYTES};
use crate::ptx::{barrier, convert, f32x4};
use crate::{Ab, CERTIFICATE_BITS, Computed, Coord, InnerSums, Operand};
use cuda_std::prelude::*;
use half::bf16;

/// Which parts of A and B are multiplied: all products above 2^-24 of the largest, and the least first.
const PRODUCTS: [[u32; 2]; 6] = [[0, 2], [2, 0], [1, 1], [0, 1], [1, 0], [0, 0]];
/// Values that a thread splits at once: their first parts are a vector.
const VALUES: u32 = 8;
const _: () = assert!(DEPTH * 2 == WGMMA_K_BYTES, "a k-step of each part");
/// Eight rows of a part: twice 16 bytes each.
const EIGHT_ROWS_BYTES: u32 = 8 * WGMMA_K_BYTES;

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
                        if !next.is_multiple_of(STAGE_K / DEPTH) || next + 1 == steps {
                            let stage = ring.consumer_wait();
                            ring.consumer_release(stage);
                        }
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

    /// Splits this thread's piece of an operand for a step's MMAs behind a barrier.
    ///
    /// # Safety
    /// The stage has the step's values, the exponents are stored, and nobody else uses the parts.
    #[inline(always)]
    unsafe fn split_piece(stage: Stage, step: u32, of: Operand, smem: *mut f32, parts: *mut f32) {
        if Self::has_piece(of) {
            let (offset, rows) = if of == Operand::A { (0, BM) } else { (BM * DEPTH * PARTS / 2, Self::BN) };
            let piece = Piece::this();
            let k = step * DEPTH % STAGE_K + piece.k;
            let values = Self::values(stage, of);
            // SAFETY: in the stage, and the thread's own parts, upheld by the caller.
            unsafe {
                let values = if of == Operand::A {
                    let [[x, y, z, w], [q, r, s, t]] =
                        [k, k + VEC].map(|k| f32x4::load(values.add(place_of_a(piece.row, k) as usize)));
                    [x, y, z, w, q, r, s, t]
                } else {
                    let values = values.add((k * Self::BN + piece.row) as usize);
                    [0, 1, 2, 3, 4, 5, 6, 7].map(|i| *values.add((i * Self::BN) as usize))
                };
                piece.split(values, *Self::exponent(of, smem), parts.wrapping_add(offset as usize), rows);
            }
        }
    }

    /// Whether this thread has a piece of an operand: there may be fewer of B.
    #[inline(always)]
    fn has_piece(of: Operand) -> bool {
        const {
            assert!(
                BM * (DEPTH / VALUES) == CONSUMER_THREADS && Self::BN <= BM,
                "a thread has a piece of A, and one of B"
            )
        };
        Self::BN == BM || of == Operand::A || thread_index() < Self::BN * (DEPTH / VALUES)
    }

    /// Issues the MMAs of parts.
    ///
    /// # Safety
    /// They are written, and nobody writes to them before the MMAs are waited for; all consumers call it.
    #[inline(always)]
    unsafe fn issue_mmas_of_parts(parts: *const f32, partial: &mut [f32; ACC]) {
        // SAFETY: upheld by the caller.
        unsafe {
            let parts = shared::address(parts);
            let [a_part, b_part] = [BM, Self::BN].map(|rows| rows * WGMMA_K_BYTES);
            let a = parts + warp_specialized::consumer() * WGMMA_M * WGMMA_K_BYTES;
            let (a, b) = (Descriptor::k_major_unswizzled(a), Descriptor::k_major_unswizzled(parts + PARTS * a_part));
            wgmma::fence();
            for (i, [of_a, of_b]) in PRODUCTS.into_iter().enumerate() {
                let [a, b] = [a.add(of_a * a_part), b.add(of_b * b_part)];
                <bf16 as Input>::mma::<ACC, 0, 0>(partial, a, b, i > 0);
            }
            wgmma::commit_group();
        }
    }

    /// Stores what is certified for this split alone of the tile at `tile`: all of it, or by the words.
    ///
    /// # Safety
    /// All consumers call it, and k > 0.
    #[inline(always)]
    pub(super) unsafe fn store_by_bf16(
        g: &Gemm,
        fusion: impl Fusion<f32>,
        tile: Coord,
        words: Ab<*const i32>,
        are_all: bool,
        smem: *mut f32,
        totals: &mut [f32; ACC],
    ) {
        let k_tiles = g.k.div_ceil(Self::BK);
        let row = tile.row + warp_specialized::consumer() * WGMMA_M + wgmma::acc_row();
        // SAFETY: upheld by the caller.
        unsafe {
            let scaled = |word: i32| word + (BF16_MORE << CERTIFICATE_BITS);
            let rows = Self::rows(g, row, k_tiles, words.a).map(scaled);
            let own_words = Words { rows, columns: Self::columns(g, tile.col, k_tiles, words.b).map(scaled) };
            Self::unscale(&own_words, totals);
            let words = (!are_all).then_some(words);
            Self::store_computed(g, fusion, row, tile.col, words, Computed::ByBf16, smem, totals);
        }
    }
}

/// Eight values along k of a row of A, or a column of B, that this thread splits.
#[derive(Clone, Copy)]
struct Piece {
    row: u32,
    k: u32,
}

impl Piece {
    /// Eight lanes have eight rows: they write to different banks.
    #[inline(always)]
    fn this() -> Self {
        let thread = thread_index();
        Self { row: thread / 16 * 8 + thread % 8, k: thread / 8 % 2 * VALUES }
    }

    /// Scales and splits its values, for the parts of an operand of so many rows.
    ///
    /// # Safety
    /// Nobody else uses its parts.
    #[inline(always)]
    unsafe fn split(self, values: [f32; VALUES as usize], exponent: i32, parts: *mut f32, rows: u32) {
        let [first, second] = powers(exponent);
        let mut rest = values.map(|x| x * first * second);
        let at = self.row / 8 * EIGHT_ROWS_BYTES + self.k / VALUES * (EIGHT_ROWS_BYTES / 2) + self.row % 8 * 16;
        for part in 0..PARTS {
            let mut pairs = [0.0; VEC as usize];
            for i in 0..VEC as usize {
                let pair = convert::bf16x2(rest[2 * i], rest[2 * i + 1]);
                rest[2 * i] -= f32::from_bits(pair << 16);
                rest[2 * i + 1] -= f32::from_bits(pair & 0xffff_0000);
                pairs[i] = f32::from_bits(pair);
            }
            // SAFETY: in the part, upheld by the caller.
            unsafe { f32x4::store(parts.wrapping_add(((part * rows * WGMMA_K_BYTES + at) / 4) as usize), pairs) }
        }
    }
}
