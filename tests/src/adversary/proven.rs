//! The c(k) that is proven: the book's chapter on error bounds has the same sum, term by term.

use gpu_kernels::{BF16_TOP, InnerSums, LONGEST_COUNTED_K, SHORTEST_SPLIT_K, find, least_certified_sum};

use super::Arithmetic;
use super::model::{DEPTH, summands};
use crate::grading::UNIT_ROUNDOFF;

/// The error of a split in each operand, 2^-23 of an element; of lo\*lo, which is left out, 2^-22 of a product; and of small elements.
const OF_SPLIT: f64 = 2.0 + 2.0 + 4.0 + OF_SMALL_ELEMENTS;

/// Of elements outside of the window, where nearly all others are large.
const OF_SMALL_ELEMENTS: f64 = 1.0;

/// Of MMAs of small products, per k-tile of a sum of them: 2^-10 of 4 MMAs' errors of 10 u.
const OF_SMALL_MMA: f64 = 4.0 * 10.0 / 1024.0;

/// Of three bf16: what is left out, first\*third and less in either direction, 2^-24 of a product.
const OF_BF16_SPLIT: f64 = 1.0;

/// An MMA of 16 products loses half a u of each by alignment, and 2 u by truncation.
const OF_BF16_MMA: f64 = 10.0;

/// MMAs of small bf16 products lose as much of what they have added up, which is below 1/32 of all, together.
const OF_SMALL_BF16: f64 = OF_BF16_MMA / 32.0;

/// What underflows of a scaled product whose factors have bits below those of bf16: 2^-78.
const UNDERFLOW: f64 = 1.0 / (1u128 << 78) as f64;

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
    // Sums in the inner level, at most, and in both but their first.
    let levels = |sums, all: usize| {
        let inner = summands(sums, all);
        (inner, (inner.min(all) + all.div_ceil(inner)).saturating_sub(1))
    };
    // In fp32: a rounding for each product of a sum of the first level, and for each sum of both others but their first.
    let (_, additions) = levels(InnerSums::OF_OTHERS, k.div_ceil(DEPTH));
    let in_fp32 = (k.min(DEPTH) + additions.saturating_sub(1)) as f64 + OF_SCALARS;
    if k < SHORTEST_SPLIT_K as usize {
        return in_fp32;
    }
    let by_bf16 = if arithmetic == Arithmetic::Fp16x3 && k <= LONGEST_COUNTED_K as usize {
        // Where sums decide, the least certified one, scaled: as if the largest elements' exponents added up to 0.
        let least_sum = f64::from(least_certified_sum(0)) * 2f64.powi(2 * BF16_TOP);
        let of_underflow = f64::from(LONGEST_COUNTED_K) * UNDERFLOW / (UNIT_ROUNDOFF * least_sum);
        let of_steps = OF_BF16_SPLIT + OF_BF16_MMA + OF_SMALL_BF16 + of_underflow;
        (of_steps + (additions - 1) as f64 + OF_SCALARS) * SECOND_ORDER
    } else {
        0.0
    };
    let k_tile = find(arithmetic.slug()).expect("a step of the ladder").tile.bk as usize;
    let (inner, additions) = levels(arithmetic.inner_sums(), k.div_ceil(k_tile));
    // Each product of a k-tile loses half a u by alignment, each of its two MMAs 2 u by truncation.
    let of_k_tile = k_tile as f64 / 2.0 + 2.0 * 2.0;
    // The small products are one more summand of the inner level.
    let split = OF_SPLIT + of_k_tile + OF_SMALL_MMA * inner as f64 + additions as f64 + OF_SCALARS;
    in_fp32.max(by_bf16).max(split * SECOND_ORDER)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grading::bound;
    use gpu_kernels::{CERTIFICATE_BITS, Magnitudes};
    use sgemm::LONGEST_TF32_SPLIT_K;

    /// Every k at which what is proven grows, up to that one: in a k-tile, with each summand of the only sum of the inner level, with
    /// each sum of the outer one, and where the sums of the inner one become longer. Between them the guarantee alone grows.
    fn steps(sums: InnerSums, k_tile: usize, longest: usize) -> impl Iterator<Item = usize> {
        let tiles = std::iter::successors(Some(1_usize), move |&k_tiles| {
            let inner = summands(sums, k_tiles);
            let next = if k_tiles < inner { k_tiles + 1 } else { k_tiles.div_ceil(inner) * inner + 1 };
            Some(next.min(1 << (usize::BITS - k_tiles.leading_zeros())))
        });
        let firsts = tiles.map(move |k_tiles| k_tile * (k_tiles - 1) + 1).take_while(move |first| *first <= longest);
        (1..4 * k_tile).chain(firsts)
    }

    /// For every k that the class admits: also where neither sort of element is the worse.
    #[test]
    fn what_is_proven_is_the_guarantee_of_the_class_fp32() {
        let of_tf32 = LONGEST_TF32_SPLIT_K;
        assert!(proven(Arithmetic::Tf32x3, of_tf32 + 1) > bound(of_tf32 + 1, true));
        for (arithmetic, longest) in [(Arithmetic::Fp16x3, 1 << 30), (Arithmetic::Tf32x3, of_tf32)] {
            // Of the split, and of what it is not certified for.
            let k_tile = find(arithmetic.slug()).unwrap().tile.bk as usize;
            let steps = |longest| {
                steps(arithmetic.inner_sums(), k_tile, longest).chain(steps(InnerSums::OF_OTHERS, DEPTH, longest))
            };
            let others = (2..3000).filter(|k| steps(3000).all(|step| step != *k));
            others.for_each(|k| assert!(proven(arithmetic, k) <= proven(arithmetic, k - 1), "{k} is a step"));
            for k in steps(longest).chain([longest]) {
                let (proven, bound) = (proven(arithmetic, k), bound(k, true));
                assert!(proven <= bound, "{} k = {k}: {proven} is more than {bound}", arithmetic.slug());
            }
        }
    }

    /// The certificates of a row or column of 1024 elements: so many are not zero, and together they are so many binades below the
    /// largest, the smallest of them that many.
    fn certificates(of_b: bool, count: u32, depth: u32, smallest: u32) -> u32 {
        let of = Magnitudes {
            largest: 1.0_f32.to_bits(),
            smallest: 1.0_f32.to_bits() - (smallest << 23),
            count: count as f32,
            exponents: (127 * count - depth) as f32,
        };
        of.certificates_of_f16(1024, of_b)
    }

    /// The least count and the largest depth with that certificate, where some element is outside of the window.
    fn least_dense(of_b: bool, bit: u32) -> Option<[f64; 2]> {
        let has = |count, depth| certificates(of_b, count, depth, 100) >> bit & 1 == 1;
        let count = (1..=1024).find(|count| has(*count, 0))?;
        let depth = (0..1024 * 100).take_while(|depth| has(1024, *depth)).last()?;
        Some([count, depth].map(|number| f64::from(number) / 1024.0))
    }

    /// The chapter's section on elements below the window, with the code's thresholds, for each k.
    #[test]
    fn dense_rows_lose_no_more_than_is_counted() {
        let window = (1..100).find(|binades| certificates(false, 1024, 0, *binades) & 1 == 0).expect("it ends");
        assert_eq!(window, 28);
        let pairs = (0..CERTIFICATE_BITS).filter_map(|bit| Some((least_dense(false, bit)?, least_dense(true, bit)?)));
        let lost: Vec<f64> = pairs
            .map(|([a, of_a], [b, of_b])| {
                let (both, depth) = (a + b - 1.0, of_a + of_b);
                let products = both * (28.0 - depth / both).exp2();
                let of_split = depth / f64::from(window) * (-20_f64).exp2();
                let of_alignment = 17.0 / 16.0 * (-25_f64).exp2();
                (of_split + of_alignment) / (UNIT_ROUNDOFF * products)
            })
            .collect();
        assert_eq!(lost.len(), 3, "mostly and partly, partly and mostly, mostly and mostly");
        assert!(lost.iter().all(|lost| (0.0..0.99 * OF_SMALL_ELEMENTS).contains(lost)), "{lost:?}");
    }
}
