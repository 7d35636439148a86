//! Freivalds' check: every row and every column of C, at the price of a few matrix-vector products.
//!
//! For a random vector x of signs, C x must be alpha\*A (B x) + beta\*C0 x; and y C for the columns. A wrong element
//! changes its row's and its column's sum by just as much. R. Freivalds, "Probabilistic machines can use less running
//! time", 1977.
//!
//! How far rounding may take such a sum is estimated, not bounded: the worst case over a whole row would hide a wrong
//! element. The operands are independent with mean zero ([`Operands::random`]), so that partial sums and rounding
//! errors both grow like random walks: in fp32, a sum's error has a standard deviation of about u sqrt(k) Q / 3, where
//! Q^2 = alpha^2 sum_jp (a_ip b_pj)^2 + beta^2 sum_j c_ij^2, and the tolerance is more than twenty times that.
//! [`ErrorBound`] has the other arithmetics.

use rand::{Rng, RngExt};
use rayon::prelude::*;

use super::error_bound::ErrorBound;
use super::verification::within;
use crate::error::Fault;
use crate::{Matrix, Operands, Problem};

/// The random vectors, and what the products with them must be.
#[derive(Debug)]
pub(crate) struct Freivalds {
    /// The signs x, one per column.
    x: Vec<f64>,
    /// The signs y, one per row.
    y: Vec<f64>,
    /// C x, one per row.
    rows: Vec<Sum>,
    /// y C, one per column.
    columns: Vec<Sum>,
}

/// A sum of elements of C with signs.
#[derive(Debug)]
struct Sum {
    expected: f64,
    /// Q^2.
    squares: f64,
    /// How many elements.
    terms: u32,
}

impl Freivalds {
    pub(crate) fn new(problem: &Problem, operands: &Operands, rng: &mut impl Rng) -> Self {
        let Operands { a, b, c } = operands;
        let mut signs =
            |count: usize| -> Vec<f64> { (0..count).map(|_| if rng.random() { 1.0 } else { -1.0 }).collect() };
        let (x, y) = (signs(c.columns()), signs(c.rows()));
        let ones = |count| vec![1.0; count];
        let zeros = |count| (vec![0.0; count], vec![0.0; count]);

        let product = if problem.reads_inputs() {
            let (bx, b_squares) = right(b, &x, &ones(c.columns()));
            right(a, &bx, &b_squares)
        } else {
            zeros(c.rows())
        };
        let old = if problem.reads_c() { right(c, &x, &ones(c.columns())) } else { zeros(c.rows()) };
        let rows = sums(problem, product, old, problem.n);

        let product = if problem.reads_inputs() {
            let (ya, a_squares) = left(&y, &ones(c.rows()), a);
            left(&ya, &a_squares, b)
        } else {
            zeros(c.columns())
        };
        let old = if problem.reads_c() { left(&y, &ones(c.rows()), c) } else { zeros(c.columns()) };
        let columns = sums(problem, product, old, problem.m);
        Self { x, y, rows, columns }
    }

    /// The first row or column of `c` whose sum exceeds its tolerance.
    pub(crate) fn check(&self, c: &Matrix, error_bound: &ErrorBound) -> Option<Fault> {
        let rows = right(c, &self.x, &vec![1.0; c.columns()]);
        if let Some((row, error, bound)) = first_off(rows, &self.rows, error_bound) {
            return Some(Fault::Row { row, error, bound });
        }
        let columns = left(&self.y, &vec![1.0; c.rows()], c);
        first_off(columns, &self.columns, error_bound).map(|(column, error, bound)| Fault::Column {
            column,
            error,
            bound,
        })
    }
}

/// alpha\*product + beta\*old; each comes as (sums, sums of squares), and adds up `terms` elements of C.
fn sums(problem: &Problem, product: (Vec<f64>, Vec<f64>), old: (Vec<f64>, Vec<f64>), terms: u32) -> Vec<Sum> {
    let (alpha, beta) = (f64::from(problem.alpha), f64::from(problem.beta));
    let values = product.0.into_iter().zip(old.0).map(|(p, c)| alpha * p + beta * c);
    let squares = product.1.into_iter().zip(old.1).map(|(p, c)| alpha * alpha * p + beta * beta * c);
    values.zip(squares).map(|(expected, squares)| Sum { expected, squares, terms }).collect()
}

/// `got` is sums and sums of squares, as they were written.
fn first_off(got: (Vec<f64>, Vec<f64>), sums: &[Sum], error_bound: &ErrorBound) -> Option<(usize, f64, f64)> {
    let (got, written) = got;
    got.into_iter().zip(written).zip(sums).enumerate().find_map(|(i, ((got, written), sum))| {
        let (error, bound) = ((got - sum.expected).abs(), error_bound.of_signed_sum(sum.terms, sum.squares, written));
        (!within(error, bound)).then_some((i, error, bound))
    })
}

/// M v, and S w where S holds the squares of M's elements.
fn right(matrix: &Matrix, v: &[f64], w: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let products = |i: usize| {
        matrix.row(i).iter().zip(v.iter().zip(w)).fold((0.0, 0.0), |(value, square), (&element, (v, w))| {
            let element = f64::from(element);
            (value + element * v, square + element * element * w)
        })
    };
    (0..matrix.rows()).into_par_iter().map(products).unzip()
}

/// v M, and w S where S holds the squares of M's elements.
fn left(v: &[f64], w: &[f64], matrix: &Matrix) -> (Vec<f64>, Vec<f64>) {
    let zeros = || vec![(0.0, 0.0); matrix.columns()];
    let add_row = |mut sums: Vec<(f64, f64)>, i: usize| {
        for (sum, &element) in sums.iter_mut().zip(matrix.row(i)) {
            let element = f64::from(element);
            sum.0 += v[i] * element;
            sum.1 += w[i] * element * element;
        }
        sums
    };
    let add = |mut sums: Vec<(f64, f64)>, others: Vec<(f64, f64)>| {
        for (sum, other) in sums.iter_mut().zip(others) {
            sum.0 += other.0;
            sum.1 += other.1;
        }
        sums
    };
    let sums = (0..matrix.rows()).into_par_iter().with_min_len(64).fold(zeros, add_row).reduce(zeros, add);
    sums.into_iter().unzip()
}
