//! By a split into three bf16, which has the exponents of f32: x = first + second + third exactly, and six of their nine products do.
//!
//! ```text
//!   f32, in registers ──► parts: A (BM, 16 first | 16 second | 16 third | scales), B (BN, the same) ──► sums of 16 products in the tensor cores
//!   of the next step                                                                                of this step
//! ```
//!
//! As everywhere, the small products come before the large ones, which a truncated sum would take more from.

use super::thread_index;
use crate::epilogue::fusion::Fusion;
use crate::gemm::Gemm;
use crate::hardware::{SWIZZLE_ATOM_BYTES, SWIZZLE_BYTES, VEC, WGMMA_M};
use crate::mainloop::split_mma::epilogue::Words;
use crate::mainloop::split_mma::{BM, DEPTH, SplitMma};
use crate::mainloop::warp_specialized::{self, CONSUMER_THREADS};
use crate::prepass::split::hi_lo::{BF16_MORE, HiLo};
use crate::prepass::split::range::powers;
use crate::ptx::wgmma::{self, Descriptor, Input, WGMMA_K_BYTES};
use crate::ptx::{compiler, convert, f32x4, read_only};
use crate::{Ab, CERTIFICATE_BITS, Computed, Coord};
use cuda_std::prelude::*;
use half::bf16;

const PARTS: u32 = 3;
/// Which parts of A and B are multiplied: all products above 2^-24 of the largest, and the least first.
const PRODUCTS: [[u32; 2]; 6] = [[0, 2], [2, 0], [1, 1], [0, 1], [1, 0], [0, 0]];
/// Values that a thread splits at once: their first parts are a vector.
pub(super) const VALUES: u32 = 8;
const _: () = assert!(DEPTH * 2 == WGMMA_K_BYTES, "a k-step of each part");

impl<P: HiLo, const ACC: usize, const CLUSTER: u32, const STAGES: u32> SplitMma<P, ACC, CLUSTER, STAGES> {
    /// Where the parts of a step are: at a swizzle atom.
    #[inline(always)]
    pub(super) fn parts(smem: *mut f32, step: u32) -> *mut f32 {
        // SAFETY: it is shared memory.
        let offset = unsafe { shared::address(smem) }.wrapping_neg() % SWIZZLE_ATOM_BYTES;
        smem.wrapping_add(((offset + step % 2 * Self::PARTS_BYTES) / 4) as usize)
    }

    /// Stores what this thread's pieces are scaled by, behind parts.
    ///
    /// # Safety
    /// There are words of all rows and columns, and nobody else uses the parts.
    #[inline(always)]
    pub(super) unsafe fn store_scales(g: &Gemm, tile: Coord, words: Ab<*const i32>, parts: *mut f32) {
        let store = |number: u32, words: *const i32, first: u32, count: u32| {
            let piece = Piece::new(number);
            let index = (first + piece.row).min(count - 1) as usize;
            // SAFETY: upheld by the caller; in bounds of the words, and in the row.
            unsafe {
                let [first, second] = powers((*words.wrapping_add(index) >> CERTIFICATE_BITS) + BF16_MORE);
                f32x4::store(parts.wrapping_add(piece.place(PARTS)), [first, second, 0.0, 0.0]);
            }
        };
        store(0, words.a, tile.row, g.m);
        if Self::has_piece(1) {
            store(1, words.b, tile.col, g.n);
        }
    }

    /// Splits so many of this thread's pieces, from that number on, for MMAs behind a barrier, and loads the one behind each: the first is loaded
    /// already.
    ///
    /// # Safety
    /// The scales are stored, nobody else uses the parts; else as of the kernels.
    #[inline(always)]
    pub(super) unsafe fn split_pieces(
        g: &Gemm,
        tile: Coord,
        first: u32,
        count: u32,
        values: &mut [f32; VALUES as usize],
        scales: *const f32,
        parts: *mut f32,
    ) {
        let mut number = first;
        // SAFETY: upheld by the caller.
        unsafe {
            while number != first.wrapping_add(count) {
                if Self::has_piece(number) {
                    Piece::new(number).split(*values, scales, parts);
                }
                if !number.is_multiple_of(2) {
                    wgmma::fence_operands(); // before the load, which it would wait for
                }
                number = compiler::opaque(number.wrapping_add(1)); // or LLVM would unroll the loop
                *values = Self::load_piece(g, tile, number);
            }
        }
    }

    /// Loads a piece; zeros replace what is beyond k, and the last row or column what is beyond m or n.
    ///
    /// # Safety
    /// As of the kernels.
    #[inline(always)]
    unsafe fn load_piece(g: &Gemm, tile: Coord, number: u32) -> [f32; VALUES as usize] {
        let piece = Piece::new(number);
        let p = number / 2 * DEPTH + piece.k;
        let left = g.k.saturating_sub(p);
        let (mut source, stride) = if piece.is_of_b {
            (g.b(p, (tile.col + piece.row).min(g.n - 1)), g.ldb)
        } else {
            (g.a((tile.row + piece.row).min(g.m - 1), p), 1)
        };
        let mut values = [0.0; VALUES as usize];
        // SAFETY: in bounds of A or B, which nothing writes.
        unsafe {
            if !piece.is_of_b && f32x4::aligned(g.a, g.lda) && g.k.is_multiple_of(VEC) {
                let [x, y, z, w] = read_only::load_4_below(source, 0, left);
                let [q, r, s, t] = read_only::load_4_below(source.wrapping_add(VEC as usize), VEC, left);
                values = [x, y, z, w, q, r, s, t];
            } else {
                for i in 0..VALUES {
                    values[i as usize] = read_only::load_below(source, i, left);
                    source = source.wrapping_add(stride);
                }
            }
        }
        values
    }

    /// Whether this thread has that piece: there may be fewer of B.
    #[inline(always)]
    fn has_piece(number: u32) -> bool {
        const {
            assert!(
                BM * (DEPTH / VALUES) == CONSUMER_THREADS && Self::BN <= BM,
                "a thread has a piece of A, and one of B"
            )
        };
        Self::BN == BM || number.is_multiple_of(2) || Piece::new(number).row < Self::BN
    }

    /// Issues the MMAs of parts.
    ///
    /// # Safety
    /// They are written, and nobody writes to them before the MMAs are waited for; all consumers call it.
    #[inline(always)]
    pub(super) unsafe fn issue_mmas_of_parts(parts: *const f32, partial: &mut [f32; ACC]) {
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
            Self::unscale(&own_words, totals);
            Self::store_computed(g, fusion, row, tile.col, words, Computed::ByBf16, smem, totals);
        }
    }
}

/// Eight values along k of a row of A, or a column of B, that a thread splits.
#[derive(Clone, Copy)]
struct Piece {
    is_of_b: bool,
    row: u32,
    k: u32,
}

impl Piece {
    /// This thread's piece of that number: 2 s is of A in step s, and 2 s + 1 of B. Eight lanes write to different banks: they have the even
    /// rows of eight, or the odd ones.
    #[inline(always)]
    fn new(number: u32) -> Self {
        let tid = thread_index();
        let row = tid / 16 * 8 + tid / 2 % 4 * 2 + tid / 8 % 2;
        Self { is_of_b: !number.is_multiple_of(2), row, k: tid % 2 * VALUES }
    }

    /// Where a part of it is, or, behind the last one, its scale: in a row of 128 bytes, which are swizzled. B's rows follow on A's.
    #[inline(always)]
    fn place(self, part: u32) -> usize {
        let row = self.row + u32::from(self.is_of_b) * BM;
        let first = row * (SWIZZLE_BYTES / 4) + ((self.k / VALUES) ^ (row % 8)) * VEC;
        (first ^ (part * DEPTH / VALUES * VEC)) as usize
    }

    /// Scales and splits its values.
    ///
    /// # Safety
    /// Its scale is stored, and nobody else uses its parts.
    #[inline(always)]
    unsafe fn split(self, values: [f32; VALUES as usize], scales: *const f32, parts: *mut f32) {
        // SAFETY: in the row, upheld by the caller.
        let scale = unsafe { f32x4::load(scales.wrapping_add(self.place(PARTS))) };
        let mut rest = values.map(|x| x * scale[0] * scale[1]);
        for part in 0..PARTS {
            let mut pairs = [0.0; VEC as usize];
            for i in 0..VEC as usize {
                let pair = convert::bf16x2(rest[2 * i], rest[2 * i + 1]);
                rest[2 * i] -= f32::from_bits(pair << 16);
                rest[2 * i + 1] -= f32::from_bits(pair & 0xffff_0000);
                pairs[i] = f32::from_bits(pair);
            }
            // SAFETY: in the row, upheld by the caller.
            unsafe { f32x4::store(parts.wrapping_add(self.place(part)), pairs) }
        }
    }
}
