//! Random problems on random grids, their matrices in the ranks' parts, and what f64 says of them.

use proptest::prelude::*;
use sgemm::distributed::{Blocks, Chunks, Cluster, Grid, Plan, Scheme};
use sgemm::emulator::Emulator;
use sgemm::{Abc, AccuracyClass, Layout, Problem, Scalar};

#[derive(Debug, Clone)]
pub struct Case {
    pub sizes: [usize; 3],
    pub scheme: Scheme,
    /// Which of A, B and C are stored by columns.
    pub by_columns: [bool; 3],
    /// What leading dimensions have beyond the least.
    pub gap: usize,
    pub class: AccuracyClass,
    pub alpha: f32,
    pub beta: f32,
    pub seed: u64,
}

/// Problems of up to `most` in each dimension, over up to nine ranks.
pub fn cases(most: usize, chunks: usize) -> impl Strategy<Value = Case> {
    let grid = prop::array::uniform3(1_usize..10).prop_filter("up to nine ranks", |[r, c, l]| r * c * l <= 9);
    let factors = prop::sample::select(vec![(1.0_f32, 0.0_f32), (-2.0, 1.0), (0.5, -2.0), (0.0, 1.0)]);
    (
        prop::array::uniform3(0..most),
        grid,
        prop::option::of(prop::array::uniform3(1_usize..30)),
        prop::array::uniform2(1..=chunks),
        any::<[bool; 3]>(),
        (0_usize..3, prop::sample::select(AccuracyClass::ALL.to_vec()), factors, any::<u64>()),
    )
        .prop_map(
            |(sizes, [rows, columns, layers], blocks, [m, n], by_columns, (gap, class, (alpha, beta), seed))| {
                let is_f32 = class.input() == sgemm::Element::F32;
                let grid = Grid { rows, columns, layers: if is_f32 { layers } else { 1 } };
                let mut scheme = Scheme::panels(sizes, grid).with_chunks(Chunks { m, n });
                if let Some([m, n, k]) = blocks {
                    scheme.blocks = Blocks { m, n, k };
                }
                Case { sizes, scheme, by_columns, gap, class, alpha, beta, seed }
            },
        )
}

impl Case {
    pub fn problem(&self) -> Problem {
        let [m, n, k] = self.sizes;
        let layout = |index: usize, rows: usize, columns: usize| {
            if self.by_columns[index] { Layout::column_major(rows.max(2)) } else { Layout::row_major(columns.max(2)) }
        };
        Problem::new(m, n, k)
            .with_elements(self.class.input(), self.class.input())
            .with_accuracy(self.class)
            .with_layouts(layout(0, m, k), layout(1, k, n), layout(2, m, n))
    }

    pub fn leading(&self, rank: usize) -> Abc<usize> {
        let share = self.scheme.share(&self.problem(), rank);
        let [a, b, c] = [share.a, share.b, share.c];
        let ld = |index: usize, [rows, columns]: [usize; 2]| {
            (if self.by_columns[index] { rows } else { columns }).max(1) + self.gap
        };
        Abc { a: ld(0, a), b: ld(1, b), c: ld(2, c) }
    }

    /// Runs it, and compares every element with f64.
    pub fn run<I: Scalar + From<i8> + Into<f64>, O: Scalar + From<i8> + Into<f64>>(
        &self,
        emulator: &Emulator,
    ) -> Result<(), TestCaseError> {
        let problem = self.problem();
        let [m, n, k] = self.sizes;
        let digit = |which: u64, i: usize, j: usize| {
            let mixed = (self.seed ^ which).wrapping_add((i * 131 + j) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            ((mixed >> 33) % 3) as i8 - 1
        };
        let ranks = self.scheme.grid.ranks();
        let mut plans = Vec::new();
        let (mut a, mut b, mut c) = (Vec::new(), Vec::new(), Vec::new());
        for rank in 0..ranks {
            let leading = self.leading(rank);
            let plan = Plan::with_leading_dimensions(&problem, &self.scheme, rank, emulator.device(), leading);
            plans.push(plan.map_err(|error| TestCaseError::fail(error.to_string()))?);
            let share = self.scheme.share(&problem, rank);
            a.push(self.local(0, share.a, leading.a, I::from(99), |at| {
                let [i, j] = self.scheme.global_a(&problem, rank, at);
                I::from(digit(1, i, j))
            }));
            b.push(self.local(1, share.b, leading.b, I::from(99), |at| {
                let [i, j] = self.scheme.global_b(&problem, rank, at);
                I::from(digit(2, i, j))
            }));
            c.push(self.local(2, share.c, leading.c, O::from(77), |at| {
                let [i, j] = self.scheme.global_c(&problem, rank, at);
                O::from(digit(3, i, j))
            }));
        }
        let cluster = Cluster::new(emulator, self.seed);
        let run = cluster.run(&plans, self.alpha, &a, &b, self.beta, &mut c);
        run.map_err(|error| TestCaseError::fail(error.to_string()))?;
        for (rank, c) in c.iter().enumerate() {
            let share = self.scheme.share(&problem, rank);
            let expected = self.local(2, share.c, self.leading(rank).c, 77.0, |at| {
                let [i, j] = self.scheme.global_c(&problem, rank, at);
                let sum: f64 = (0..k).map(|l| f64::from(digit(1, i, l)) * f64::from(digit(2, l, j))).sum();
                f64::from(self.alpha) * sum + f64::from(self.beta) * f64::from(digit(3, i, j))
            });
            let got: Vec<f64> = c.iter().map(|element| (*element).into()).collect();
            prop_assert_eq!(got, expected, "rank {} of {}, {}x{}x{}", rank, ranks, m, n, k);
        }
        Ok(())
    }

    /// A local matrix, with something else between its lines.
    fn local<T: Clone>(
        &self,
        index: usize,
        [rows, columns]: [usize; 2],
        ld: usize,
        gap: T,
        element: impl Fn([usize; 2]) -> T,
    ) -> Vec<T> {
        let lines = if self.by_columns[index] { columns } else { rows };
        let mut local = vec![gap; ld * lines];
        for (i, j) in (0..rows).flat_map(|i| (0..columns).map(move |j| (i, j))) {
            local[if self.by_columns[index] { j * ld + i } else { i * ld + j }] = element([i, j]);
        }
        local
    }
}

/// Whole matrices of f32, row-major.
pub struct Numbers {
    pub a: Vec<f32>,
    pub b: Vec<f32>,
}

impl Numbers {
    /// Numbers from -1 to 1.
    pub fn reals(problem: &Problem, seed: u64) -> Self {
        let [m, n, k] = problem.sizes();
        let real = |index: usize| {
            let mixed = (seed ^ index as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            ((mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 40) as f32 / (1 << 23) as f32 - 1.0
        };
        Self { a: (0..m * k).map(real).collect(), b: (0..k * n).map(|index| real(m * k + index)).collect() }
    }

    /// The parts of A, B and an empty C that ranks have, row-major without gaps.
    pub fn shares(&self, scheme: &Scheme, problem: &Problem) -> [Vec<Vec<f32>>; 3] {
        let [_, n, k] = problem.sizes();
        let mut parts = [Vec::new(), Vec::new(), Vec::new()];
        for rank in 0..scheme.grid.ranks() {
            let share = scheme.share(problem, rank);
            let part = |[rows, columns]: [usize; 2], element: &dyn Fn([usize; 2]) -> f32| {
                (0..rows).flat_map(|i| (0..columns).map(move |j| [i, j])).map(element).collect::<Vec<_>>()
            };
            let of = |numbers: &[f32], width: usize, [i, j]: [usize; 2]| numbers[i * width + j];
            parts[0].push(part(share.a, &|at| of(&self.a, k, scheme.global_a(problem, rank, at))));
            parts[1].push(part(share.b, &|at| of(&self.b, n, scheme.global_b(problem, rank, at))));
            parts[2].push(part(share.c, &|_| f32::NAN));
        }
        parts
    }
}
