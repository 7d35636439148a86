//! Rows of the matrix times a vector, by so many threads: a part of a warp, a warp or several. What a thread loads of the vector, it
//! multiplies with all of its rows.

use core::ops::Range;

use cuda_std::GpuFloat;
use cuda_std::prelude::*;

use super::load::{Load, Raw};
use super::{SIDE, Strided, shifted_row};
use crate::hardware::WARP;
use crate::ptx::{compiler, read_only};

/// What k of a row begins at a multiple of, so that it is aligned where the row is: the elements of 16 bytes, at most.
pub(crate) const ALIGNED: u32 = 8;

/// What a thread loads of the vector at once, or of a row: LOADS times 16 bytes.
pub(super) type Line<const LOADS: usize> = [Raw; LOADS];

/// A thread's share of the sums of the products over k of each of ROWS rows, `lda` elements apart, whose elements are adjacent, and a
/// vector. `THREADS` adjacent threads have these rows. Of those beyond `rows`, nothing is loaded.
///
/// Both are loaded in words of 32 bits: four at once where all are aligned, or else those of adjacent threads side by side. Elements of 16
/// bits are loaded four words at once wherever rows begin, or alone where the vector's are not adjacent and
/// aligned.
///
/// # Safety
/// What is in bounds of k may be read, from a multiple of [`ALIGNED`] on.
#[allow(clippy::needless_range_loop)] // with an iterator, LLVM makes another loop of it
#[inline(always)]
pub(crate) unsafe fn sums<I: Load, const THREADS: u32, const ROWS: usize, const LOADS: usize>(
    row: *const I,
    lda: usize,
    rows: u32,
    vector: Strided<I>,
    k: Range<u32>,
) -> [f32; ROWS] {
    const { assert!(SIDE * I::PER_WORD <= ALIGNED) }
    let thread = thread::thread_idx_x() % THREADS;
    let of_load = SIDE * I::PER_WORD;
    let is_aligned = |start: *const I| start.addr().is_multiple_of(of_load as usize * size_of::<I>());
    let may_be_wide = THREADS >= WARP && vector.along_k == 1 && is_aligned(vector.start);
    let is_wide = may_be_wide && is_aligned(row) & lda.is_multiple_of(of_load as usize) & k.end.is_multiple_of(of_load);
    if I::PER_WORD > 1 && may_be_wide && !is_wide {
        // SAFETY: upheld by the caller (see `# Safety`); aligned, just checked.
        return unsafe {
            match ROWS {
                1 => shifted_row::sums::<I, THREADS, ROWS, 3>(row, lda, rows, vector.start, k),
                _ => shifted_row::sums::<I, THREADS, ROWS, 1>(row, lda, rows, vector.start, k),
            }
        };
    }
    let unit = if is_wide { of_load } else { I::PER_WORD };
    let of_all = THREADS * of_load; // k of a load of 16 bytes by all threads

    let mut acc = [[0.0f32; 2]; ROWS];
    let mut first = k.start;
    while first < k.end {
        let at = first + thread * unit;
        let left = k.end.saturating_sub(at);
        let left_of = |r: usize| if (r as u32) < rows { left } else { 0 };
        // All count from `at`.
        let line = |r: usize| row.wrapping_add(r * lda + at as usize);
        let of_vector = vector.at(0, at);
        // What rows do not reach to is skipped: where they are short that is most.
        let is_beyond = |i: usize| i > 0 && first + i as u32 * of_all >= k.end;
        let (mut factors, mut matrix) = ([[0; SIDE as usize]; LOADS], [[[0; SIDE as usize]; LOADS]; ROWS]);
        // SAFETY: upheld by the caller (see `# Safety`): in bounds, or not loaded; aligned, just checked.
        unsafe {
            if is_wide {
                let load = |from: *const I, p: u32, left: u32| {
                    read_only::load_4_below(from.wrapping_add(p as usize).cast(), p, left).map(f32::to_bits)
                };
                for i in 0..LOADS {
                    if is_beyond(i) {
                        break;
                    }
                    let p = i as u32 * of_all;
                    for r in 0..ROWS {
                        matrix[r][i] = load(line(r), p, left_of(r));
                    }
                    factors[i] = load(of_vector, p, left);
                }
            } else {
                let place = |i: usize, v: usize| i as u32 * of_all + v as u32 * THREADS * I::PER_WORD;
                for i in 0..LOADS {
                    if is_beyond(i) {
                        break;
                    }
                    for r in 0..ROWS {
                        for v in 0..SIDE as usize {
                            let p = place(i, v);
                            matrix[r][i][v] = I::gather_below(line(r).wrapping_add(p as usize), 1, p, left_of(r));
                        }
                    }
                }
                let along_k = vector.along_k as usize;
                for i in 0..LOADS {
                    if is_beyond(i) {
                        break;
                    }
                    for v in 0..SIDE as usize {
                        let p = place(i, v);
                        factors[i][v] = I::gather_below(of_vector.wrapping_add(p as usize * along_k), along_k, p, left);
                    }
                }
            }
        }
        acc = add::<I, ROWS, LOADS>(&matrix, &factors, is_beyond, acc);
        first = compiler::opaque(first + of_all * LOADS as u32); // or LLVM would unroll the loop further
    }
    acc.map(|[even, odd]| even + odd)
}

/// The sums, with the products of each row's line and the vector's.
#[allow(clippy::needless_range_loop)] // likewise
#[inline(always)]
pub(super) fn add<I: Load, const ROWS: usize, const LOADS: usize>(
    matrix: &[Line<LOADS>; ROWS],
    factors: &Line<LOADS>,
    is_beyond: impl Fn(usize) -> bool,
    mut acc: [[f32; 2]; ROWS],
) -> [[f32; 2]; ROWS] {
    for i in 0..LOADS {
        if is_beyond(i) {
            break;
        }
        for v in 0..SIDE as usize {
            let factor = I::unpack(factors[i][v]);
            for r in 0..ROWS {
                let number = I::unpack(matrix[r][i][v]);
                for n in 0..I::PER_WORD as usize {
                    acc[r][v % 2] = GpuFloat::mul_add(number[n], factor[n], acc[r][v % 2]);
                }
            }
        }
    }
    acc
}
