//! Random shapes, the same ones for a seed.

use gpu_kernels::MAX_SIZE;
use rand::{RngExt, SeedableRng, rngs::StdRng};

/// The largest size of each dimension.
const MOST: u32 = 18_000;

/// The most floating-point operations of a shape.
const MOST_FLOPS: f64 = 1.5e12;

/// What every other shape's sizes are multiples of.
const MULTIPLE: u32 = 8;

const _: () = assert!(MOST <= MAX_SIZE && MOST.is_multiple_of(MULTIPLE));

/// So many shapes, m, n and k: each size log-uniform from 1 to 18000, those of every other shape rounded to multiples of 8, and
/// shapes of more than 1.5e12 FLOPs drawn again.
#[must_use]
pub fn shapes(count: u32, seed: u64) -> Vec<[u32; 3]> {
    let mut rng = StdRng::seed_from_u64(seed);
    let mut size = |multiple: u32| {
        let log = rng.random::<f64>() * f64::from(MOST + 1).ln();
        // Rounded down: 1 is as likely as 2 and 3 together.
        let size = (log.exp() as u32).clamp(1, MOST);
        (f64::from(size) / f64::from(multiple)).round().max(1.0) as u32 * multiple
    };
    let mut shape = |number: u32| loop {
        let shape = [0; 3].map(|_| size(if number.is_multiple_of(2) { MULTIPLE } else { 1 }));
        if 2.0 * shape.map(f64::from).iter().product::<f64>() <= MOST_FLOPS {
            return shape;
        }
    };
    (0..count).map(&mut shape).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_same_shapes_for_ever() {
        let shapes = super::shapes(200, 1);
        // Whatever becomes of the generator, published figures are of these.
        assert_eq!(shapes[..4], [[13984, 872, 64], [5, 12, 12478], [48, 1032, 160], [43, 7, 1]]);
        assert_eq!(super::shapes(10, 1), shapes[..10], "the number of shapes does not change the first ones");
        assert_ne!(super::shapes(200, 2), shapes);
    }

    #[test]
    fn shapes_are_within_bounds_and_half_of_them_multiples() {
        let shapes = super::shapes(4000, 7);
        assert!(shapes.iter().flatten().all(|size| (1..=MOST).contains(size)));
        assert!(shapes.iter().all(|shape| 2.0 * shape.map(f64::from).iter().product::<f64>() <= MOST_FLOPS));
        let multiples = shapes.iter().filter(|shape| shape.iter().all(|size| size.is_multiple_of(MULTIPLE))).count();
        assert!((2000..2030).contains(&multiples), "{multiples}");
        assert!(shapes.iter().skip(1).step_by(2).any(|shape| shape.contains(&1)));
    }

    #[test]
    fn sizes_are_log_uniform() {
        // Without the bound on FLOPs, a size's logarithm would be uniform: of the smallest dimension it hardly matters.
        let shapes = super::shapes(20_000, 3);
        let below = |limit: u32| {
            let of_size =
                |place: usize| shapes.iter().filter(|shape| shape[place] < limit).count() as f64 / shapes.len() as f64;
            [0, 1, 2].map(of_size)
        };
        for limit in [24, 160, 1000] {
            let expected = f64::from(limit).ln() / f64::from(MOST + 1).ln();
            for share in below(limit) {
                assert!((share - expected).abs() < 0.03, "{limit}: {share}, not {expected}");
            }
        }
    }
}
