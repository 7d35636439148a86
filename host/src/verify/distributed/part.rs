//! Where a rank's elements are in the whole matrices.

use sgemm::distributed::Scheme;

/// The rows and columns that a rank has, by their numbers in the whole matrices.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// The rank.
    pub rank: usize,
    /// Rows and columns of A.
    pub a: [Vec<usize>; 2],
    /// Of B.
    pub b: [Vec<usize>; 2],
    /// Of C.
    pub c: [Vec<usize>; 2],
}

impl Part {
    /// What a rank has by a scheme.
    #[must_use]
    pub fn new(scheme: &Scheme, problem: &sgemm::Problem, rank: usize) -> Self {
        let share = scheme.share(problem, rank);
        let indices = |[rows, columns]: [usize; 2], global: &dyn Fn([usize; 2]) -> [usize; 2]| {
            // A row's number is the same in all columns, and a column's in all rows.
            [
                (0..rows).map(|row| global([row, 0])[0]).collect(),
                (0..columns).map(|column| global([0, column])[1]).collect(),
            ]
        };
        Self {
            rank,
            a: indices(share.a, &|at| scheme.global_a(problem, rank, at)),
            b: indices(share.b, &|at| scheme.global_b(problem, rank, at)),
            c: indices(share.c, &|at| scheme.global_c(problem, rank, at)),
        }
    }
}
