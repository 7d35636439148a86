//! Freivalds' check: every row and every column of C, at the price of a few matrix-vector products.
//!
//! For a random vector x of signs, C x must be alpha\*A (B x) + beta\*C0 x; and y C for the columns. A wrong element
//! changes its row's and its column's sum by just as much. R. Freivalds, "Probabilistic machines can use less running
//! time", 1977.
//!
//! How far rounding may take such a sum is estimated, not bounded: the worst case over a whole row would hide a wrong
//! element. The operands are independent with mean zero ([`Operands::random`]), so that partial sums and rounding
//! errors both grow like random walks: a sum's error has a standard deviation of about u sqrt(k) Q / 3, where
//! Q^2 = alpha^2 sum_jp (a_ip b_pj)^2 + beta^2 sum_j c_ij^2. [`MARGIN`] allows more than twenty of them.

use rand::{Rng, RngExt};
use rayon::prelude::*;

use crate::verify::{Fault, UNDERFLOW, UNIT_ROUNDOFF, within};
use crate::{Matrix, Operands, Problem};

/// Allowed error, in units of u sqrt(k + 2) Q.
const MARGIN: f64 = 8.0;

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

#[derive(Debug)]
struct Sum {
    expected: f64,
    bound: f64,
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

    /// The first row or column of `c` whose sum is off.
    pub(crate) fn check(&self, c: &Matrix) -> Option<Fault> {
        let (rows, _) = right(c, &self.x, &self.x);
        if let Some((row, error, bound)) = first_off(&rows, &self.rows) {
            return Some(Fault::Row { row, error, bound });
        }
        let (columns, _) = left(&self.y, &self.y, c);
        first_off(&columns, &self.columns).map(|(column, error, bound)| Fault::Column { column, error, bound })
    }
}

/// alpha\*product + beta\*old with its bound; each comes as (sums, sums of squares), and adds up `terms` elements of C.
fn sums(problem: &Problem, product: (Vec<f64>, Vec<f64>), old: (Vec<f64>, Vec<f64>), terms: u32) -> Vec<Sum> {
    let (alpha, beta) = (f64::from(problem.alpha), f64::from(problem.beta));
    let scale = MARGIN * UNIT_ROUNDOFF * (f64::from(problem.k) + 2.0).sqrt();
    let underflow = f64::from(terms) * UNDERFLOW;
    let values = product.0.into_iter().zip(old.0).map(|(p, c)| alpha * p + beta * c);
    let squares = product.1.into_iter().zip(old.1).map(|(p, c)| alpha * alpha * p + beta * beta * c);
    values.zip(squares).map(|(expected, square)| Sum { expected, bound: scale * square.sqrt() + underflow }).collect()
}

fn first_off(got: &[f64], sums: &[Sum]) -> Option<(usize, f64, f64)> {
    got.iter().zip(sums).enumerate().find_map(|(i, (got, sum))| {
        let error = (got - sum.expected).abs();
        (!within(error, sum.bound)).then_some((i, error, sum.bound))
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
