//! What the verification must catch, and what it must let pass.

use std::sync::LazyLock;

use gpu_kernels::{Element, Precision};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use rayon::prelude::*;

use super::freivalds::Freivalds;
use super::*;
use crate::Problem;
use crate::error::Damage;
use crate::verify::matrix::GUARD;

mod escapes;

/// The right result, as a plain fp32 kernel computes it.
pub(super) fn sgemm(problem: &Problem, fresh: &Operands) -> Operands {
    let row = |i: usize| {
        let mut sums = vec![0.0f32; problem.n as usize];
        if problem.alpha != 0.0 {
            for (p, &a) in fresh.a.row(i).iter().enumerate() {
                sums.iter_mut().zip(fresh.b.row(p)).for_each(|(sum, &b)| *sum += a * b);
            }
        }
        let old = |j: usize| if problem.beta == 0.0 { 0.0 } else { problem.beta * fresh.c.get(i, j) };
        sums.iter().enumerate().map(|(j, sum)| problem.alpha * sum + old(j)).collect()
    };
    let rows: Vec<Vec<f32>> = (0..problem.m as usize).into_par_iter().map(row).collect();
    let mut result = fresh.clone();
    rows.iter().enumerate().for_each(|(i, row)| result.c.row_mut(i).copy_from_slice(row));
    result
}

/// The right result of the problem's elements in some arithmetic: what it makes of factors, of sums and of their ends.
fn of_precision(problem: &Problem, fresh: &Operands, precision: Precision) -> Operands {
    // Truncates to a significand of `bits` bits, as tensor cores do.
    let truncate = |x: f32, bits: u32| f32::from_bits(x.to_bits() & !0 << (24 - bits));
    let add_truncating = |a: f32, b: f64| {
        let exact = f64::from(a) + b;
        let sum = exact as f32;
        if f64::from(sum).abs() > exact.abs() { f32::from_bits(sum.to_bits() - 1) } else { sum }
    };
    let term = |a: f32, b: f32| match precision {
        Precision::Tf32 => f64::from(truncate(a, 11)) * f64::from(truncate(b, 11)),
        Precision::Fp16x3 | Precision::Tf32x3 => {
            let [a, b] = [a, b].map(|x| {
                let hi = truncate(x, 11);
                (f64::from(hi), f64::from(truncate(x - hi, 11)))
            });
            a.0 * b.0 + a.0 * b.1 + a.1 * b.0
        }
        Precision::Fp32 | Precision::F16 | Precision::Bf16 => f64::from(a) * f64::from(b),
    };
    // Eight products at once; the hi/lo split adds partial sums of 64 terms in f32.
    let promoted = if matches!(precision, Precision::Fp16x3 | Precision::Tf32x3) { 64 } else { usize::MAX };
    let element = |i: usize, j: usize| {
        let (mut sum, mut partial) = (0.0, 0.0);
        for p in (0..problem.k as usize).step_by(8) {
            let terms = p..(p + 8).min(problem.k as usize);
            partial = add_truncating(partial, terms.map(|p| term(fresh.a.get(i, p), fresh.b.get(p, j))).sum());
            if (p + 8).is_multiple_of(promoted) {
                sum += partial;
                partial = 0.0;
            }
        }
        sum += partial;
        let old = if problem.beta == 0.0 { 0.0 } else { problem.beta * fresh.c.get(i, j) };
        crate::verify::element::round(problem.output, problem.alpha * sum + old)
    };
    let row = |i: usize| (0..problem.n as usize).map(|j| element(i, j)).collect::<Vec<_>>();
    let rows: Vec<_> = (0..problem.m as usize).into_par_iter().map(row).collect();
    let mut result = fresh.clone();
    rows.iter().enumerate().for_each(|(i, row)| result.c.row_mut(i).copy_from_slice(row));
    result
}

/// Every arithmetic but fp32, with each kind of C.
const OTHERS: [(Precision, Element); 7] = [
    (Precision::Tf32, Element::F32),
    (Precision::Fp16x3, Element::F32),
    (Precision::Tf32x3, Element::F32),
    (Precision::F16, Element::F16),
    (Precision::F16, Element::F32),
    (Precision::Bf16, Element::Bf16),
    (Precision::Bf16, Element::F32),
];

/// The fault that the verifier finds once `break_it` has been at the right result.
fn fault(problem: &Problem, break_it: impl FnOnce(&mut Operands)) -> Option<Fault> {
    let fresh = Operands::random(problem).unwrap();
    let mut result = sgemm(problem, &fresh);
    break_it(&mut result);
    Verifier::new(problem, &fresh).verify(&result, Precision::Fp32).fault
}

fn problem(m: u32, n: u32, k: u32) -> Problem {
    Problem::new(m, n, k).unwrap().with_seed(7)
}

/// A problem of which only some rows are compared element by element, its operands and its right result.
static SAMPLED: LazyLock<(Problem, Operands, Operands)> = LazyLock::new(|| {
    let problem = problem(2000, 400, 7000);
    let fresh = Operands::random(&problem).unwrap();
    let result = sgemm(&problem, &fresh);
    (problem, fresh, result)
});

fn sampled() -> (Verifier<'static>, Operands) {
    let (problem, fresh, result) = &*SAMPLED;
    (Verifier::new(problem, fresh), result.clone())
}

#[test]
fn right_results_pass() {
    let cases = [
        problem(1, 1, 1),
        problem(31, 37, 41),
        problem(5, 300, 2),
        problem(300, 5, 700),
        problem(64, 64, 64).with_scalars(-0.5, 1.0).unwrap(),
        problem(64, 64, 64).with_scalars(1e-40, 1e-41).unwrap(),
        problem(9, 8, 7).with_leading_dimensions(10, 11, 12).unwrap(),
        problem(9, 8, 0).with_scalars(1.0, 2.0).unwrap(),
        problem(9, 8, 0),
        problem(0, 8, 7),
        problem(9, 0, 7),
    ];
    for problem in cases {
        let fresh = Operands::random(&problem).unwrap();
        let verification = Verifier::new(&problem, &fresh).verify(&sgemm(&problem, &fresh), Precision::Fp32);
        assert_eq!(verification.fault, None, "{problem:?}");
        assert!(verification.max_scaled_error <= 1.0);
        assert_eq!(verification.rows_checked, problem.m as usize);
    }
}

#[test]
fn right_results_of_every_arithmetic_pass() {
    for (precision, output) in OTHERS {
        let shapes = [(1, 1, 1), (1, 300, 1), (40, 1, 2), (31, 37, 41), (50, 60, 900), (3, 4, 30_000), (9, 8, 0)];
        for ((m, n, k), (alpha, beta)) in
            shapes.into_iter().flat_map(|shape| [(shape, (1.0, 0.0)), (shape, (0.3, -0.7))])
        {
            for seed in 0..5 {
                let problem = problem(m, n, k).with_elements(precision.input(), output).unwrap();
                let problem = problem.with_scalars(alpha, beta).unwrap().with_seed(seed);
                let fresh = Operands::random(&problem).unwrap();
                let result = of_precision(&problem, &fresh, precision);
                let verification = Verifier::new(&problem, &fresh).verify(&result, precision);
                assert_eq!(verification.fault, None, "{precision:?} {problem:?}");
            }
        }
    }
}

/// What is a mistake of one arithmetic, and allowed in the next.
#[test]
fn every_arithmetic_is_held_to_its_error_bound() {
    let found = |done, claimed, input, output| {
        let problem = problem(30, 400, 200).with_elements(input, output).unwrap();
        let fresh = Operands::random(&problem).unwrap();
        Verifier::new(&problem, &fresh).verify(&of_precision(&problem, &fresh, done), claimed).fault
    };
    let (f32, f16, bf16) = (Element::F32, Element::F16, Element::Bf16);
    for claimed in [Precision::Fp32, Precision::Fp16x3, Precision::Tf32x3] {
        assert!(found(Precision::Tf32, claimed, f32, f32).is_some());
        assert!(found(Precision::Fp16x3, claimed, f32, f32).is_none());
    }
    assert!(found(Precision::Tf32, Precision::Tf32, f32, f32).is_none());
    assert!(found(Precision::Tf32, Precision::Bf16, f32, f32).is_some());
    // Results that were rounded to fewer bits than C has.
    for (claimed, input) in [(Precision::F16, f16), (Precision::Bf16, bf16)] {
        let problem = problem(30, 400, 200).with_elements(input, f32).unwrap();
        let fresh = Operands::random(&problem).unwrap();
        let mut result = of_precision(&problem, &fresh, claimed);
        let verifier = Verifier::new(&problem, &fresh);
        assert_eq!(verifier.verify(&result, claimed).fault, None);
        (0..30)
            .for_each(|i| result.c.row_mut(i).iter_mut().for_each(|c| *c = crate::verify::element::round(input, *c)));
        assert!(verifier.verify(&result, claimed).fault.is_some());
    }
}

#[test]
fn every_arithmetic_is_caught_forgetting_a_product_or_a_tile() {
    for (precision, output) in OTHERS {
        let problem = problem(300, 500, 120).with_elements(precision.input(), output).unwrap();
        let fresh = Operands::random(&problem).unwrap();
        let right = of_precision(&problem, &fresh, precision);
        let verifier = Verifier::new(&problem, &fresh);
        let shorter = Problem { gemm: sgemm::Product { k: 119, ..*problem }, ..problem };
        let mut result = of_precision(&shorter, &fresh, precision);
        assert!(matches!(verifier.verify(&result, precision).fault, Some(Fault::Element { .. })), "{precision:?}");
        // By whole rows and columns alone: a block that was never written, and a single infinity.
        let freivalds = Freivalds::new(&problem, &fresh, &mut SmallRng::seed_from_u64(1));
        let error_bound = ErrorBound::new(&problem, precision);
        assert_eq!(freivalds.check(&right.c, &error_bound), None);
        result = right.clone();
        (128..160).for_each(|i| result.c.row_mut(i)[64..96].fill(0.0));
        assert!(freivalds.check(&result.c, &error_bound).is_some(), "{precision:?}");
        for wrong in [f32::NAN, f32::INFINITY] {
            result = right.clone();
            result.c.set(299, 499, wrong);
            assert!(freivalds.check(&result.c, &error_bound).is_some(), "{precision:?} {wrong}");
        }
    }
}

#[test]
fn inputs_that_are_not_read_may_hold_anything() {
    let problem = problem(20, 30, 40).with_scalars(0.0, 2.0).unwrap();
    let mut fresh = Operands::random(&problem).unwrap();
    fresh.a.fill(f32::NAN);
    fresh.b.fill(f32::INFINITY);
    let verification = Verifier::new(&problem, &fresh).verify(&sgemm(&problem, &fresh), Precision::Fp32);
    assert_eq!(verification.fault, None);
}

#[test]
fn the_error_is_relative_to_the_norm() {
    let problem = problem(10, 10, 10);
    let fresh = Operands::random(&problem).unwrap();
    let verifier = Verifier::new(&problem, &fresh);
    let mut result = sgemm(&problem, &fresh);
    assert!((1e-9..1e-6).contains(&verifier.verify(&result, Precision::Fp32).rel_error));
    (0..10).for_each(|i| result.c.row_mut(i).iter_mut().for_each(|c| *c *= 1.5));
    let verification = verifier.verify(&result, Precision::Fp32);
    assert!((verification.rel_error - 0.5).abs() < 1e-5);
    assert!(verification.max_scaled_error > 1.0);
}

#[test]
fn catches_one_wrong_element_anywhere_in_a_large_result() {
    let (verifier, mut result) = sampled();
    let right = verifier.verify(&result, Precision::Fp32);
    assert_eq!(right.fault, None);
    assert!(right.rows_checked < 1000, "this test is about rows that are not compared element by element");
    let mut rng = SmallRng::seed_from_u64(3);
    for _ in 0..50 {
        let (i, j) = (rng.random_range(0..2000), rng.random_range(0..400));
        let old = result.c.get(i, j);
        // One product too few or too many is the smallest mistake that a kernel makes.
        result.c.set(i, j, old + 0.3);
        assert!(!verifier.verify(&result, Precision::Fp32).passed(), "C[{i}, {j}]");
        result.c.set(i, j, old);
    }
}

#[test]
fn catches_nan_everywhere() {
    let (verifier, mut result) = sampled();
    for i in [0, 1, 2, 3, 1777, 1999] {
        let old = result.c.get(i, 99);
        result.c.set(i, 99, f32::NAN);
        assert!(!verifier.verify(&result, Precision::Fp32).passed(), "C[{i}, 99]");
        result.c.set(i, 99, old);
    }
}

#[test]
fn catches_a_row_that_was_never_written() {
    let (verifier, mut result) = sampled();
    result.c.row_mut(1234).fill(0.0);
    let fault = verifier.verify(&result, Precision::Fp32).fault;
    assert!(matches!(fault, Some(Fault::Row { row: 1234, .. } | Fault::Element { row: 1234, .. })));
}

#[test]
fn catches_a_transposed_result() {
    let transposed = fault(&problem(50, 50, 50), |result| {
        let right = result.c.clone();
        (0..50).for_each(|i| (0..50).for_each(|j| result.c.set(i, j, right.get(j, i))));
    });
    assert!(matches!(transposed, Some(Fault::Element { .. })));
}

#[test]
fn freivalds_alone_tells_rows_from_columns() {
    let problem = problem(100, 80, 60);
    let fresh = Operands::random(&problem).unwrap();
    let freivalds = Freivalds::new(&problem, &fresh, &mut SmallRng::seed_from_u64(1));
    let error_bound = ErrorBound::new(&problem, Precision::Fp32);
    let right = sgemm(&problem, &fresh).c;
    assert_eq!(freivalds.check(&right, &error_bound), None);
    let mut wrong = right.clone();
    wrong.set(17, 3, 9.0);
    assert!(matches!(freivalds.check(&wrong, &error_bound), Some(Fault::Row { row: 17, .. })));
}

#[test]
fn catches_c_being_read_where_beta_is_0() {
    let read = fault(&problem(8, 8, 8), |result| result.c.row_mut(5).iter_mut().for_each(|c| *c += 0.0 * f32::NAN));
    assert!(matches!(read, Some(Fault::Element { row: 5, .. })));
}

#[test]
fn catches_writes_beside_the_elements() {
    let problem = problem(8, 9, 10).with_leading_dimensions(13, 13, 13).unwrap();
    let written = |at: usize| fault(&problem, |result| result.c.as_mut_slice()[at] = 1.0);
    let first = GUARD;
    assert_eq!(written(first - 1), Some(Fault::Guard { matrix: 'C', damage: Damage::Before { distance: 1 } }));
    assert_eq!(written(first + 9), Some(Fault::Guard { matrix: 'C', damage: Damage::Padding { row: 0, column: 9 } }));
    assert_eq!(written(first + 8 * 13), Some(Fault::Guard { matrix: 'C', damage: Damage::After { distance: 1 } }));
    let beside_b = fault(&problem, |result| result.b.as_mut_slice()[0] = 1.0);
    assert!(matches!(beside_b, Some(Fault::Guard { matrix: 'B', .. })));
}

#[test]
fn catches_writes_beside_the_elements_where_inputs_are_special() {
    let problem = problem(8, 9, 10);
    let mut fresh = Operands::random(&problem).unwrap();
    special::fill(&mut fresh);
    let written = |change: fn(&mut Operands)| {
        let mut result = sgemm(&problem, &fresh);
        assert_eq!(special::fault(&problem, &fresh, &result), None);
        change(&mut result);
        special::fault(&problem, &fresh, &result)
    };
    let behind = written(|result| result.c.as_mut_slice()[GUARD + 8 * 9] = 1.0);
    assert_eq!(behind, Some(Fault::Guard { matrix: 'C', damage: Damage::After { distance: 1 } }));
    assert_eq!(written(|result| result.a.set(3, 4, 7.0)), Some(Fault::Input { matrix: 'A', row: 3, column: 4 }));
}

#[test]
fn catches_inputs_that_were_overwritten() {
    let overwritten = fault(&problem(8, 9, 10), |result| result.a.set(3, 4, -0.0));
    assert_eq!(overwritten, Some(Fault::Input { matrix: 'A', row: 3, column: 4 }));
}
