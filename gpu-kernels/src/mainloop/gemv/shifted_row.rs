//! Rows of 16-bit elements that begin anywhere, times a vector: 16 bytes of a row at a time nevertheless.
//!
//! ```text
//!                lead  one load
//!   row        │  0 1│2 3 4 5│6 7 8 9│          at multiples of 16 bytes
//!   vector     │0 1 2 3│4 5 6 7│8 9 ..│          the same, two loads of which are shifted together
//! ```

use core::array::from_fn;
use core::ops::Range;

use cuda_std::prelude::*;

use super::SIDE;
use super::load::{Load, Raw};
use super::row::{ALIGNED, Line, add};
use crate::hardware::WARP;
use crate::ptx::{compiler, read_only};

/// Threads that load what is before a row's whole loads, one element each, and those that load what is behind: less than two loads.
const OF_LEAD: u32 = ALIGNED;
const OF_REST: u32 = 2 * ALIGNED;

/// As of [`row::sums`](super::row::sums), of a vector whose elements are adjacent.
///
/// # Safety
/// As there, by a warp at least; what is at multiples of 16 bytes from the vector's start on is aligned.
#[allow(clippy::needless_range_loop)] // with an iterator, LLVM makes another loop of it
#[inline(always)]
pub(super) unsafe fn sums<I: Load, const THREADS: u32, const ROWS: usize, const LOADS: usize>(
    row: *const I,
    lda: usize,
    rows: u32,
    vector: *const I,
    k: Range<u32>,
) -> [f32; ROWS] {
    const { assert!(SIDE * I::PER_WORD <= OF_LEAD && OF_LEAD + OF_REST <= WARP) }
    let thread = thread::thread_idx_x() % THREADS;
    let of_load = SIDE * I::PER_WORD;
    let (row, vector) = (row.wrapping_add(k.start as usize), vector.wrapping_add(k.start as usize));
    let k = k.end.saturating_sub(k.start);
    let start: [*const I; ROWS] = from_fn(|r| row.wrapping_add(r * lda));
    let lead: [u32; ROWS] = from_fn(|r| (start[r].addr() / size_of::<I>()).wrapping_neg() as u32 % of_load);
    // Whole loads of every row, each with two whole ones of the vector.
    let loads = (k / of_load).saturating_sub(1);

    let mut acc = [[0.0f32; 2]; ROWS];
    let mut first = 0;
    while first < loads {
        let at = first + thread;
        // Where rows are short that is most.
        let is_beyond = |i: usize| i > 0 && first + i as u32 * THREADS >= loads;
        let (mut matrix, mut near, mut far) =
            ([[[0; SIDE as usize]; LOADS]; ROWS], [[0; SIDE as usize]; LOADS], [[0; SIDE as usize]; LOADS]);
        // SAFETY: upheld by the caller (see `# Safety`): in bounds, or not loaded; aligned, by the lead.
        unsafe {
            let load = |from: *const I, at: u32, loads: u32| {
                let from = from.wrapping_add((at * of_load) as usize);
                read_only::load_4_below(from.cast(), at, loads).map(f32::to_bits)
            };
            for i in 0..LOADS {
                if is_beyond(i) {
                    break;
                }
                let at = at + i as u32 * THREADS;
                for r in 0..ROWS {
                    let loads = if (r as u32) < rows { loads } else { 0 };
                    matrix[r][i] = load(start[r].wrapping_add(lead[r] as usize), at, loads);
                }
                near[i] = load(vector, at, loads);
                far[i] = load(vector.wrapping_add(of_load as usize), at, loads);
            }
        }
        for r in 0..ROWS {
            let lead = compiler::opaque(lead[r]); // or its masks would be in registers throughout the loop
            let factors: Line<LOADS> = from_fn(|i| shifted::<I>(near[i], far[i], lead));
            [acc[r]] = add::<I, 1, LOADS>(&[matrix[r]], &factors, is_beyond, [acc[r]]);
        }
        first = compiler::opaque(first + THREADS * LOADS as u32); // or LLVM would unroll the loop further
    }

    for r in 0..ROWS {
        let (p, end) =
            if thread < OF_LEAD { (thread, lead[r].min(k)) } else { (lead[r] + loads * of_load + thread - OF_LEAD, k) };
        let end = if (r as u32) < rows && thread < OF_LEAD + OF_REST { end } else { 0 };
        // SAFETY: upheld by the caller (see `# Safety`): in bounds, or not loaded.
        unsafe {
            let number = I::number(I::load_below(start[r].wrapping_add(p as usize), p, end));
            let factor = I::number(I::load_below(vector.wrapping_add(p as usize), p, end));
            acc[r][0] += number * factor;
        }
    }
    acc.map(|[even, odd]| even + odd)
}

/// A load's elements from `lead` on, of two that are adjacent.
#[inline(always)]
fn shifted<I: Load>([a, b, c, d]: Raw, [e, f, g, h]: Raw, lead: u32) -> Raw {
    let words = lead / I::PER_WORD;
    // By masks: of branches, LLVM makes indices into memory.
    let by_two = |near: u32, far: u32| pick(words & 2 != 0, near, far);
    let by_one = |near: u32, far: u32| pick(words & 1 != 0, near, far);
    let [a, b, c, d, e, f] = [by_two(a, c), by_two(b, d), by_two(c, e), by_two(d, f), by_two(e, g), by_two(f, h)];
    let [a, b, c, d, e] = [by_one(a, b), by_one(b, c), by_one(c, d), by_one(d, e), by_one(e, f)];
    let bits = lead % I::PER_WORD * 16;
    [(a, b), (b, c), (c, d), (d, e)].map(|(near, far)| ((u64::from(far) << 32 | u64::from(near)) >> bits) as u32)
}

/// One of two words.
#[inline(always)]
fn pick(is_far: bool, near: u32, far: u32) -> u32 {
    let mask = u32::from(is_far).wrapping_neg();
    near & !mask | far & mask
}
