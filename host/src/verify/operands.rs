//! The three matrices of a problem.

use rand::{SeedableRng, rngs::SmallRng};

use crate::verify::matrix::Shape;
use crate::{Error, Matrix, Problem};

/// A, B and C of one problem, with guard bands around each.
///
/// ```
/// use host::{Operands, Problem};
///
/// let operands = Operands::random(&Problem::new(4, 5, 6)?.with_seed(7))?;
/// assert_eq!((operands.a.rows(), operands.a.columns()), (4, 6));
/// assert!(operands.b.row(5).iter().all(|x| (-1.0..1.0).contains(x)));
/// assert!(operands.c.get(3, 4).is_nan(), "beta is 0: C must not be read");
/// # Ok::<(), host::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Operands {
    /// m x k.
    pub a: Matrix,
    /// k x n.
    pub b: Matrix,
    /// m x n.
    pub c: Matrix,
}

impl Operands {
    /// Operands drawn from the problem's seed, uniform in [-1, 1), and rounded to what they are made of.
    ///
    /// Where beta is 0, C is all NaN instead: BLAS does not read it then, and a kernel that does is found out.
    ///
    /// # Errors
    /// What [`Problem::validate`] finds, and [`Error::OutOfHostMemory`].
    pub fn random(problem: &Problem) -> Result<Self, Error> {
        problem.validate()?;
        let sgemm::Product { m, n, k, lda, ldb, ldc, input, output, .. } = **problem;
        let mut operands = Self {
            a: Matrix::new(input, m, k, lda)?,
            b: Matrix::new(input, k, n, ldb)?,
            c: Matrix::new(output, m, n, ldc)?,
        };
        let mut rng = SmallRng::seed_from_u64(problem.seed);
        operands.a.fill_random(&mut rng);
        operands.b.fill_random(&mut rng);
        if problem.reads_c() {
            operands.c.fill_random(&mut rng);
        } else {
            operands.c.fill(f32::NAN);
        }
        Ok(operands)
    }

    /// The shapes of A, B and C.
    #[must_use]
    pub fn shapes(&self) -> [Shape; 3] {
        [&self.a, &self.b, &self.c].map(Matrix::shape)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_seed_decides() {
        let problem = Problem::new(4, 5, 6).unwrap();
        let [one, same, other] = [1, 1, 2].map(|seed| Operands::random(&problem.with_seed(seed)).unwrap());
        assert_eq!(one.a.first_difference(&same.a), None);
        assert!(one.a.first_difference(&other.a).is_some());
    }

    #[test]
    fn c_is_poisoned_where_it_must_not_be_read() {
        let problem = Problem::new(4, 5, 6).unwrap();
        assert!(Operands::random(&problem).unwrap().c.get(3, 4).is_nan());
        let problem = problem.with_scalars(1.0, 0.5).unwrap();
        assert!(!Operands::random(&problem).unwrap().c.get(3, 4).is_nan());
    }
}
