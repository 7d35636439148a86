//! Kinds of A and B: what is easy and what is hard for a kernel that computes with less than fp32.

use std::f64::consts::TAU;

use gpu_kernels::Element;
use rand::{Rng, RngExt, SeedableRng, rngs::SmallRng};
use rayon::prelude::*;

use crate::{Error, Matrix, Operands, Problem};

/// The exponent of the first row's factor of [`Inputs::GradedRows`]; the last one's is its negative.
const GRADE: i32 = 30;

/// The exponent of the factor of [`Inputs::HugeElements`] and [`Inputs::HugeOpposed`].
const HUGE: i32 = 20;

/// The exponent of what is left of a product in [`Inputs::NearCancelling`].
const LEFT: i32 = -12;

/// The exponents of [`Inputs::OpposedGrades`]: from the negative to this.
const OPPOSED: i32 = 10;

/// A kind of A and B. All elements are drawn from the problem's seed, those of each row by a generator of its own, so that rows
/// are drawn at once; "normal" is the standard normal distribution, rounded to f32. C is NaN, and not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Inputs {
    /// Uniform in [-1, 1).
    Uniform,
    /// Normal.
    Normal,
    /// Uniform in [0, 1): no product cancels another.
    Positive,
    /// Normal, each element times its own power of two, whose exponent is uniform in -10..=10.
    Spread10,
    /// Normal, each element times its own power of two, whose exponent is uniform in -40..=40.
    Spread40,
    /// Normal, row i of A times a power of two, whose exponent falls evenly from 30 to -30 from the first row to the last.
    GradedRows,
    /// Normal, one element of each row of A, at a random column, times 2^20.
    HugeElements,
    /// Normal in the first half of k; the second half of B is equal to the first, and that of A the first one's negative, each
    /// element times 1 + 2^-12 x, with x normal. Of an odd k, the last column of A is 0.
    NearCancelling,
    /// Normal, column p of A times a power of two, whose exponent rises evenly from -10 to 10 along k, and row p of B divided by
    /// it: within a row of A elements differ by 2^20, and their products do not.
    OpposedGrades,
    /// Normal, one element of each row of A, at a random column in the first half of k, and one of each column of B, in the second
    /// half, times 2^20: the smallest elements of a row meet the largest one of a column.
    HugeOpposed,
}

impl Inputs {
    /// Every kind.
    pub const ALL: [Self; 10] = [
        Self::Uniform,
        Self::Normal,
        Self::Positive,
        Self::Spread10,
        Self::Spread40,
        Self::GradedRows,
        Self::HugeElements,
        Self::NearCancelling,
        Self::OpposedGrades,
        Self::HugeOpposed,
    ];

    /// The name on the command line, in tables and in JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Uniform => "uniform",
            Self::Normal => "normal",
            Self::Positive => "positive",
            Self::Spread10 => "spread-10",
            Self::Spread40 => "spread-40",
            Self::GradedRows => "graded-rows",
            Self::HugeElements => "huge-elements",
            Self::NearCancelling => "near-cancelling",
            Self::OpposedGrades => "opposed-grades",
            Self::HugeOpposed => "huge-opposed",
        }
    }

    /// The kind of that name.
    #[must_use]
    pub fn find(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|inputs| inputs.name() == name)
    }

    /// Operands of this kind, for a problem of f32.
    ///
    /// # Errors
    /// What [`Problem::validate`] finds, and [`Error::OutOfHostMemory`].
    pub fn operands(self, problem: &Problem) -> Result<Operands, Error> {
        problem.validate()?;
        let sgemm::Product { m, n, k, lda, ldb, ldc, .. } = **problem;
        let mut operands = Operands {
            a: Matrix::new(Element::F32, m, k, lda)?,
            b: Matrix::new(Element::F32, k, n, ldb)?,
            c: Matrix::new(Element::F32, m, n, ldc)?,
        };
        operands.c.fill(f32::NAN);
        let mut rng = SmallRng::seed_from_u64(problem.seed);
        let Operands { a, b, .. } = &mut operands;
        let (m, n, k) = (m as usize, n as usize, k as usize);
        for matrix in [&mut *a, &mut *b] {
            match self {
                Self::Uniform => draw(matrix, rng.random(), |rng| (rng.random::<f32>() * 2.0 - 1.0).into()),
                Self::Positive => draw(matrix, rng.random(), |rng| rng.random::<f32>().into()),
                Self::Spread10 => draw(matrix, rng.random(), |rng| spread(rng, 10)),
                Self::Spread40 => draw(matrix, rng.random(), |rng| spread(rng, 40)),
                _ => draw(matrix, rng.random(), normal),
            }
        }
        match self {
            Self::GradedRows => {
                each(a, |i, _, x| x * power_of_two(GRADE - graded(i, m, 2 * GRADE)));
            }
            Self::HugeElements if k > 0 => (0..m).for_each(|i| enlarge(a, i, rng.random_range(0..k))),
            Self::HugeOpposed if k > 1 => {
                (0..m).for_each(|i| enlarge(a, i, rng.random_range(0..k / 2)));
                (0..n).for_each(|j| enlarge(b, rng.random_range(k / 2..k), j));
            }
            Self::NearCancelling => {
                let (half, seed) = (k / 2, rng.random());
                each_row(a, |i, row| {
                    let mut rng = of_row(seed, i);
                    for p in 0..half {
                        let factor = 1.0 + f64::from(power_of_two(LEFT)) * normal(&mut rng);
                        row[half + p] = (-f64::from(row[p]) * factor) as f32;
                    }
                    row[2 * half..].fill(0.0);
                });
                for p in 0..half {
                    let first = b.row(p).to_vec();
                    b.row_mut(half + p).copy_from_slice(&first);
                }
            }
            Self::OpposedGrades => {
                each(a, |_, p, x| x * power_of_two(graded(p, k, 2 * OPPOSED) - OPPOSED));
                each(b, |p, _, x| x * power_of_two(OPPOSED - graded(p, k, 2 * OPPOSED)));
            }
            _ => {}
        }
        Ok(operands)
    }
}

/// Draws each element.
fn draw(matrix: &mut Matrix, seed: u64, element: impl Fn(&mut SmallRng) -> f64 + Sync) {
    each_row(matrix, |i, row| {
        let mut rng = of_row(seed, i);
        row.iter_mut().for_each(|x| *x = element(&mut rng) as f32);
    });
}

/// The generator of a row.
fn of_row(seed: u64, i: usize) -> SmallRng {
    SmallRng::seed_from_u64(seed ^ i as u64)
}

/// Replaces each element: by what `with` makes of its row, its column and itself.
fn each(matrix: &mut Matrix, with: impl Fn(usize, usize, f32) -> f32 + Sync) {
    each_row(matrix, |i, row| row.iter_mut().enumerate().for_each(|(j, x)| *x = with(i, j, *x)));
}

/// Changes the rows, many at once.
fn each_row(matrix: &mut Matrix, change: impl Fn(usize, &mut [f32]) + Sync) {
    let (start, shape) = (matrix.interior_offset(), matrix.shape());
    let rows = &mut matrix.as_mut_slice()[start..start + shape.rows * shape.ld];
    rows.par_chunks_mut(shape.ld.max(1)).enumerate().for_each(|(i, row)| change(i, &mut row[..shape.columns]));
}

/// Multiplies an element by 2^[`HUGE`].
fn enlarge(matrix: &mut Matrix, i: usize, j: usize) {
    matrix.set(i, j, matrix.get(i, j) * power_of_two(HUGE));
}

/// From 0 at index 0 to `last` at index `count` - 1.
fn graded(index: usize, count: usize, last: i32) -> i32 {
    (index * last as usize / count.saturating_sub(1).max(1)) as i32
}

/// A power of two that is a normal number: |exponent| is at most 126.
fn power_of_two(exponent: i32) -> f32 {
    f32::from_bits(((127 + exponent) as u32) << 23)
}

/// Normal, times a power of two whose exponent is uniform between `-most` and `most`.
fn spread(rng: &mut SmallRng, most: i32) -> f64 {
    normal(rng) * f64::from(power_of_two(rng.random_range(-most..=most)))
}

/// Standard normal. G. E. P. Box and M. E. Muller, "A note on the generation of random normal deviates", 1958.
fn normal(rng: &mut impl Rng) -> f64 {
    // Not 0, of which there is no logarithm.
    let radius = (-2.0 * (1.0 - rng.random::<f64>()).ln()).sqrt();
    radius * (TAU * rng.random::<f64>()).cos()
}

#[cfg(test)]
mod tests;
