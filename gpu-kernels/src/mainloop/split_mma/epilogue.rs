//! From totals to C, what is certified of them.

use super::SplitMma;
use super::consumer::{place, store_totals};
use crate::epilogue::direct::OCTET;
use crate::epilogue::fusion::Fusion;
use crate::gemm::Gemm;
use crate::hardware::{VEC, WGMMA_M};
use crate::mainloop::warp_specialized;
use crate::prepass::split::hi_lo::HiLo;
use crate::prepass::split::range::powers;
use crate::ptx::{compiler, lanes, wgmma};
use crate::{Ab, CERTIFICATE_BITS, Computed, Coord};

/// The words of a thread's accumulators: of its two rows, and, a lane's own, of every 32nd column.
pub(super) struct Words {
    pub rows: [i32; 2],
    pub columns: [i32; 4],
}

impl<P: HiLo, const ACC: usize, const STAGES: u32> SplitMma<P, ACC, STAGES> {
    /// C = alpha*totals + beta*C, or what is fused with it, for the tile whose columns begin at `col`, where this thread's first
    /// accumulator is in `row`.
    #[inline(always)]
    pub(super) unsafe fn store(g: &Gemm, fusion: impl Fusion<f32>, row: u32, col: u32, totals: &mut [f32; ACC]) {
        // SAFETY: the warp is converged; stores are predicated, and to the thread's own elements.
        unsafe { fusion.store_direct(g, row, col + wgmma::acc_col(), totals) }
    }

    /// The row of this thread's first accumulator, of a tile that begins at `row`.
    #[inline(always)]
    pub(super) fn first_row(row: u32) -> u32 {
        row + warp_specialized::consumer() * WGMMA_M + wgmma::acc_row()
    }

    /// The same of the totals that are results, by `is_result` of the accumulator's number, the element and the total.
    #[inline(always)]
    pub(super) unsafe fn store_computed(
        g: &Gemm,
        fusion: impl Fusion<f32>,
        tile: Coord,
        totals_smem: *mut f32,
        totals: &[f32; ACC],
        is_result: impl FnMut(u32, Coord, f32) -> bool,
    ) {
        let row = compiler::opaque(Self::first_row(tile.row));
        let col = compiler::opaque(tile.col + wgmma::acc_col());
        // SAFETY: the warp is converged; the thread's totals are no longer needed.
        unsafe {
            let element = |i: u32| Coord { row: row + i / 2 % 2 * 8, col: col + i / OCTET as u32 * 8 + i % 2 };
            Self::store_some(g, fusion, totals_smem, totals, element, is_result);
        }
    }

    /// Stores those of a thread's values that are results; number i belongs to `element(i)`. Rare, and therefore short: they are read from
    /// shared memory one by one.
    ///
    /// # Safety
    /// The thread's totals in shared memory are its own. Elements are its own, or out of bounds.
    #[inline(always)]
    pub(super) unsafe fn store_some(
        g: &Gemm,
        fusion: impl Fusion<f32>,
        totals_smem: *mut f32,
        values: &[f32; ACC],
        element: impl Fn(u32) -> Coord,
        mut is_result: impl FnMut(u32, Coord, f32) -> bool,
    ) {
        // SAFETY: stores are predicated.
        unsafe {
            store_totals(totals_smem, values);
            for i in 0..compiler::opaque(ACC as u32) {
                let value = *totals_smem.add(place((i / VEC * VEC) as usize) + (i % VEC) as usize);
                let at = element(i);
                if is_result(i, at, value) {
                    fusion.store_1(g, at.row, at.col, value);
                }
            }
        }
    }

    /// The words of an element's row and column; of the last ones out of bounds.
    ///
    /// # Safety
    /// There are words of all rows and columns.
    #[inline(always)]
    pub(super) unsafe fn words_of(g: &Gemm, words: Ab<*const i32>, at: Coord) -> [i32; 2] {
        // SAFETY: in bounds, upheld by the caller.
        unsafe {
            let row = *words.a.wrapping_add(at.row.min(g.m - 1) as usize);
            let column = *words.b.wrapping_add(at.col.min(g.n - 1) as usize);
            [row, column]
        }
    }

    /// How an element is computed by its words, which are there, as of [`Self::words_of`].
    #[inline(always)]
    pub(super) unsafe fn computed(g: &Gemm, words: Ab<*const i32>, at: Coord) -> Computed {
        // SAFETY: upheld by the caller.
        let [row, column] = unsafe { Self::words_of(g, words, at) };
        Computed::of(row, column)
    }

    /// Undoes the scaling, if there is one. A power of two may overflow f32 where its product with a total does not. So it is two factors, each
    /// the row's times the column's: a large one and a small one are multiplied first.
    #[allow(clippy::needless_range_loop)] // an iterator would keep the accumulators in memory
    #[inline(always)]
    pub(super) unsafe fn unscale(own_words: &Words, totals: &mut [f32; ACC]) {
        if !P::IS_SCALED {
            return;
        }
        let rows = own_words.rows.map(|word| powers(-(word >> CERTIFICATE_BITS)));
        let columns = own_words.columns.map(|word| {
            let [first, second] = powers(-(word >> CERTIFICATE_BITS));
            first.to_bits() >> 16 | second.to_bits() // a power of two has no bits but the first 16
        });
        for octet in 0..ACC / OCTET {
            for right in 0..2 {
                let lane = wgmma::acc_col() + (octet % 4 * 8 + right) as u32;
                // SAFETY: the warp is converged.
                let factors = unsafe { lanes::shuffle(columns[octet / 4], lane) };
                let [first, second] = [f32::from_bits(factors << 16), f32::from_bits(factors & 0xffff_0000)];
                for half in 0..2 {
                    let i = octet * OCTET + 2 * half + right;
                    totals[i] = totals[i] * (rows[half][0] * first) * (rows[half][1] * second);
                }
            }
        }
    }
}
