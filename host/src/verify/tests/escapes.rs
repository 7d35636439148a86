//! How large an error may be that passes the check of whole rows and columns: no larger than its bound, wherever it is.

use gpu_kernels::{Element, Precision};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

use super::super::element::round;
use super::super::error_bound::ErrorBound;
use super::super::freivalds::Freivalds;
use super::super::reference::Reference;
use crate::{Matrix, Operands, Problem};

/// Arithmetics, and how large a bound may be in a result whose elements have a mean square of 1. A rounding of 16 bits errs by up to 2^-9
/// of an element in bf16, and 2^-12 in f16.
const ARITHMETICS: [(Precision, Element, f64); 3] = [
    (Precision::Fp32, Element::F32, 1e-4),
    (Precision::F16, Element::F16, 0.02),
    (Precision::Bf16, Element::Bf16, 0.15),
];

/// Random weights, errors of each kind that are tried with each, and elements: (row, column, error).
const WEIGHTS: u64 = 20;
const ERRORS: usize = 10;
type Errors = Vec<(usize, usize, f64)>;

struct Right {
    problem: Problem,
    fresh: Operands,
    c: Matrix,
    error_bound: ErrorBound,
}

impl Right {
    fn new([m, n, k]: [u32; 3], precision: Precision, output: Element) -> Self {
        let problem = Problem::new(m, n, k).unwrap().with_elements(precision.input(), output).unwrap().with_seed(11);
        let fresh = Operands::random(&problem).unwrap();
        let reference = Reference::new(&problem, &fresh, (0..m as usize).collect(), 0..n as usize);
        let mut c = fresh.c.clone();
        for (row, expected) in reference.expected.chunks(n as usize).enumerate() {
            c.row_mut(row).iter_mut().zip(expected).for_each(|(c, &sum)| *c = round(output, sum as f32));
        }
        Self { problem, fresh, c, error_bound: ErrorBound::new(&problem, precision) }
    }

    /// Writes these values, checks, and writes the right ones again: whether it was found, and the errors.
    fn is_found(&mut self, freivalds: &Freivalds, values: &[(usize, usize, f32)]) -> (bool, Errors) {
        let old: Vec<_> = values.iter().map(|&(row, column, _)| self.c.get(row, column)).collect();
        values.iter().for_each(|&(row, column, value)| self.c.set(row, column, value));
        let found = freivalds.check(&self.c, &self.error_bound).is_some();
        let error = |(&(row, column, _), &old): (&(usize, usize, f32), &f32)| {
            (row, column, f64::from(self.c.get(row, column)) - f64::from(old))
        };
        let errors = values.iter().zip(&old).map(error).collect();
        values.iter().zip(&old).for_each(|(&(row, column, _), &old)| self.c.set(row, column, old));
        (found, errors)
    }
}

/// Errors that passed, as multiples of their bounds, of so many; and the largest bound, relative to the root mean square.
#[derive(Debug, Default)]
struct Passed {
    of: usize,
    multiples: Vec<f64>,
    largest_bound: f64,
}

/// An element that is 0, and +d -d -d +d in a rectangle, of up to 100 times an element's bound.
fn try_errors(sizes: [u32; 3], precision: Precision, output: Element) -> [Passed; 2] {
    let mut right = Right::new(sizes, precision, output);
    let mean_square = f64::from(sizes[2]) / 9.0;
    let mut passed = [Passed::default(), Passed::default()];
    for seed in 0..WEIGHTS {
        let mut rng = SmallRng::seed_from_u64(seed);
        let freivalds = Freivalds::new(&right.problem, &right.fresh, &mut rng);
        assert_eq!(freivalds.check(&right.c, &right.error_bound), None, "{precision:?}: the right result");
        for _ in 0..ERRORS {
            let mut place = || (rng.random_range(0..sizes[0] as usize), rng.random_range(0..sizes[1] as usize));
            let [(row, column), (other_row, other_column)] = [place(), place()];
            let bound = |right: &Right, row, column| freivalds.surely_found(&right.c, &right.error_bound, row, column);
            let d = bound(&right, row, column) * 100f64.powf(rng.random::<f64>());
            let corner = |row, column, d| (row, column, (f64::from(right.c.get(row, column)) + d) as f32);
            let rectangle = [
                corner(row, column, d),
                corner(row, other_column, -d),
                corner(other_row, column, -d),
                corner(other_row, other_column, d),
            ];
            for (passed, values) in passed.iter_mut().zip([&[(row, column, 0.0)][..], &rectangle]) {
                let (found, errors) = right.is_found(&freivalds, values);
                let of_bound = |&(row, column, error): &(usize, usize, f64)| error.abs() / bound(&right, row, column);
                let largest = bound(&right, row, column) / mean_square.sqrt();
                passed.largest_bound = passed.largest_bound.max(largest);
                passed.of += 1;
                passed.multiples.extend((!found).then(|| errors.iter().map(of_bound).fold(0.0, f64::max)));
            }
        }
    }
    passed
}

fn no_error_above_its_bound_passes(sizes: [u32; 3], scale: f64) {
    for (precision, output, most) in ARITHMETICS {
        let passed = try_errors(sizes, precision, output);
        for (what, Passed { of, multiples, largest_bound }) in
            ["an element of 0", "a rectangle"].into_iter().zip(passed)
        {
            let largest = multiples.iter().copied().fold(0.0, f64::max);
            println!(
                "{precision:?} {sizes:?}, {what}: {} of {of} pass, up to {largest:.2} of their bound; bounds up to {largest_bound:.1e}",
                multiples.len()
            );
            assert!(largest <= 1.0 && largest_bound < scale * most && of >= 200, "{precision:?}: {what}");
        }
    }
}

#[test]
fn no_error_above_its_bound_passes_in_any_arithmetic() {
    no_error_above_its_bound_passes([256, 2048, 1024], 1.0);
}

#[test]
#[ignore = "minutes"]
fn no_error_above_its_bound_passes_in_large_results() {
    no_error_above_its_bound_passes([512, 4096, 4096], 2.0);
    // A sum has eight times as many elements.
    no_error_above_its_bound_passes([4096, 4096, 4096], 5.0);
}
