//! `Determinism::PerElement`: an element's bits are those of its own row and column, whatever problem these are part of.

#![cfg(all(feature = "emulator", feature = "f16", feature = "sm80", feature = "sm90"))]

use half::f16;
use proptest::prelude::*;
use sgemm::emulator::{Arguments, Emulator, MODELS};
use sgemm::select::{self, Table};
use sgemm::{AccuracyClass, Determinism, Device, Layout, Problem, Scalar};

fn problem(m: usize, n: usize, k: usize, class: AccuracyClass) -> Problem {
    Problem::new(m, n, k)
        .with_elements(class.input(), class.input())
        .with_accuracy(class)
        .with_determinism(Determinism::PerElement)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    /// On every device, k and class alone decide on the order along k.
    #[test]
    fn the_order_along_k_depends_on_k_alone(
        shapes in prop::collection::vec([1..20_000_usize, 1..20_000_usize], 2..5),
        k in prop_oneof![1..130_usize, 1..20_000_usize],
        class in prop::sample::select(AccuracyClass::ALL.to_vec()),
        by_columns in any::<bool>(),
    ) {
        for model in MODELS {
            let device = Device::new(model.name, model.compute_capability, model.sm_count);
            let orders: Vec<_> = shapes
                .iter()
                .filter_map(|&[m, n]| {
                    let layout = |rows, columns| if by_columns { Layout::column_major(rows) } else { Layout::row_major(columns) };
                    let problem = problem(m, n, k, class).with_layouts(layout(m, k), layout(k, n), layout(m, n));
                    let plan = select::plan(Table::of(&device), &device, &problem, u64::MAX).ok()?;
                    Some((plan.step().precision, plan.step().k_splits().expect("it has an order")))
                })
                .collect();
            prop_assert!(orders.windows(2).all(|pair| pair[0] == pair[1]), "{}: {orders:?}", model.name);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    #[test]
    fn parts_of_a_product_have_its_bits(
        [m, n] in [2..70_usize, 2..150_usize],
        k in prop_oneof![1..65_usize, 65..200_usize],
        cut in 0.0..1.0_f64,
        class in prop::sample::select(vec![AccuracyClass::Fp32Strict, AccuracyClass::Fp32, AccuracyClass::Tf32]),
        numbers in prop::collection::vec(-1.0_f32..1.0, 220 * 200),
    ) {
        parts([m, n, k], cut, class, &numbers)?;
    }

    #[test]
    fn parts_of_a_product_of_halves_have_its_bits(
        [m, n, k] in [2..70_usize, 2..150_usize, 1..200_usize],
        cut in 0.0..1.0_f64,
        numbers in prop::collection::vec(-1.0_f32..1.0, 220 * 200),
    ) {
        let numbers: Vec<_> = numbers.into_iter().map(f16::from_f32).collect();
        parts([m, n, k], cut, AccuracyClass::F16, &numbers)?;
    }
}

/// What cannot be split for the tensor cores is computed in fp32, and leaves the bits of all other rows and columns as they are.
#[test]
fn a_row_that_cannot_be_split_leaves_the_others_as_they_are() {
    let (m, n, k) = (140, 70, 100);
    let (row, column) = (17, 33);
    let number = |i: usize| ((i * 2_654_435_761) % 65_537) as f32 / 32_768.5 - 1.0;
    let (mut a, mut b): (Vec<f32>, Vec<f32>) = ((0..m * k).map(number).collect(), (7..7 + k * n).map(number).collect());
    let emulator = Emulator::of("h200").expect("it is known");
    let plan = emulator.plan(&problem(m, n, k, AccuracyClass::Fp32), u64::MAX).unwrap();
    assert!(plan.step().has_split_operands(), "{}", plan.step().slug);
    let run = |a: &[f32], b: &[f32]| {
        let mut c = vec![0.0_f32; m * n];
        emulator.run(&plan, Arguments::new(1.0, a, b, 0.0, &mut c)).unwrap();
        c
    };
    let before = run(&a, &b);
    a[row * k + 3] = f32::INFINITY;
    b[5 * n + column] = f32::NAN;
    let after = run(&a, &b);
    for (at, (one, other)) in before.iter().zip(&after).enumerate() {
        if at / n == row || at % n == column {
            assert!(!other.is_finite(), "{at}: {other}");
        } else {
            assert_eq!(one.to_bits(), other.to_bits(), "{at}: {one} {other}");
        }
    }
}

/// Compares a product with that of its first rows, of its last columns, with its transpose, and with a batch of its rows.
fn parts<T: Scalar + PartialEq>(
    [m, n, k]: [usize; 3],
    cut: f64,
    class: AccuracyClass,
    numbers: &[T],
) -> Result<(), TestCaseError> {
    let (a, b) = (&numbers[..m * k], &numbers[m * k..][..k * n]);
    let emulator = Emulator::of("h200").expect("it is known");
    let run = |problem: &Problem, a: &[T], b: &[T], elements: usize| {
        let mut c = vec![numbers[0]; elements];
        let plan = emulator.plan(problem, u64::MAX)?;
        emulator.run(&plan, Arguments::new(0.5, a, b, 0.0, &mut c)).map(|()| c)
    };
    let whole = run(&problem(m, n, k, class), a, b, m * n)?;
    let rows = 1 + (cut * (m - 1) as f64) as usize;
    let columns = 1 + (cut * (n - 1) as f64) as usize;

    let first_rows = run(&problem(rows, n, k, class), a, b, rows * n)?;
    prop_assert!(first_rows == whole[..rows * n]);

    let [of_a, of_b] = [Layout::row_major(k), Layout::row_major(n)];
    let last = problem(m, columns, k, class).with_layouts(of_a, of_b, Layout::row_major(columns));
    let at = std::mem::size_of::<T>();
    let last_columns = run(&last.with_alignment(16, at), a, &b[n - columns..], m * columns)?;
    let expected: Vec<T> = whole.chunks(n).flat_map(|row| &row[n - columns..]).copied().collect();
    prop_assert!(last_columns == expected);

    let by_columns = problem(m, n, k, class).with_layouts(of_a, of_b, Layout::column_major(m));
    let transposed = run(&by_columns, a, b, m * n)?;
    // By columns, a split's hi*lo is lo*hi: one of the two is added first.
    let is_symmetric = class != AccuracyClass::Fp32;
    prop_assert!(!is_symmetric || (0..m * n).all(|at| transposed[at % n * m + at / n] == whole[at]));

    let of_rows = problem(1, n, k, class).with_batch(m, [k, 0, n]).with_alignment(at, 16);
    prop_assert!(run(&of_rows, a, b, m * n)? == whole);
    Ok(())
}
