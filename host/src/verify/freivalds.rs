//! Freivalds' check: every row and every column of C, at the price of a product with a few vectors.
//!
//! For a matrix X, C X must be alpha\*A (B X) + beta\*C0 X; and Y C for the columns. R. Freivalds, "Probabilistic machines
//! can use less running time", 1977. Here each column of X has random weights in a random part of its rows, the parts of all of them
//! make up the whole ([`Groups`]). So an element is in one sum of its row, with few others, whose rounding errors could hide it; and
//! errors that cancel in a row must be in one group, and have weights for it, and the same again in their column.
//!
//! How far rounding may take such a sum is estimated, not bounded: the worst case would hide a wrong element. The operands are
//! independent with mean zero ([`Operands::random`]), so that partial sums and rounding errors both grow like random walks: in fp32,
//! a sum's error has a standard deviation of about u sqrt(k) Q / 3, where Q^2 = alpha^2 sum_jp (x_j a_ip b_pj)^2 + beta^2 sum_j
//! (x_j c_ij)^2 over the group, and the tolerance is more than twenty times that. [`ErrorBound`] has the other arithmetics.

use rand::Rng;
use rayon::prelude::*;

use super::error_bound::ErrorBound;
use super::groups::Groups;
use super::reference::{SLAB, accumulate, widen};
use super::verification::within;
use crate::error::Fault;
use crate::{Matrix, Operands, Problem};

/// What the sums of C must be.
#[derive(Debug)]
pub(crate) struct Freivalds {
    /// Of each row, by groups of columns: m x groups.
    rows: Side,
    /// Of each column, by groups of rows: groups x n.
    columns: Side,
}

/// The sums of all rows, or of all columns: its lines.
#[derive(Debug)]
struct Side {
    groups: Groups,
    expected: Vec<f64>,
    /// By line: what Q^2 of its sums is proportional to.
    lines: Vec<f64>,
    shares: Vec<Share>,
}

/// What a group has part in the tolerance of its sums.
#[derive(Debug)]
struct Share {
    /// Q^2 of the product, but for the line's factor.
    product: f64,
    /// Q^2 of the old C.
    old: f64,
    /// The absolute values of its weights in sum.
    weights: f64,
}

/// A sum of C as it was written.
#[derive(Default, Clone, Copy)]
struct Written {
    sum: f64,
    /// Of the squares of its terms' powers of two.
    squares: f64,
}

impl Freivalds {
    pub(crate) fn new(problem: &Problem, operands: &Operands, rng: &mut impl Rng) -> Self {
        let Operands { a, b, c } = operands;
        let sgemm::Product { m, n, k, .. } = **problem;
        // 64 stands for what a sum costs beside its multiply-adds, and bounds the memory where k is small.
        let depth = u64::from(k) + 64;
        let columns = Groups::new(n, u64::from(m) * depth, rng);
        let rows = Groups::new(m, u64::from(n) * depth, rng);
        let (mut of_rows, mut of_columns) = (vec![0.0; a.rows() * columns.len()], vec![0.0; rows.len() * b.columns()]);
        let (mut a_squares, mut b_squares) = (vec![0.0; a.rows()], vec![0.0; b.columns()]);
        for start in (0..a.columns()).step_by(SLAB).filter(|_| problem.reads_inputs()) {
            let slab = start..a.columns().min(start + SLAB);
            let (a_slab, b_slab) = (widen(a, 0..a.rows(), &slab), widen(b, slab.clone(), &(0..b.columns())));
            let (bx, ya) = (columns.of_columns(b, slab.clone()), rows.of_rows(a, &slab));
            accumulate(&mut of_rows, &a_slab, &bx, [a.rows(), columns.len(), slab.len()]);
            accumulate(&mut of_columns, &ya, &b_slab, [rows.len(), b.columns(), slab.len()]);
            let of_line = |line: &[f64]| line.iter().map(|x| x * x).sum::<f64>();
            a_squares.iter_mut().zip(a_slab.chunks(slab.len())).for_each(|(sum, line)| *sum += of_line(line));
            for line in b_slab.chunks(b.columns().max(1)) {
                b_squares.iter_mut().zip(line).for_each(|(sum, x)| *sum += x * x);
            }
        }
        let old = problem.reads_c().then(|| (columns.of_columns(c, 0..c.rows()), rows.of_rows(c, &(0..c.columns()))));
        let (old_rows, old_columns) = old.unzip();
        let shares = |groups: &Groups, squares: &[f64]| shares(problem, groups, squares);
        let (row_shares, column_shares) = (shares(&columns, &b_squares), shares(&rows, &a_squares));
        let side = |groups, product, old, lines, shares| Side {
            groups,
            expected: combine(problem, product, old),
            lines,
            shares,
        };
        Self {
            rows: side(columns, of_rows, old_rows, a_squares, row_shares),
            columns: side(rows, of_columns, old_columns, b_squares, column_shares),
        }
    }

    /// The first row or column of `c` with a sum that exceeds its tolerance.
    pub(crate) fn check(&self, c: &Matrix, error_bound: &ErrorBound) -> Option<Fault> {
        let of_row = |row: usize| {
            let elements = c.row(row);
            self.rows.groups.iter().enumerate().find_map(|(group, members)| {
                let mut written = Written::default();
                members.for_each(|(column, weight)| written.add(weight, elements[column]));
                let expected = self.rows.expected[row * self.rows.groups.len() + group];
                let (error, bound) = self.rows.compare(row, group, written, expected, error_bound)?;
                Some(Fault::Row { row, error, bound })
            })
        };
        let of_group = |(group, members): (usize, _)| {
            let written = sums_of_rows(c, members);
            let expected = &self.columns.expected[group * c.columns()..][..c.columns()];
            written.into_iter().zip(expected).enumerate().find_map(|(column, (written, expected))| {
                let (error, bound) = self.columns.compare(column, group, written, *expected, error_bound)?;
                Some(Fault::Column { column, error, bound })
            })
        };
        let fault = (0..c.rows()).into_par_iter().find_map_first(of_row);
        fault.or_else(|| self.columns.groups.par_iter().enumerate().find_map_first(of_group))
    }
}

#[cfg(test)]
impl Freivalds {
    /// The error of an element of the right result beyond which it is found for sure: the others of its sum err by the tolerance, at
    /// most.
    pub(super) fn surely_found(&self, c: &Matrix, error_bound: &ErrorBound, row: usize, column: usize) -> f64 {
        let bound = |side: &Side, line: usize, number: usize, element: &dyn Fn(usize) -> f32| {
            let of_group = |(group, members): (usize, Vec<(usize, f64)>)| {
                let (_, own) = *members.iter().find(|member| member.0 == number)?;
                let mut written = Written::default();
                members.iter().for_each(|&(number, weight)| written.add(weight, element(number)));
                let sum = Written { sum: f64::INFINITY, ..written };
                let (_, tolerance) = side.compare(line, group, sum, 0.0, error_bound)?;
                Some(2.0 * tolerance / own.abs())
            };
            let groups = side.groups.iter().map(|group| group.collect());
            groups.enumerate().find_map(of_group).expect("each is in a group")
        };
        let by_row = bound(&self.rows, row, column, &|column| c.get(row, column));
        by_row.min(bound(&self.columns, column, row, &|row| c.get(row, column)))
    }
}

impl Side {
    /// The error of a line's sum over a group and its tolerance, where that is exceeded.
    fn compare(
        &self,
        line: usize,
        group: usize,
        written: Written,
        expected: f64,
        error_bound: &ErrorBound,
    ) -> Option<(f64, f64)> {
        let Share { product, old, weights } = self.shares[group];
        let (error, squares) = ((written.sum - expected).abs(), self.lines[line] * product + old);
        let bound = error_bound.of_weighted_sum(weights, squares, written.squares);
        (!within(error, bound)).then_some((error, bound))
    }
}

impl Written {
    fn add(&mut self, weight: f64, element: f32) {
        // The power of two at or below an element: the last bit's error is in proportion. Of NaN and infinity, infinity.
        let power = f64::from(f32::from_bits(element.to_bits() & 0x7f80_0000));
        self.sum += weight * f64::from(element);
        self.squares += weight * weight * power * power;
    }
}

/// The sums of some rows, each with its weight, by column.
fn sums_of_rows(c: &Matrix, rows: impl Iterator<Item = (usize, f64)>) -> Vec<Written> {
    let mut sums = vec![Written::default(); c.columns()];
    for (row, weight) in rows {
        sums.iter_mut().zip(c.row(row)).for_each(|(sum, &element)| sum.add(weight, element));
    }
    sums
}

/// alpha\*product + beta\*old.
fn combine(problem: &Problem, mut product: Vec<f64>, old: Option<Vec<f64>>) -> Vec<f64> {
    let (alpha, beta) = (f64::from(problem.alpha), f64::from(problem.beta));
    product.iter_mut().for_each(|sum| *sum *= alpha);
    if let Some(old) = old {
        product.iter_mut().zip(old).for_each(|(sum, old)| *sum += beta * old);
    }
    product
}

/// What the tolerances of sums over rows or columns are made of. `squares` are those of each row of A, or column of B, in sum: sum_p
/// a_ip^2 b_pj^2 is taken to be what it is on average. No element of the old C exceeds 1.
fn shares(problem: &Problem, groups: &Groups, squares: &[f64]) -> Vec<Share> {
    let (alpha, beta) = (f64::from(problem.alpha), f64::from(problem.beta));
    let depth = f64::from(problem.k.max(1));
    let share = |group: Vec<(usize, f64)>| {
        let sum = |term: &dyn Fn(usize, f64) -> f64| group.iter().map(|&(number, weight)| term(number, weight)).sum();
        let product: f64 = sum(&|number, weight| weight * weight * squares[number]);
        let old: f64 = sum(&|_, weight| weight * weight);
        let weights = sum(&|_, weight| weight.abs());
        Share { product: alpha * alpha * product / depth, old: beta * beta * old, weights }
    };
    groups.iter().map(|group| share(group.collect())).collect()
}
