//! The c(k) that is proven: the book's chapter on error bounds has the same sum, term by term.

use gpu_kernels::{SHORTEST_SPLIT_K, find};

use super::Arithmetic;

/// The error of a split in each operand, 2^-23 of an element; of lo\*lo, which is left out, 2^-22 of a product; and of small elements
/// outside of the window, where nearly all others are large.
const OF_SPLIT: f64 = 2.0 + 2.0 + 4.0 + 1.0;

/// Of MMAs of small products, per k-tile of a sum of them: 2^-10 of 4 MMAs' errors of 10 u.
const OF_SMALL_MMA: f64 = 4.0 * 10.0 / 1024.0;

/// Roundings by alpha and beta.
const OF_SCALARS: f64 = 2.0;

/// What is of second order: (1 + 2^-10) in most terms.
const SECOND_ORDER: f64 = 1.002;

/// An upper bound of the c of every element, by a kernel of this arithmetic.
///
/// # Panics
/// If no kernel has it.
#[must_use]
pub fn proven(arithmetic: Arithmetic, k: usize) -> f64 {
    let k_tile = find(arithmetic.slug()).expect("a step of the ladder").tile.bk as usize;
    let k_tiles = k.div_ceil(k_tile);
    let inner = 1_usize << ((usize::BITS - k_tiles.leading_zeros()) / 2);
    let levels = inner.min(k_tiles) + k_tiles.div_ceil(inner);
    // In fp32: a rounding for each product of a k-tile, and for each sum of both levels but their first.
    let in_fp32 = (k.min(k_tile) + levels.saturating_sub(2)) as f64 + OF_SCALARS;
    if k < SHORTEST_SPLIT_K as usize {
        return in_fp32;
    }
    // Each product of a k-tile loses half a u by alignment, each of its two MMAs 2 u by truncation.
    let of_k_tile = k_tile as f64 / 2.0 + 2.0 * 2.0;
    // The small products are one more summand of the inner level.
    let split = OF_SPLIT + of_k_tile + OF_SMALL_MMA * inner as f64 + (levels - 1) as f64 + OF_SCALARS;
    in_fp32.max(split * SECOND_ORDER)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grading::bound;
    use sgemm::LONGEST_TF32_SPLIT_K;

    /// For every k that the class admits: also where neither sort of element is the worse.
    #[test]
    fn what_is_proven_is_the_guarantee_of_the_class_fp32() {
        assert!(proven(Arithmetic::Tf32x3, LONGEST_TF32_SPLIT_K + 1) > bound(LONGEST_TF32_SPLIT_K + 1, true));
        for (arithmetic, longest) in [(Arithmetic::Fp16x3, 1 << 30), (Arithmetic::Tf32x3, LONGEST_TF32_SPLIT_K)] {
            for k in (1..200_000).chain((200_000..=longest).step_by(99_991)) {
                let (proven, bound) = (proven(arithmetic, k), bound(k, true));
                assert!(proven <= bound, "{} k = {k}: {proven} is more than {bound}", arithmetic.slug());
            }
        }
    }
}
