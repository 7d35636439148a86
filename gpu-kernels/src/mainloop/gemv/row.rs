//! A row of the matrix times a vector, by so many threads: a part of a warp, a warp or several.

use core::ops::Range;

use cuda_std::GpuFloat;
use cuda_std::prelude::*;

use super::load::{Load, Raw};
use super::{SIDE, Strided};
use crate::hardware::WARP;
use crate::ptx::{compiler, read_only};

/// Loads of 16 bytes that a thread has in flight, or four words for each.
const UNROLLED: usize = 4;

/// What k of a row begins at a multiple of, so that it is aligned where the row is: the elements of 16 bytes, at most.
pub(crate) const ALIGNED: u32 = 8;

/// A thread's share of the sum of the products over k of a row, whose elements are adjacent, and a vector. `THREADS` adjacent threads have
/// the row.
///
/// Both are loaded in words of 32 bits: four at once where both are aligned, or else those of adjacent threads side by side. Of an element
/// of 16 bits that has half a word in k, one at each end, it is loaded alone.
///
/// # Safety
/// What is in bounds of k may be read, from a multiple of [`ALIGNED`] on.
#[allow(clippy::needless_range_loop)] // with an iterator, LLVM makes another loop of it
#[inline(always)]
pub(crate) unsafe fn sum<I: Load, const THREADS: u32>(row: *const I, vector: Strided<I>, k: Range<u32>) -> f32 {
    const { assert!(SIDE * I::PER_WORD <= ALIGNED) }
    let thread = thread::thread_idx_x() % THREADS;
    let is_aligned = |start: *const I, words: u32| start.addr().is_multiple_of((words * 4) as usize);
    let is_dense = vector.along_k == 1;
    let is_wide = THREADS >= WARP && is_dense && is_aligned(row, SIDE) && is_aligned(vector.start, SIDE);

    // Whole units are from `first` to `end`; what is before and behind, each of the first threads has an element of.
    let unit = if is_wide { SIDE * I::PER_WORD } else { I::PER_WORD };
    let mut first = (k.start + u32::from(!is_aligned(row, 1))).min(k.end);
    let before = first - k.start;
    let end = first + ((k.end - first) & !(unit - 1));
    let single = if thread < before { k.start + thread } else { end + (thread - before) };
    let vector_at = |p: u32| vector.start.wrapping_add(p as usize * vector.along_k as usize);
    let of_load = THREADS * SIDE * I::PER_WORD; // k of a load of 16 bytes by all threads

    // SAFETY: upheld by the caller (see `# Safety`): in bounds, or not loaded; aligned, just checked.
    unsafe {
        let singles = [row.wrapping_add(single as usize), vector_at(single)].map(|at| I::load_below(at, single, k.end));
        let mut acc = [0.0f32; SIDE as usize];
        while first < end {
            let at = first + thread * unit;
            let (row, left) = (row.wrapping_add(at as usize), end.saturating_sub(at));
            // Both count from `at`.
            let load = |i: usize| i as u32 * of_load;
            let word = |i: usize, v: usize| load(i) + v as u32 * THREADS * I::PER_WORD;
            // What the row does not reach to is skipped: of a short row that is most.
            let is_beyond = |i: usize| i > 0 && first + load(i) >= end;
            let wide = |of: *const I| {
                let mut fours: [Raw; UNROLLED] = [[0; SIDE as usize]; UNROLLED];
                for i in 0..UNROLLED {
                    if is_beyond(i) {
                        break;
                    }
                    let at = of.wrapping_add(load(i) as usize).cast();
                    fours[i] = read_only::load_4_below(at, load(i), left).map(f32::to_bits);
                }
                fours
            };
            let words = |load_word: &dyn Fn(u32) -> u32| {
                let mut words: [Raw; UNROLLED] = [[0; SIDE as usize]; UNROLLED];
                for i in 0..UNROLLED {
                    if is_beyond(i) {
                        break;
                    }
                    words[i] = core::array::from_fn(|v| load_word(word(i, v)));
                }
                words
            };
            let gathered = |along_k: usize| {
                let of = vector_at(at);
                words(&|p| I::gather_below(of.wrapping_add(p as usize * along_k), along_k, p, left))
            };
            let (factors, matrix) = if is_wide {
                (wide(vector_at(at)), wide(row))
            } else {
                let factors = if is_dense { gathered(1) } else { gathered(compiler::opaque(vector.along_k) as usize) };
                (factors, words(&|p| read_only::load_below(row.wrapping_add(p as usize).cast(), p, left).to_bits()))
            };
            for i in 0..UNROLLED {
                if is_beyond(i) {
                    break;
                }
                for v in 0..SIDE as usize {
                    for half in 0..I::PER_WORD {
                        let number = |word: u32| I::number(word >> (16 * half));
                        acc[v] = GpuFloat::mul_add(number(matrix[i][v]), number(factors[i][v]), acc[v]);
                    }
                }
            }
            first = compiler::opaque(first + of_load * UNROLLED as u32); // or LLVM would unroll the loop further
        }
        let [of_row, of_vector] = singles.map(I::number);
        GpuFloat::mul_add(of_row, of_vector, (acc[0] + acc[1]) + (acc[2] + acc[3]))
    }
}
