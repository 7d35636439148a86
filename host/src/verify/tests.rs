//! What the verification must catch, and what it must let pass.

use std::sync::LazyLock;

use rand::RngExt;
use rayon::prelude::*;

use super::*;
use crate::matrix::GUARD;

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
    let allowance = Allowance::new(&problem, Precision::Fp32);
    let right = sgemm(&problem, &fresh).c;
    assert_eq!(freivalds.check(&right, &allowance), None);
    let mut wrong = right.clone();
    wrong.set(17, 3, 9.0);
    assert!(matches!(freivalds.check(&wrong, &allowance), Some(Fault::Row { row: 17, .. })));
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
fn catches_inputs_that_were_overwritten() {
    let overwritten = fault(&problem(8, 9, 10), |result| result.a.set(3, 4, -0.0));
    assert_eq!(overwritten, Some(Fault::Input { matrix: 'A', row: 3, column: 4 }));
}
