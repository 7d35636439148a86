//! Random problems on random views of one buffer, against f64.

#![cfg(all(feature = "emulator", feature = "sm80", feature = "sm90"))]

use proptest::prelude::*;
use sgemm::emulator::{Arguments, Emulator};
use sgemm::{AccuracyClass, Layout, Problem};

/// A matrix in the buffer: where it begins, its layout, and elements from one problem's to the next one's.
#[derive(Debug, Clone, Copy)]
struct View {
    first: usize,
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

/// Where a view begins, its gap, whether it is by columns, whether all problems of a batch share it.
fn placement() -> impl Strategy<Value = (usize, usize, bool, bool)> {
    (0..9_usize, 0..5_usize, any::<bool>(), any::<bool>())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn products_of_views_are_those_of_f64(
        [m, n, k] in prop::array::uniform3(1..40_usize),
        count in 1..4_usize,
        placements in [placement(), placement(), placement()],
        scalars in prop::sample::select(vec![[1.0_f32, 0.0], [-0.5, 1.0], [2.0, -1.5], [0.0, 0.5]]),
        class in prop::sample::select(vec![AccuracyClass::Fp32Strict, AccuracyClass::Fp32, AccuracyClass::Tf32]),
        buffer in prop::collection::vec(-1.0_f32..1.0, 16_384),
    ) {
        let [of_a, of_b, (first, gap, by_columns, _)] = placements;
        let (a, b) = (View::new(m, k, count, of_a), View::new(k, n, count, of_b));
        let c = View::new(m, n, count, (first, gap, by_columns, false));
        let [alpha, beta] = scalars;
        let problem = Problem::new(m, n, k)
            .with_layouts(a.layout, b.layout, c.layout)
            .with_batch(count, [a.stride, b.stride, c.stride])
            .with_accuracy(class)
            .with_alignment(4, 4);
        let emulator = Emulator::of("h200").expect("it is known");
        let plan = emulator.plan(&problem, u64::MAX).expect("a kernel");
        let mut result = buffer.clone();
        let arguments = Arguments::new(alpha, &buffer[a.first..], &buffer[b.first..], beta, &mut result[c.first..]);
        emulator.run(&plan, arguments).expect("a clean run");

        // A bound per product: f32's unit roundoff for each term, and TF32's operands of 11 bits.
        let unit = if class == AccuracyClass::Tf32 { 2_f64.powi(-9) } else { (k + 4) as f64 * 2_f64.powi(-22) };
        let mut expected: Vec<_> = buffer.iter().map(|&old| (f64::from(old), 0.0)).collect();
        for (problem, i, j) in (0..count).flat_map(|p| (0..m).flat_map(move |i| (0..n).map(move |j| (p, i, j)))) {
            let terms = (0..k).map(|l| [a.index(problem, i, l), b.index(problem, l, j)].map(|at| f64::from(buffer[at])));
            let (sum, size) = terms.fold((0.0, 0.0), |(sum, size), [x, y]| (sum + x * y, size + (x * y).abs()));
            let at = c.index(problem, i, j);
            let old = f64::from(beta) * f64::from(buffer[at]);
            let bound = unit * (f64::from(alpha.abs()) * size + old.abs());
            expected[at] = (f64::from(alpha) * sum + old, bound);
        }
        for (at, (got, (value, bound))) in result.iter().zip(expected).enumerate() {
            // What is in no view of C is as it was, to the bit.
            prop_assert!((f64::from(*got) - value).abs() <= bound, "{}: element {at}: {got}, not {value}", plan.step().slug);
        }
    }
}
