//! Random problems on random views of one buffer, and what f64 says of them.

use proptest::prelude::*;
use sgemm::{AccuracyClass, Layout, Problem};

/// A matrix in a buffer: where it begins, its layout, and elements from one problem's to the next one's.
#[derive(Debug, Clone, Copy)]
pub struct View {
    pub first: usize,
    layout: Layout,
    stride: usize,
}

impl View {
    /// A view of `rows` x `columns` for `count` problems, or one for all of them.
    fn new(
        rows: usize,
        columns: usize,
        count: usize,
        (first, gap, by_columns, is_shared): (usize, usize, bool, bool),
    ) -> Self {
        let layout = if by_columns { Layout::column_major(rows + gap) } else { Layout::row_major(columns + gap) };
        let extent = (rows - 1) * layout.row_stride + (columns - 1) * layout.column_stride + 1;
        Self { first, layout, stride: if is_shared || count == 1 { 0 } else { extent + gap } }
    }

    fn index(&self, problem: usize, row: usize, column: usize) -> usize {
        self.first + problem * self.stride + row * self.layout.row_stride + column * self.layout.column_stride
    }
}

/// Products, and where their matrices lie.
#[derive(Debug, Clone)]
pub struct Case {
    sizes: [usize; 3],
    count: usize,
    pub a: View,
    pub b: View,
    pub c: View,
    pub scalars: [f32; 2],
    class: AccuracyClass,
}

/// Any products of up to `most` rows and columns, whose matrices are views of a buffer of [`ELEMENTS`].
pub fn cases(most: usize) -> impl Strategy<Value = Case> {
    // Where a view begins, its gap, whether it is by columns, whether all problems of a batch share it.
    let placement = || (0..9_usize, 0..5_usize, any::<bool>(), any::<bool>());
    let scalars = prop::sample::select(vec![[1.0_f32, 0.0], [-0.5, 1.0], [2.0, -1.5], [0.0, 0.5]]);
    let class = prop::sample::select(vec![AccuracyClass::Fp32Strict, AccuracyClass::Fp32, AccuracyClass::Tf32]);
    let sizes = prop::array::uniform3(1..most);
    (sizes, 1..4_usize, [placement(), placement(), placement()], scalars, class).prop_map(
        |([m, n, k], count, [a, b, (first, gap, by_columns, _)], scalars, class)| Case {
            sizes: [m, n, k],
            count,
            a: View::new(m, k, count, a),
            b: View::new(k, n, count, b),
            c: View::new(m, n, count, (first, gap, by_columns, false)),
            scalars,
            class,
        },
    )
}

/// As many elements as views of up to 40 rows and columns reach.
pub const ELEMENTS: usize = 16_384;

/// Numbers to make views of.
pub fn buffers() -> impl Strategy<Value = Vec<f32>> {
    prop::collection::vec(-1.0_f32..1.0, ELEMENTS)
}

impl Case {
    pub fn problem(&self) -> Problem {
        let [m, n, k] = self.sizes;
        Problem::new(m, n, k)
            .with_layouts(self.a.layout, self.b.layout, self.c.layout)
            .with_batch(self.count, [self.a.stride, self.b.stride, self.c.stride])
            .with_accuracy(self.class)
            .with_alignment(4, 4)
    }

    /// Compares what became of a buffer, in a view of which C was, with f64.
    pub fn check(&self, slug: &str, buffer: &[f32], result: &[f32]) -> Result<(), TestCaseError> {
        let ([m, n, k], [alpha, beta]) = (self.sizes, self.scalars);
        // A bound per product: f32's unit roundoff for each term, and TF32's operands of 11 bits.
        let unit = if self.class == AccuracyClass::Tf32 { 2_f64.powi(-9) } else { (k + 4) as f64 * 2_f64.powi(-22) };
        let mut expected: Vec<_> = buffer.iter().map(|&old| (f64::from(old), 0.0)).collect();
        for (problem, i, j) in (0..self.count).flat_map(|p| (0..m).flat_map(move |i| (0..n).map(move |j| (p, i, j)))) {
            let indices = |l| [self.a.index(problem, i, l), self.b.index(problem, l, j)];
            let terms = (0..k).map(|l| indices(l).map(|at| f64::from(buffer[at])));
            let (sum, size) = terms.fold((0.0, 0.0), |(sum, size), [x, y]| (sum + x * y, size + (x * y).abs()));
            let at = self.c.index(problem, i, j);
            let old = f64::from(beta) * f64::from(buffer[at]);
            let bound = unit * (f64::from(alpha.abs()) * size + old.abs());
            expected[at] = (f64::from(alpha) * sum + old, bound);
        }
        for (at, (got, (value, bound))) in result.iter().zip(expected).enumerate() {
            // What is in no view of C is as it was, to the bit.
            prop_assert!((f64::from(*got) - value).abs() <= bound, "{slug}: element {at}: {got}, not {value}");
        }
        Ok(())
    }
}
