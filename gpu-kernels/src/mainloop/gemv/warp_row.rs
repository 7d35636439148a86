//! A row of the matrix times a vector, by one warp: no other thread is waited for.

use core::ops::Range;

use cuda_std::GpuFloat;
use cuda_std::warp;

use super::load::{Load, Raw};
use super::reduction::sum_of_lanes;
use super::{SIDE, Strided};
use crate::hardware::WARP;
use crate::ptx::compiler;

/// Loads of a lane that are in flight.
const UNROLLED: usize = 4;

/// The sum of the products over k of a row, whose elements are adjacent, and a vector; the same in all lanes.
///
/// # Safety
/// Every lane of the warp calls it, with the same; what is in bounds of k may be read.
#[inline(always)]
pub(crate) unsafe fn sum<I: Load>(row: *const I, vector: Strided<I>, k: Range<u32>) -> f32 {
    let lane = warp::lane_id();
    let is_aligned = |start: *const I| start.addr().is_multiple_of(SIDE as usize * size_of::<I>());
    let is_wide = is_aligned(row) && k.start.is_multiple_of(SIDE);
    let is_vector_wide = is_wide && vector.along_k == 1 && is_aligned(vector.start);
    let of_warp = WARP * SIDE;
    let at_once = of_warp * I::AT_ONCE;
    let (mut acc, mut first) = ([0.0f32; SIDE as usize], k.start);
    // SAFETY: upheld by the caller (see `# Safety`): in bounds, or not loaded; aligned, just checked.
    unsafe {
        let vector_at = |p: u32| vector.start.wrapping_add(p as usize * vector.along_k as usize);
        // Whole fours, and what is left: one element for each of the first lanes.
        let end = if is_wide { k.end / SIDE * SIDE } else { k.end };
        let last = end + lane;
        if last < k.end {
            let number = |at: *const I| I::number(I::load_below(at, last, k.end));
            acc[0] = number(row.wrapping_add(last as usize)) * number(vector_at(last));
        }
        while first < end {
            if is_wide {
                let at = |i: usize| first + i as u32 * at_once + lane * SIDE;
                let fours = |of: *const I, p: u32| I::load_fours_below(of, of_warp as usize, p, of_warp, end);
                let matrix: [Raw; UNROLLED] = core::array::from_fn(|i| fours(row.wrapping_add(at(i) as usize), at(i)));
                for (i, raw) in matrix.into_iter().enumerate() {
                    let (mut raw, mut of_vector) = (raw, [0; SIDE as usize]);
                    if is_vector_wide {
                        of_vector = fours(vector_at(at(i)), at(i));
                    }
                    for four in 0..I::AT_ONCE {
                        let p = at(i) + four * of_warp;
                        let factors = if is_vector_wide {
                            I::numbers(of_vector)
                        } else {
                            core::array::from_fn(|v| {
                                I::number(I::load_below(vector_at(p + v as u32), p + v as u32, end))
                            })
                        };
                        let numbers = I::numbers(raw);
                        for v in 0..SIDE as usize {
                            acc[v] = GpuFloat::mul_add(numbers[v], factors[v], acc[v]);
                        }
                        (raw, of_vector) = (I::rest(raw), I::rest(of_vector));
                    }
                }
                first += at_once * UNROLLED as u32;
            } else {
                let at = |i: usize, v: usize| first + (i as u32 * SIDE + v as u32) * WARP + lane;
                let load = |i: usize, v: usize| I::load_below(row.wrapping_add(at(i, v) as usize), at(i, v), end);
                let matrix: [Raw; UNROLLED] = core::array::from_fn(|i| core::array::from_fn(|v| load(i, v)));
                for (i, raw) in matrix.into_iter().enumerate() {
                    for v in 0..SIDE as usize {
                        let factor = I::load_below(vector_at(at(i, v)), at(i, v), end);
                        acc[v] = GpuFloat::mul_add(I::number(raw[v]), I::number(factor), acc[v]);
                    }
                }
                first += of_warp * UNROLLED as u32;
            }
            first = compiler::opaque(first); // or LLVM would unroll the loop further
        }
    }
    // SAFETY: every lane is here.
    unsafe { sum_of_lanes((acc[0] + acc[1]) + (acc[2] + acc[3]), WARP) }
}
