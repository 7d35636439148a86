//! Elements of a rank's C, one by one: each against the f64 dot product of a row of A and a column of B, which are drawn anew.

use rayon::prelude::*;

use super::{Drawn, Part};
use crate::Matrix;
use crate::error::Fault;
use crate::verify::{ErrorBound, within};

/// Elements at least that are compared of each rank's C, where it has as many.
const LEAST: usize = 64;

/// Multiply-adds that the comparison may cost beyond that: part of a second.
const WORK: usize = 1 << 25;

/// What comparing elements found.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Spots {
    pub(super) fault: Option<Fault>,
    pub(super) error_squares: f64,
    pub(super) squares: f64,
    /// The largest error as a share of its bound; infinite where one is not a number.
    pub(super) max_scaled_error: f64,
}

/// Compares elements of the rank's C as a run left it.
pub(super) fn compare(drawn: &Drawn, part: &Part, c: &Matrix, error_bound: &ErrorBound) -> Spots {
    let [rows, columns] = &part.c;
    let found: Vec<_> = positions(drawn, part)
        .into_par_iter()
        .map(|[i, j]| {
            let (row, column, got) = (rows[i], columns[j], c.get(i, j));
            let (expected, magnitude) = reference(drawn, row, column);
            let (error, bound) = ((f64::from(got) - expected).abs(), error_bound.of_element(expected, magnitude));
            let scaled = error / bound;
            Spots {
                fault: (!within(error, bound)).then_some(Fault::Element { row, column, got, expected, bound }),
                error_squares: error * error,
                squares: expected * expected,
                max_scaled_error: if scaled.is_nan() { f64::INFINITY } else { scaled },
            }
        })
        .collect();
    found.into_iter().fold(Spots::default(), |all, spot| Spots {
        fault: all.fault.or(spot.fault),
        error_squares: all.error_squares + spot.error_squares,
        squares: all.squares + spot.squares,
        max_scaled_error: all.max_scaled_error.max(spot.max_scaled_error),
    })
}

/// Where elements are compared in the rank's C: everywhere if that is cheap, or at its corners and at random places.
fn positions(drawn: &Drawn, part: &Part) -> Vec<[usize; 2]> {
    let [rows, columns] = [part.c[0].len(), part.c[1].len()];
    let (all, count) = (rows * columns, LEAST.max(WORK / drawn.problem().k.max(1) as usize));
    if all <= count {
        return (0..all).map(|index| [index / columns, index % columns]).collect();
    }
    let corners = [[0, 0], [0, columns - 1], [rows - 1, 0], [rows - 1, columns - 1]];
    // One in each of as many equal stretches, at a place that the seed and the rank choose.
    let random = (0..count).map(|index| {
        let [share, _] = drawn.x(part.rank * count + index).map(f64::abs);
        let at = (index as f64 + 2.0 * share - 1.0) * (all as f64 / count as f64);
        let at = (at as usize).min(all - 1);
        [at / columns, at % columns]
    });
    corners.into_iter().chain(random).collect()
}

/// An element of the result, and the sum of absolute values that bounds its rounding errors.
fn reference(drawn: &Drawn, row: usize, column: usize) -> (f64, f64) {
    let problem = drawn.problem();
    let length = if problem.reads_inputs() { problem.k as usize } else { 0 };
    let (sum, magnitude) = (0..length).fold((0.0, 0.0), |(sum, magnitude): (f64, f64), p| {
        let product = f64::from(drawn.a(row, p)) * f64::from(drawn.b(p, column));
        (sum + product, magnitude + product.abs())
    });
    let (alpha, beta) = (f64::from(problem.alpha), f64::from(problem.beta));
    let old = if problem.reads_c() { f64::from(drawn.c(row, column)) } else { 0.0 };
    (alpha * sum + beta * old, alpha.abs() * magnitude + (beta * old).abs())
}
