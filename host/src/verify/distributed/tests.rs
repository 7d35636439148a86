//! The checks of distributed results, against results that were computed in f64, and broken.

use std::sync::{Barrier, Mutex};

use gpu_kernels::{Element, Precision};
use sgemm::distributed::{Blocks, Grid, Scheme};

use super::freivalds::Freivalds;
use super::*;
use crate::error::Fault;
use crate::verify::{ErrorBound, element};
use crate::{AccuracyClass, Operands, Problem};

/// A problem over some ranks, its operands and its right result.
struct Case {
    drawn: Drawn,
    class: AccuracyClass,
    parts: Vec<Part>,
    fresh: Vec<Operands>,
    right: Vec<Operands>,
}

impl Case {
    fn new([m, n, k]: [u32; 3], [alpha, beta]: [f32; 2], class: AccuracyClass, scheme: &Scheme) -> Self {
        let problem = Problem::new(m, n, k).unwrap().with_elements(class.input(), class.input()).unwrap();
        let drawn = Drawn::new(&problem.with_scalars(alpha, beta).unwrap().with_seed(3));
        let library = sgemm::Problem::from(problem.gemm);
        let parts: Vec<_> = (0..scheme.grid.ranks()).map(|rank| Part::new(scheme, &library, rank)).collect();
        let fresh: Vec<_> = parts.iter().map(|part| drawn.operands(part).unwrap()).collect();
        let mut case = Self { drawn, class, parts, right: fresh.clone(), fresh };
        case.right = case.multiplied(|x| x, k as usize);
        case
    }

    /// The result where each operand is read by `read`, and sums have so many terms.
    fn multiplied(&self, read: fn(f32) -> f32, terms: usize) -> Vec<Operands> {
        let (drawn, problem) = (&self.drawn, self.drawn.problem());
        let element = |row, column| {
            let product = |p| f64::from(read(drawn.a(row, p))) * f64::from(read(drawn.b(p, column)));
            let sum: f64 = (0..terms).map(product).sum();
            let old = if problem.reads_c() { f64::from(problem.beta) * f64::from(drawn.c(row, column)) } else { 0.0 };
            (f64::from(problem.alpha) * sum + old) as f32
        };
        let mut results = self.fresh.clone();
        for (part, result) in self.parts.iter().zip(&mut results) {
            for (i, row) in part.c[0].iter().enumerate() {
                part.c[1].iter().enumerate().for_each(|(j, column)| result.c.set(i, j, element(*row, *column)));
            }
        }
        results
    }

    fn check(&self, results: &[Operands]) -> Check {
        check(&self.drawn, self.class, &self.parts, [&self.fresh, results], &mut alone).unwrap()
    }

    /// What Freivalds' check alone finds.
    fn row_fault(&self, results: &[Operands]) -> Option<Fault> {
        let fresh: Vec<_> = self.parts.iter().zip(&self.fresh).collect();
        let results: Vec<_> = self.parts.iter().zip(results).collect();
        let error_bound = ErrorBound::new(self.drawn.problem(), self.class.precisions()[0]);
        Freivalds::new(&self.drawn, &fresh, &mut alone).unwrap().check(&results, &error_bound, &mut alone).unwrap()
    }

    /// The rank and the place in its C of an element of the whole C.
    fn place(&self, row: usize, column: usize) -> (usize, [usize; 2]) {
        let find = |indices: &[usize], index| indices.iter().position(|other| *other == index);
        let of = |part: &Part| Some((part.rank, [find(&part.c[0], row)?, find(&part.c[1], column)?]));
        self.parts.iter().find_map(of).unwrap()
    }
}

fn grid(rows: usize, columns: usize, layers: usize) -> Grid {
    Grid { rows, columns, layers }
}

fn schemes(sizes: [u32; 3]) -> [Scheme; 4] {
    let sizes = sizes.map(|size| size as usize);
    let odd = Scheme { blocks: Blocks { m: 3, n: 7, k: 5 }, ..Scheme::panels(sizes, grid(2, 3, 1)) };
    [Scheme::row_panels(sizes, 1), Scheme::row_panels(sizes, 5), odd, Scheme::panels(sizes, grid(2, 1, 3))]
}

#[test]
fn an_element_is_the_same_in_every_scheme() {
    let sizes = [23, 31, 19];
    let [whole, ..] = schemes(sizes);
    let whole = Case::new(sizes, [1.0, 0.5], AccuracyClass::F16, &whole);
    for scheme in schemes(sizes) {
        let case = Case::new(sizes, [1.0, 0.5], AccuracyClass::F16, &scheme);
        for (part, own) in case.parts.iter().zip(&case.fresh) {
            let same = |matrix: &crate::Matrix, [rows, columns]: &[Vec<usize>; 2], of: &crate::Matrix| {
                rows.iter().enumerate().all(|(i, row)| {
                    columns.iter().enumerate().all(|(j, column)| matrix.get(i, j) == of.get(*row, *column))
                })
            };
            let [all] = &whole.fresh[..] else { panic!("one rank has all") };
            assert!(same(&own.a, &part.a, &all.a) && same(&own.b, &part.b, &all.b) && same(&own.c, &part.c, &all.c));
        }
    }
    // Uniform in [-1, 1), of 16 bits, and each matrix by itself.
    let [Operands { a, b, .. }] = &whole.fresh[..] else { panic!("one rank has all") };
    let all: Vec<_> = (0..19).flat_map(|i| b.row(i)).map(|x| f64::from(*x)).collect();
    let (mean, square) = (all.iter().sum::<f64>() / 589.0, all.iter().map(|x| x * x).sum::<f64>() / 589.0);
    assert!(mean.abs() < 0.1 && (square - 1.0 / 3.0).abs() < 0.06, "{mean} {square}");
    assert!(all.iter().all(|x| (-1.0..1.0).contains(x) && element::round(Element::F16, *x as f32) == *x as f32));
    assert!((0..19).any(|i| a.get(i, 0) != b.get(i, 0)));
    let other = Drawn::new(&whole.drawn.problem().with_seed(4));
    assert_ne!(other.a(0, 0).to_bits(), whole.drawn.a(0, 0).to_bits());
}

#[test]
fn right_results_pass() {
    for class in AccuracyClass::ALL {
        for sizes in [[40, 30, 50], [1, 1, 1], [3, 200, 2], [5, 4, 3000], [7, 0, 4], [7, 9, 0]] {
            for (scalars, scheme) in [[1.0, 0.0], [0.3, -0.7], [0.0, 2.0]].into_iter().zip(schemes(sizes)) {
                let case = Case::new(sizes, scalars, class, &scheme);
                let found = case.check(&case.right);
                assert_eq!(found.fault, None, "{class:?} {sizes:?} {scalars:?} {scheme:?}");
                assert!(found.max_scaled_error <= 1.0 && found.rel_error < 1e-2);
                assert_eq!(case.row_fault(&case.right), None);
            }
        }
    }
}

#[test]
fn one_wrong_element_on_any_rank_is_found_and_named() {
    let sizes = [40, 30, 50];
    for scheme in schemes(sizes) {
        let case = Case::new(sizes, [1.0, 0.5], AccuracyClass::Fp32Strict, &scheme);
        for (row, column) in [(0, 0), (39, 29), (17, 4), (3, 28)] {
            let (rank, [i, j]) = case.place(row, column);
            for wrong in [case.right[rank].c.get(i, j) + 1e-2, f32::NAN, f32::INFINITY] {
                let mut results = case.right.clone();
                results[rank].c.set(i, j, wrong);
                let fault = case.check(&results).fault.unwrap();
                assert!(fault.starts_with(&format!("rank {rank}: C[{row}, {column}] is ")), "{fault}");
                assert!(matches!(case.row_fault(&results), Some(Fault::Row { row: found, .. }) if found == row));
            }
        }
    }
}

#[test]
fn rows_alone_tell_a_forgotten_product_two_swapped_columns_and_what_was_never_written() {
    let sizes = [60, 80, 100];
    let [_, panels, cyclic, _] = schemes(sizes);
    for (class, scheme) in [(AccuracyClass::Fp32, panels), (AccuracyClass::Bf16, cyclic)] {
        let case = Case::new(sizes, [1.0, 0.0], class, &scheme);
        assert!(case.row_fault(&case.multiplied(|x| x, 99)).is_some());
        let mut swapped = case.right.clone();
        let c = &mut swapped[0].c;
        for i in 0..c.rows() {
            let (one, other) = (c.get(i, 0), c.get(i, 1));
            c.set(i, 0, other);
            c.set(i, 1, one);
        }
        assert!(case.row_fault(&swapped).is_some());
        let mut left = case.right.clone();
        left[1].c = case.fresh[1].c.clone();
        assert!(case.row_fault(&left).is_some());
        left[1].c.fill(0.0);
        assert!(case.row_fault(&left).is_some());
    }
}

#[test]
fn a_class_is_held_to_its_own_error_bound() {
    let scheme = Scheme::row_panels([40, 60, 200], 3);
    let truncated = |x: f32| f32::from_bits(x.to_bits() & !0x1fff);
    for (class, is_right) in
        [(AccuracyClass::Fp32Strict, false), (AccuracyClass::Fp32, false), (AccuracyClass::Tf32, true)]
    {
        let case = Case::new([40, 60, 200], [1.0, 0.0], class, &scheme);
        let results = case.multiplied(truncated, 200);
        assert_eq!(case.check(&results).fault.is_none(), is_right, "{class:?}");
        assert_eq!(case.row_fault(&results).is_none(), is_right, "{class:?}");
    }
    assert!(
        AccuracyClass::ALL
            .iter()
            .all(|class| class.precisions()[0] != Precision::Fp32 || class.precisions().len() == 1)
    );
}

#[test]
fn writes_beside_a_rank_s_matrices_and_to_its_inputs_are_found() {
    let case = Case::new([20, 20, 20], [1.0, 0.0], AccuracyClass::Fp32, &Scheme::row_panels([20; 3], 4));
    let fault = |break_it: fn(&mut Operands)| {
        let mut results = case.right.clone();
        break_it(&mut results[2]);
        case.check(&results).fault.unwrap()
    };
    assert_eq!(fault(|rank| rank.c.as_mut_slice()[0] = 1.0), "rank 2: a write beside C: 64 elements before its first");
    assert!(fault(|rank| *rank.b.as_mut_slice().last_mut().unwrap() = 1.0).starts_with("rank 2: a write beside B"));
    assert_eq!(fault(|rank| rank.a.set(1, 2, 7.0)), "rank 2: A[1, 2] was overwritten");
}

/// Processes as threads, each with some of the ranks.
#[test]
fn all_processes_find_the_same() {
    let sizes = [40, 30, 50];
    let case = Case::new(sizes, [1.0, 0.5], AccuracyClass::Fp32, &Scheme::panels([40, 30, 50], grid(2, 2, 1)));
    let mut broken = case.right.clone();
    broken[3].c.set(1, 1, 9.0);
    broken[2].c.set(2, 2, f32::NAN);
    for results in [&case.right, &broken] {
        let expected = case.check(results);
        let (sums, barrier) = (Mutex::new(Vec::new()), Barrier::new(4));
        let exchange = |how, values: &mut [f64]| {
            let combine = |sum: &mut f64, value: f64| match how {
                Combine::Sum => *sum += value,
                Combine::Max => *sum = sum.max(value),
            };
            {
                let mut sums = sums.lock().unwrap();
                if sums.is_empty() {
                    *sums = values.to_vec();
                } else {
                    sums.iter_mut().zip(&*values).for_each(|(sum, value)| combine(sum, *value));
                }
            }
            barrier.wait();
            values.copy_from_slice(&sums.lock().unwrap());
            if barrier.wait().is_leader() {
                sums.lock().unwrap().clear();
            }
            barrier.wait();
            Ok(())
        };
        let process = |rank: usize| {
            let matrices = [&case.fresh[rank..=rank], &results[rank..=rank]];
            check(&case.drawn, case.class, &case.parts[rank..=rank], matrices, &mut &exchange).unwrap()
        };
        let found: Vec<_> = std::thread::scope(|scope| {
            let process = &process;
            let threads: Vec<_> = (0..4).map(|rank| scope.spawn(move || process(rank))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        for one in found {
            assert_eq!((one.fault, one.max_scaled_error), (expected.fault.clone(), expected.max_scaled_error));
        }
    }
}
