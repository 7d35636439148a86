//! Rows of the matrix times a vector, by so many threads: a part of a warp, a warp or several. What a thread loads of the vector, it
//! multiplies with all of its rows.

use core::ops::Range;

use cuda_std::GpuFloat;
use cuda_std::prelude::*;

use super::load::{Load, Raw};
use super::{SIDE, Strided};
use crate::hardware::WARP;
use crate::ptx::{compiler, read_only};

/// What k of a row begins at a multiple of, so that it is aligned where the row is: the elements of 16 bytes, at most.
pub(crate) const ALIGNED: u32 = 8;

/// What a thread loads of the vector at once, or of a row: LOADS times 16 bytes.
type Line<const LOADS: usize> = [Raw; LOADS];

/// A thread's share of the sums of the products over k of each of ROWS rows, `lda` elements apart, whose elements are adjacent, and a
/// vector. `THREADS` adjacent threads have these rows. Of those beyond `rows`, nothing is loaded.
///
/// Both are loaded in words of 32 bits: four at once where all are aligned, or else those of adjacent threads side by side. Elements of 16
/// bits are loaded alone where words are not aligned. A row of its own is loaded four words at once wherever it begins.
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
    let is_aligned = |start: *const I, count: u32| start.addr().is_multiple_of(count as usize * size_of::<I>());
    let has_whole =
        |count: u32| is_aligned(row, count) & lda.is_multiple_of(count as usize) & k.end.is_multiple_of(count);
    let of_load = SIDE * I::PER_WORD;
    let is_wide = THREADS >= WARP && vector.along_k == 1 && is_aligned(vector.start, of_load) && has_whole(of_load);
    if ROWS == 1 && !is_wide {
        // SAFETY: upheld by the caller (see `# Safety`).
        return [unsafe { sum_of_row::<I, THREADS, LOADS>(row, vector, k) }; ROWS];
    }
    let has_words = I::PER_WORD == 1 || has_whole(I::PER_WORD);
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
                if has_words {
                    load_words::<I, ROWS, LOADS, true>(&mut matrix, line, left_of, place, is_beyond);
                } else {
                    load_words::<I, ROWS, LOADS, false>(&mut matrix, line, left_of, place, is_beyond);
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
        add::<I, ROWS, LOADS>(&matrix, &factors, is_beyond, &mut acc);
        first = compiler::opaque(first + of_all * LOADS as u32); // or LLVM would unroll the loop further
    }
    acc.map(|[even, odd]| even + odd)
}

/// The same of one row, at any alignment: a thread has what is between multiples of 16 bytes of the row, and loads it at once unless k
/// begins or ends there. Elements of the vector are loaded alone.
///
/// # Safety
/// As of [`sums`], with k from anywhere on.
#[allow(clippy::needless_range_loop)] // likewise
#[inline(always)]
unsafe fn sum_of_row<I: Load, const THREADS: u32, const LOADS: usize>(
    row: *const I,
    vector: Strided<I>,
    k: Range<u32>,
) -> f32 {
    let of_load = SIDE * I::PER_WORD;
    let of_all = THREADS * of_load;
    let along_k = vector.along_k as usize;
    let (row, factor) = (row.wrapping_add(k.start as usize), vector.at(0, k.start));
    let left = k.end.saturating_sub(k.start);
    // Indices of loads that are in k: others, also those before it, are no less.
    let whole = (left + 1).saturating_sub(of_load);
    let before = (row.addr() / size_of::<I>()) as u32 % of_load;
    let mut first = thread::thread_idx_x() % THREADS * of_load;

    let mut acc = [[0.0f32; 2]; 1];
    while first < left + before {
        let is_beyond = |i: usize| i > 0 && first + i as u32 * of_all >= left + before;
        let (mut factors, mut matrix) = ([[0; SIDE as usize]; LOADS], [[[0; SIDE as usize]; LOADS]; 1]);
        for i in 0..LOADS {
            if is_beyond(i) {
                break;
            }
            let index = (first + i as u32 * of_all).wrapping_sub(before);
            let at = |p: u32| index.wrapping_add(p).cast_signed() as isize;
            // SAFETY: upheld by the caller (see `# Safety`): in bounds, or not loaded; aligned, as so many are before k.
            unsafe {
                matrix[0][i] = read_only::load_4_below(row.wrapping_offset(at(0)).cast(), index, whole).map(f32::to_bits);
                let gather = |from: *const I, along: usize, v: usize| {
                    let p = v as u32 * I::PER_WORD;
                    let from = from.wrapping_offset(at(p) * along as isize);
                    I::gather_below(from, along, index.wrapping_add(p), left)
                };
                if index >= whole {
                    matrix[0][i] = core::array::from_fn(|v| gather(row, 1, v));
                }
                factors[i] = core::array::from_fn(|v| gather(factor, along_k, v));
            }
        }
        add::<I, 1, LOADS>(&matrix, &factors, is_beyond, &mut acc);
        first = compiler::opaque(first + of_all * LOADS as u32); // or LLVM would unroll the loop further
    }
    acc[0][0] + acc[0][1]
}

/// Loads words of adjacent elements of each row, each as of [`Load::gather_below`]; by one load where words are whole. All loads are in
/// flight together, unless they are beyond.
///
/// # Safety
/// As of [`Load::gather_below`], and where words are whole, each is at a multiple of 4 bytes.
#[allow(clippy::needless_range_loop)] // likewise
#[inline(always)]
unsafe fn load_words<I: Load, const ROWS: usize, const LOADS: usize, const ARE_WHOLE: bool>(
    matrix: &mut [Line<LOADS>; ROWS],
    line: impl Fn(usize) -> *const I,
    left_of: impl Fn(usize) -> u32,
    place: impl Fn(usize, usize) -> u32,
    is_beyond: impl Fn(usize) -> bool,
) {
    for i in 0..LOADS {
        if is_beyond(i) {
            break;
        }
        for r in 0..ROWS {
            for v in 0..SIDE as usize {
                let p = place(i, v);
                let from = line(r).wrapping_add(p as usize);
                // SAFETY: upheld by the caller (see `# Safety`).
                matrix[r][i][v] = unsafe {
                    if ARE_WHOLE {
                        read_only::load_below(from.cast(), p, left_of(r)).to_bits()
                    } else {
                        I::gather_below(from, 1, p, left_of(r))
                    }
                };
            }
        }
    }
}

/// Adds the products of each row's line and the vector's.
#[allow(clippy::needless_range_loop)] // likewise
#[inline(always)]
fn add<I: Load, const ROWS: usize, const LOADS: usize>(
    matrix: &[Line<LOADS>; ROWS],
    factors: &Line<LOADS>,
    is_beyond: impl Fn(usize) -> bool,
    acc: &mut [[f32; 2]; ROWS],
) {
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
}
