//! Freivalds' check of a distributed product: every row of C, and no rank has more than its part.
//!
//! For a vector x of random numbers, C x must be alpha\*A (B x) + beta\*C0 x. Each rank multiplies its parts of the matrices, and the
//! vectors are added up over ranks, in f64. Two vectors of real numbers: errors of one row would have to cancel in both. Tolerances are
//! those of [`ErrorBound::of_weighted_sum`], each term weighted by its element of x.

use rayon::prelude::*;

use super::{Combine, Drawn, Exchange, Part};
use crate::error::Fault;
use crate::verify::{ErrorBound, within};
use crate::{Error, Matrix, Operands};

/// Sums with the two vectors, and the sums of squares with the squares of these.
type Sums = [f64; 4];

/// What the products with the vectors must be.
pub(super) struct Freivalds {
    /// The vectors and their squares, one element for each column of C.
    x: Vec<Sums>,
    /// C x and its sums of squares, for each row of C.
    expected: Vec<Sums>,
}

impl Freivalds {
    /// From the operands of the ranks of this process, as they are before a run.
    pub(super) fn new(drawn: &Drawn, parts: &[(&Part, &Operands)], exchange: &mut Exchange) -> Result<Self, Error> {
        let problem = drawn.problem();
        let [m, n, k] = [problem.m, problem.n, problem.k].map(|size| size as usize);
        let x: Vec<_> = (0..n).into_par_iter().map(|column| with_squares(drawn.x(column))).collect();
        let mut expected = vec![[0.0; 4]; m];
        if problem.reads_inputs() {
            let mut bx = vec![[0.0; 4]; k];
            parts.iter().for_each(|(part, operands)| add_product(&mut bx, &operands.b, &part.b, &x));
            exchange(Combine::Sum, bx.as_flattened_mut())?;
            parts.iter().for_each(|(part, operands)| add_product(&mut expected, &operands.a, &part.a, &bx));
        }
        let (alpha, beta) = (f64::from(problem.alpha), f64::from(problem.beta));
        expected.iter_mut().for_each(|sums| *sums = scaled(*sums, alpha));
        if problem.reads_c() {
            let mut old = vec![[0.0; 4]; m];
            parts.iter().for_each(|(part, operands)| add_product(&mut old, &operands.c, &part.c, &x));
            expected.iter_mut().zip(old).for_each(|(sums, old)| add(sums, scaled(old, beta)));
        }
        exchange(Combine::Sum, expected.as_flattened_mut())?;
        Ok(Self { x, expected })
    }

    /// The first row of the result whose sum with one of the vectors exceeds its tolerance: the same on all ranks.
    pub(super) fn check(
        &self,
        results: &[(&Part, &Operands)],
        error_bound: &ErrorBound,
        exchange: &mut Exchange,
    ) -> Result<Option<Fault>, Error> {
        let mut got = vec![[0.0; 4]; self.expected.len()];
        results.iter().for_each(|(part, operands)| add_product(&mut got, &operands.c, &part.c, &self.x));
        exchange(Combine::Sum, got.as_flattened_mut())?;
        let weights = [0, 1].map(|which| self.x.iter().map(|x| x[which].abs()).sum::<f64>());
        Ok(got.iter().zip(&self.expected).enumerate().find_map(|(row, (got, expected))| {
            (0..2).find_map(|which| {
                let error = (got[which] - expected[which]).abs();
                let bound = error_bound.of_weighted_sum(weights[which], expected[2 + which], got[2 + which]);
                (!within(error, bound)).then_some(Fault::Row { row, error, bound })
            })
        }))
    }
}

fn with_squares([first, second]: [f64; 2]) -> Sums {
    [first, second, first * first, second * second]
}

fn scaled([first, second, first_square, second_square]: Sums, factor: f64) -> Sums {
    let square = factor * factor;
    [factor * first, factor * second, square * first_square, square * second_square]
}

fn add(sums: &mut Sums, other: Sums) {
    sums.iter_mut().zip(other).for_each(|(sum, other)| *sum += other);
}

/// Adds the product of a part of a matrix and the vectors `x` to `sums`: both are of the whole.
fn add_product(sums: &mut [Sums], matrix: &Matrix, [rows, columns]: &[Vec<usize>; 2], x: &[Sums]) {
    let product = |row: usize| {
        matrix.row(row).iter().zip(columns).fold([0.0; 4], |mut sums, (element, column)| {
            let (element, [first, second, first_square, second_square]) = (f64::from(*element), x[*column]);
            let square = element * element;
            add(&mut sums, [element * first, element * second, square * first_square, square * second_square]);
            sums
        })
    };
    let products: Vec<_> = (0..rows.len()).into_par_iter().map(product).collect();
    rows.iter().zip(products).for_each(|(row, product)| add(&mut sums[*row], product));
}
