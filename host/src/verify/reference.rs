//! What the result must be: chosen rows of C in f64.

use std::ops::Range;

use gemm::Parallelism;
use rayon::prelude::*;

use crate::{Matrix, Operands, Problem};

/// Multiply-adds that the reference may cost: about a second on two cores, far less on a machine that has a GPU.
const WORK: u64 = 1 << 31;

/// Rows that are computed however long they are.
const MIN_ROWS: u64 = 32;

/// Depth of the slabs of A and B that are held in f64 at a time.
pub(super) const SLAB: usize = 256;

/// A part of C as it must be, and the sums of absolute values that bound the rounding errors in it.
#[derive(Debug)]
pub struct Reference {
    /// The rows that are here, in ascending order.
    pub rows: Vec<usize>,
    /// The columns that are here.
    pub columns: Range<usize>,
    /// alpha\*A\*B + beta\*C: rows.len() x columns.len(), row-major.
    pub expected: Vec<f64>,
    /// |alpha|\*|A|\*|B| + |beta|\*|C|: rows.len() x columns.len(), row-major.
    pub magnitude: Vec<f64>,
}

impl Reference {
    /// Computes these rows and columns from the operands as they were before the kernel ran. What BLAS does not read,
    /// alpha or beta being 0, is not read here either.
    #[must_use]
    pub fn new(problem: &Problem, operands: &Operands, rows: Vec<usize>, columns: Range<usize>) -> Self {
        let n = columns.len();
        let (mut expected, mut magnitude) = (vec![0.0; rows.len() * n], vec![0.0; rows.len() * n]);
        if problem.reads_inputs() {
            multiply(operands, &rows, &columns, &mut expected, &mut magnitude);
        }
        let (alpha, beta) = (f64::from(problem.alpha), f64::from(problem.beta));
        for (slot, &i) in rows.iter().enumerate() {
            let range = slot * n..(slot + 1) * n;
            let old = &operands.c.row(i)[columns.clone()];
            for ((e, s), &c) in expected[range.clone()].iter_mut().zip(&mut magnitude[range]).zip(old) {
                let c = if problem.reads_c() { f64::from(c) } else { 0.0 };
                *e = alpha * *e + beta * c;
                *s = alpha.abs() * *s + (beta * c).abs();
            }
        }
        Self { rows, columns, expected, magnitude }
    }
}

/// Adds A\*B to `product` and |A|\*|B| to `magnitude`, for the given rows of A and columns of B.
fn multiply(operands: &Operands, rows: &[usize], columns: &Range<usize>, product: &mut [f64], magnitude: &mut [f64]) {
    let (a, b) = (&operands.a, &operands.b);
    let n = columns.len();
    for start in (0..a.columns()).step_by(SLAB) {
        let depth = SLAB.min(a.columns() - start);
        let mut a_slab: Vec<f64> =
            rows.iter().flat_map(|&i| &a.row(i)[start..start + depth]).map(|&x| x.into()).collect();
        let mut b_slab = widen(b, start..start + depth, columns);
        accumulate(product, &a_slab, &b_slab, [rows.len(), n, depth]);
        a_slab.iter_mut().for_each(|x| *x = x.abs());
        b_slab.par_iter_mut().for_each(|x| *x = x.abs());
        accumulate(magnitude, &a_slab, &b_slab, [rows.len(), n, depth]);
    }
}

/// These rows and columns, in f64 and without gaps.
pub(super) fn widen(matrix: &Matrix, rows: Range<usize>, columns: &Range<usize>) -> Vec<f64> {
    rows.into_par_iter().flat_map_iter(|p| matrix.row(p)[columns.clone()].iter().map(|&x| f64::from(x))).collect()
}

/// c += a\*b in f64, where a is m x k, b is k x n and c is m x n, row-major without gaps.
pub(super) fn accumulate(c: &mut [f64], a: &[f64], b: &[f64], [m, n, k]: [usize; 3]) {
    assert!(c.len() == m * n && a.len() == m * k && b.len() == k * n);
    let (n_stride, k_stride) = (n as isize, k as isize);
    // SAFETY: the assertion above: each pointer's rows and columns, at these strides, lie within its slice; c is
    // borrowed exclusively.
    unsafe {
        gemm::gemm(
            m,
            n,
            k,
            c.as_mut_ptr(),
            1,
            n_stride,
            true,
            a.as_ptr(),
            1,
            k_stride,
            b.as_ptr(),
            1,
            n_stride,
            1.0,
            1.0,
            false,
            false,
            false,
            Parallelism::Rayon(0),
        );
    }
}

/// The rows to compare element by element: all where that is cheap; otherwise the first, the last, those on both sides
/// of the first and of the last border between tiles, and random ones spread evenly.
pub(crate) fn choose_rows(problem: &Problem, rng: &mut impl rand::Rng) -> Vec<usize> {
    use rand::RngExt;

    let m = u64::from(problem.m);
    // 64 stands for what a row costs beside its multiply-adds; it also bounds the memory where k is small.
    let cost = u64::from(problem.n) * (u64::from(problem.k) + 64);
    let count = WORK.checked_div(cost).unwrap_or(m).max(MIN_ROWS);
    if m <= count {
        return (0..m as usize).collect();
    }
    let tile = u64::from(gpu_kernels::STEPS.iter().map(|step| step.tile.bm).max().unwrap_or(1));
    let last_border = (m - 1) / tile * tile;
    let mut rows = vec![0, tile.min(m) - 1, tile.min(m - 1), last_border.saturating_sub(1), last_border, m - 1];
    rows.extend((0..count).map(|i| rng.random_range(i * m / count..(i + 1) * m / count)));
    rows.sort_unstable();
    rows.dedup();
    rows.into_iter().map(|i| i as usize).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{SeedableRng, rngs::SmallRng};

    #[test]
    fn agrees_with_the_definition() {
        let problem = Problem::new(5, 7, 300).unwrap().with_scalars(1.5, -0.5).unwrap().with_seed(3);
        let operands = Operands::random(&problem).unwrap();
        let reference = Reference::new(&problem, &operands, vec![1, 4], 2..7);
        for (slot, i) in [1, 4].into_iter().enumerate() {
            for j in 2..7 {
                let at = slot * 5 + j - 2;
                let terms = (0..300).map(|p| f64::from(operands.a.get(i, p)) * f64::from(operands.b.get(p, j)));
                let c = f64::from(operands.c.get(i, j));
                let expected = 1.5 * terms.clone().sum::<f64>() - 0.5 * c;
                let magnitude = 1.5 * terms.map(f64::abs).sum::<f64>() + 0.5 * c.abs();
                assert!((reference.expected[at] - expected).abs() < 1e-12);
                assert!((reference.magnitude[at] - magnitude).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn reads_nothing_that_blas_does_not_read() {
        let problem = Problem::new(2, 3, 4).unwrap().with_scalars(0.0, 0.0).unwrap();
        let mut operands = Operands::random(&problem).unwrap();
        operands.a.fill(f32::NAN);
        operands.b.fill(f32::INFINITY);
        let reference = Reference::new(&problem, &operands, vec![0, 1], 0..3);
        assert!(reference.expected.iter().chain(&reference.magnitude).all(|&x| x == 0.0));
    }

    #[test]
    fn chooses_all_rows_of_small_results_and_the_ends_of_large_ones() {
        let rows = |m, n, k| choose_rows(&Problem::new(m, n, k).unwrap(), &mut SmallRng::seed_from_u64(5));
        assert_eq!(rows(100, 100, 100).len(), 100);
        assert_eq!(rows(0, 4, 4).len(), 0);
        assert_eq!(rows(4, 0, 0).len(), 4);
        let sampled = rows(8192, 8192, 8192);
        assert!((32..40).contains(&sampled.len()));
        assert!(sampled.contains(&0) && sampled.contains(&8191));
    }
}
