//! By a split into three bf16, which has the exponents of f32: x = first + second + third exactly, and six of their nine products do.
//!
//! ```text
//!   a stage, f32 ──► parts: A (BM, 16 first | 16 second | 16 third | scale), B (BN, the same) ──► sums of 16 products in the tensor cores
//! ```
//!
//! As everywhere, the small products come before the large ones, which a truncated sum would take more from.

use super::{CONSUMERS, a_place, thread_index};
use crate::epilogue::fusion::Fusion;
use crate::gemm::Gemm;
use crate::hardware::{SWIZZLE_ATOM_BYTES, SWIZZLE_BYTES, VEC, WGMMA_M};
use crate::mainloop::split_mma::epilogue::Words;
use crate::mainloop::split_mma::{BM, DEPTH, SplitMma};
use crate::mainloop::warp_specialized::{self, CONSUMER_THREADS};
use crate::prepass::split::hi_lo::{BF16_MORE, HiLo};
use crate::prepass::split::range::powers;
use crate::ptx::wgmma::{self, Descriptor, Input, WGMMA_K_BYTES};
use crate::ptx::{barrier, convert, f32x4};
use crate::{Ab, CERTIFICATE_BITS, Computed, Coord};
use cuda_std::prelude::*;
use half::bf16;

const PARTS: u32 = 3;
/// Which parts of A and B are multiplied: all products above 2^-24 of the largest, and the least first.
const PRODUCTS: [[u32; 2]; 6] = [[0, 2], [2, 0], [1, 1], [0, 1], [1, 0], [0, 0]];
/// Values that a thread splits at once: their first parts are a vector.
const VALUES: u32 = 8;
const _: () = assert!(DEPTH * 2 == WGMMA_K_BYTES, "a k-step of each part");

impl<P: HiLo, const ACC: usize, const CLUSTER: u32, const STAGES: u32> SplitMma<P, ACC, CLUSTER, STAGES> {
    /// Where the parts of a stage are: at a swizzle atom.
    #[inline(always)]
    pub(super) fn parts(smem: *mut f32) -> *mut f32 {
        // SAFETY: it is shared memory.
        let offset = unsafe { shared::address(smem) }.wrapping_neg() % SWIZZLE_ATOM_BYTES;
        smem.wrapping_add((offset / 4) as usize)
    }

    /// Stores what rows of A and columns of B are scaled by, behind their parts.
    ///
    /// # Safety
    /// There are words of all of them, nobody else uses the parts, and all consumers call it.
    #[inline(always)]
    pub(super) unsafe fn store_scales(g: &Gemm, tile: Coord, words: Ab<*const i32>, parts: *mut f32) {
        let b_parts = parts.wrapping_add((BM * SWIZZLE_BYTES / 4) as usize);
        let store = |rows: u32, parts: *mut f32, words: *const i32, first: u32, count: u32| {
            let row = thread_index() % rows;
            // SAFETY: upheld by the caller; in bounds of the words, and in the row.
            unsafe {
                let word = *words.wrapping_add((first + row).min(count - 1) as usize);
                let [first, second] = powers((word >> CERTIFICATE_BITS) + BF16_MORE);
                f32x4::store(place(parts, row, PARTS * DEPTH / VALUES), [first, second, 0.0, 0.0]);
            }
        };
        store(BM, parts, words.a, tile.row, g.m);
        store(Self::BN, b_parts, words.b, tile.col, g.n);
    }

    /// Makes the parts of a stage.
    ///
    /// # Safety
    /// The stage is written, nobody else uses the parts, and all consumers call it.
    #[inline(always)]
    pub(super) unsafe fn split_stage(stage: *const f32, parts: *mut f32) {
        const { assert!(Self::BN <= BM && BM * (DEPTH / VALUES) == CONSUMER_THREADS, "a thread has a piece of A, and of B") };
        let b_parts = parts.wrapping_add((BM * SWIZZLE_BYTES / 4) as usize);
        // SAFETY: upheld by the caller; what is read is in the stage.
        unsafe {
            split(BM, parts, |row, d| {
                let [x, y, z, w] = f32x4::load(stage.add(a_place(row, d) as usize));
                let [p, q, r, s] = f32x4::load(stage.add(a_place(row, d + VEC) as usize));
                [x, y, z, w, p, q, r, s]
            });
            if thread_index() < Self::BN * (DEPTH / VALUES) {
                split(Self::BN, b_parts, |col, d| {
                    [0, 1, 2, 3, 4, 5, 6, 7].map(|i| *stage.add((BM * DEPTH + (d + i) * Self::BN + col) as usize))
                });
            }
            wgmma::fence_operands();
            barrier::sync(CONSUMERS, CONSUMER_THREADS); // the parts are written
        }
    }

    /// Issues the MMAs of parts, and waits for them.
    ///
    /// # Safety
    /// They are written, and nobody writes to them; all consumers call it.
    #[inline(always)]
    pub(super) unsafe fn multiply_parts(parts: *const f32, partial: &mut [f32; ACC]) {
        // SAFETY: upheld by the caller.
        unsafe {
            let parts = shared::address(parts);
            let a = Descriptor::k_major(parts + warp_specialized::consumer() * WGMMA_M * SWIZZLE_BYTES);
            let b = Descriptor::k_major(parts + BM * SWIZZLE_BYTES);
            wgmma::fence();
            for (i, [of_a, of_b]) in PRODUCTS.into_iter().enumerate() {
                let [a, b] = [a.add(of_a * WGMMA_K_BYTES), b.add(of_b * WGMMA_K_BYTES)];
                <bf16 as Input>::mma::<ACC, 0, 0>(partial, a, b, i > 0);
            }
            wgmma::commit_group();
            wgmma::wait_acc::<0, ACC>(partial);
        }
    }

    /// Stores what is certified for this split alone of the tile at `tile`.
    ///
    /// # Safety
    /// All consumers call it, and k > 0.
    #[inline(always)]
    pub(super) unsafe fn store_by_bf16(
        g: &Gemm,
        fusion: impl Fusion<f32>,
        tile: Coord,
        words: Ab<*const i32>,
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
            Self::store_computed(g, fusion, row, tile.col, &own_words, words, Computed::ByBf16, smem, totals);
        }
    }
}

/// A vector of a row of parts, the 128 bytes of which are swizzled: it is where the row says.
#[inline(always)]
fn place(parts: *mut f32, row: u32, vector: u32) -> *mut f32 {
    parts.wrapping_add((row * SWIZZLE_BYTES / 4 + (vector ^ (row % 8)) * VEC) as usize)
}

/// Scales and splits a piece of a stage, of so many rows of A or columns of B, which `load` gives by row and k.
///
/// # Safety
/// All threads whose piece there is call it, scales are stored, and nobody else uses the parts.
#[inline(always)]
unsafe fn split(rows: u32, parts: *mut f32, load: impl Fn(u32, u32) -> [f32; VALUES as usize]) {
    let (row, piece) = (thread_index() % rows, thread_index() / rows);
    // SAFETY: in the row, upheld by the caller.
    let scale = unsafe { f32x4::load(place(parts, row, PARTS * DEPTH / VALUES)) };
    let mut rest = load(row, piece * VALUES).map(|x| x * scale[0] * scale[1]);
    for part in 0..PARTS {
        let mut pairs = [0.0; VEC as usize];
        for i in 0..VEC as usize {
            let pair = convert::bf16x2(rest[2 * i], rest[2 * i + 1]);
            rest[2 * i] -= f32::from_bits(pair << 16);
            rest[2 * i + 1] -= f32::from_bits(pair & 0xffff_0000);
            pairs[i] = f32::from_bits(pair);
        }
        // SAFETY: in the row, upheld by the caller.
        unsafe { f32x4::store(place(parts, row, part * DEPTH / VALUES + piece), pairs) }
    }
}
