//! Calls, by whatever the environment says: `streamed.rs` runs them in each way.

use std::ffi::c_char;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::{env, ptr, thread};

use sgemm_blas::{cblas_sgemm, cblas_sgemm_64, sgemm_};

const SIZES: [usize; 3] = [70, 50, 90];

/// Bits of what is no matrix's: a NaN.
const GUARD: u32 = 0x7fc0_1234;

/// Numbers from -1 to 1.
fn number(index: usize) -> f32 {
    let hash = (index as u32).wrapping_mul(0x9e37_79b1).rotate_left(15).wrapping_mul(0x85eb_ca77);
    (hash >> 8) as f32 / (1 << 23) as f32 - 1.0
}

/// A matrix by columns, with NaN in the gaps between these, and before and after all.
#[derive(Clone)]
struct Matrix {
    rows: usize,
    columns: usize,
    ld: usize,
    elements: Vec<f32>,
}

impl Matrix {
    const BEFORE: usize = 9;

    fn new([rows, columns]: [usize; 2], gap: usize, of: impl Fn(usize) -> f32) -> Self {
        let ld = rows + gap;
        let mut elements = vec![f32::from_bits(GUARD); Self::BEFORE + ld * columns + 9];
        for column in 0..columns {
            (0..rows).for_each(|row| elements[Self::BEFORE + column * ld + row] = of(column * rows + row));
        }
        Self { rows, columns, ld, elements }
    }

    fn at(&self, row: usize, column: usize) -> f64 {
        f64::from(self.elements[Self::BEFORE + column * self.ld + row])
    }

    fn start(&mut self) -> *mut f32 {
        self.elements[Self::BEFORE..].as_mut_ptr()
    }

    /// What is no element, by address.
    fn gaps(&self) -> impl Iterator<Item = usize> {
        let (rows, columns, ld) = (self.rows, self.columns, self.ld);
        let is_own = move |index: usize| {
            index.checked_sub(Self::BEFORE).is_some_and(|index| index % ld < rows && index / ld < columns)
        };
        (0..self.elements.len()).filter(move |index| !is_own(*index))
    }
}

/// C = alpha\*op(A)\*op(B) + beta\*C, and what it is compared with.
struct Case {
    ops: [u8; 2],
    alpha: f32,
    beta: f32,
    a: Matrix,
    b: Matrix,
    c: Matrix,
}

impl Case {
    fn new([m, n, k]: [usize; 3], ops: [u8; 2], [alpha, beta]: [f32; 2]) -> Self {
        let turned = |op, [rows, columns]: [usize; 2]| if op == b'N' { [rows, columns] } else { [columns, rows] };
        let a = Matrix::new(turned(ops[0], [m, k]), 3, number);
        let b = Matrix::new(turned(ops[1], [k, n]), 0, |index| number(index + 1_000_000));
        // A NaN that is read remains one.
        let c = Matrix::new([m, n], 5, |index| if beta == 0.0 { f32::NAN } else { number(index + 2_000_000) });
        Self { ops, alpha, beta, a, b, c }
    }

    fn sizes(&self) -> [usize; 3] {
        [self.c.rows, self.c.columns, if self.ops[0] == b'N' { self.a.columns } else { self.a.rows }]
    }

    /// By Fortran's function. Where A and B must not be read, there is none.
    fn run(&mut self) {
        let (a, b) = self.operands();
        let c = self.c.start();
        // SAFETY: the matrices have these sizes.
        unsafe { self.run_at(a, b, c) };
    }

    /// On the same matrices elsewhere.
    unsafe fn run_at(&self, a: *const f32, b: *const f32, c: *mut f32) {
        let [m, n, k] = self.sizes().map(|size| size as i32);
        let [lda, ldb, ldc] = [self.a.ld, self.b.ld, self.c.ld].map(|ld| ld as i32);
        let [op_a, op_b] = self.ops.map(|op| op as c_char);
        let (alpha, beta) = (self.alpha, self.beta);
        // SAFETY: upheld by the caller.
        unsafe {
            sgemm_(
                &raw const op_a,
                &raw const op_b,
                &raw const m,
                &raw const n,
                &raw const k,
                &raw const alpha,
                a,
                &raw const lda,
                b,
                &raw const ldb,
                &raw const beta,
                c,
                &raw const ldc,
            );
        }
    }

    fn operands(&mut self) -> (*const f32, *const f32) {
        if self.alpha == 0.0 { (ptr::null(), ptr::null()) } else { (self.a.start(), self.b.start()) }
    }

    /// Compares with f64; what is not C's is as it was.
    fn check(&self, before: &Matrix) {
        let [m, n, k] = self.sizes();
        let [alpha, beta] = [self.alpha, self.beta].map(f64::from);
        let of = |matrix: &Matrix, op, row, column| {
            if op == b'N' { matrix.at(row, column) } else { matrix.at(column, row) }
        };
        for (row, column) in (0..m).flat_map(|row| (0..n).map(move |column| (row, column))) {
            let terms = (0..k).map(|l| of(&self.a, self.ops[0], row, l) * of(&self.b, self.ops[1], l, column));
            let (sum, size) = terms.fold((0.0, 0.0), |(sum, size), term| (sum + term, size + term.abs()));
            let old = if beta == 0.0 { 0.0 } else { beta * before.at(row, column) };
            let (value, bound) = (alpha * sum + old, 1e-5 * (alpha.abs() * size + old.abs()));
            let got = self.c.at(row, column);
            assert!((got - value).abs() <= bound, "{:?} {row}, {column}: {got}, not {value}", self.ops.map(char::from));
        }
        for index in self.c.gaps() {
            assert_eq!(self.c.elements[index].to_bits(), GUARD, "{index}");
        }
    }
}

const FACTORS: [[f32; 2]; 5] = [[1.0, 0.0], [-0.5, 1.0], [2.0, -1.5], [0.0, 0.5], [0.0, 0.0]];

#[test]
fn fortran_calls_are_right() {
    for ops in [*b"NN", *b"NT", *b"TN", *b"CT"] {
        for factors in FACTORS {
            let mut case = Case::new(SIZES, ops, factors);
            let before = case.c.clone();
            case.run();
            case.check(&before);
        }
    }
}

#[test]
fn c_calls_by_rows_are_right() {
    for (ops, numbers) in [(*b"NN", [111, 111]), (*b"TN", [112, 111]), (*b"NT", [111, 112])] {
        let mut case = Case::new(SIZES, ops, [1.5, -0.5]);
        let before = case.c.clone();
        let [m, n, k] = case.sizes().map(|size| size as i64);
        let [lda, ldb, ldc] = [case.a.ld, case.b.ld, case.c.ld].map(|ld| ld as i64);
        let (alpha, beta) = (case.alpha, case.beta);
        let (a, b) = case.operands();
        let c = case.c.start();
        // The same matrices by rows: C' = B' A'.
        // SAFETY: they have these sizes.
        unsafe { cblas_sgemm_64(101, numbers[1], numbers[0], n, m, k, alpha, b, ldb, a, lda, beta, c, ldc) };
        case.check(&before);
        let after = case.c.clone();
        let [m, n, k, lda, ldb, ldc] = [m, n, k, lda, ldb, ldc].map(|size| size as i32);
        // SAFETY: as above.
        unsafe { cblas_sgemm(102, numbers[0], numbers[1], m, n, k, alpha, a, lda, b, ldb, beta, case.c.start(), ldc) };
        case.check(&after);
    }
}

/// More shapes than plans are kept, by several threads, each over and over.
#[test]
fn threads_do_not_disturb_each_other() {
    thread::scope(|scope| {
        for first in 0..3 {
            scope.spawn(move || {
                for round in 0..8 {
                    let grown = (first + round) % 6;
                    let sizes = [SIZES[0] - grown, SIZES[1], SIZES[2] - 3 * (round % 2)];
                    let mut case = Case::new(sizes, *b"NT", [1.0, 0.5]);
                    let before = case.c.clone();
                    case.run();
                    case.check(&before);
                }
            });
        }
    });
}

/// What another thread writes between the columns of C meanwhile stays.
#[test]
fn gaps_are_anothers_to_write() {
    let mut case = Case::new(SIZES, *b"NN", [1.0, 1.0]);
    let before = case.c.clone();
    let gaps: Vec<_> = case.c.gaps().collect();
    let start = case.c.elements.as_mut_ptr();
    // SAFETY: the elements outlive the threads, and those that are written by atomics belong to nobody else.
    let gap = |index: &usize| unsafe { AtomicU32::from_ptr(start.add(*index).cast()) };
    let atomics: Vec<&AtomicU32> = gaps.iter().map(gap).collect();
    let (has_begun, has_ended) = (AtomicBool::new(false), AtomicBool::new(false));
    let last = thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let mut round = 0_u32;
            while !has_ended.load(Ordering::Acquire) {
                for atomic in &atomics {
                    let written = atomic.swap(round, Ordering::Relaxed);
                    assert!(round == 0 || written == round - 1, "another has written {written:x}");
                }
                has_begun.store(true, Ordering::Release);
                round += 1;
            }
            round - 1
        });
        while !has_begun.load(Ordering::Acquire) {
            thread::yield_now();
        }
        case.run();
        has_ended.store(true, Ordering::Release);
        writer.join().unwrap()
    });
    for atomic in &atomics {
        assert_eq!(atomic.swap(GUARD, Ordering::Relaxed), last);
    }
    case.check(&before);
}

/// Page-locked matrices, which the GPU copies itself.
#[test]
fn page_locked_matrices_are_right() {
    if env::var("SGEMM_BACKEND").as_deref() != Ok("cuda") {
        return;
    }
    let context = sgemm::cuda::open(0).unwrap();
    for (ops, factors) in [(*b"NN", [1.0, 0.0]), (*b"TT", [-0.5, 1.0])] {
        let mut case = Case::new(SIZES, ops, factors);
        let before = case.c.clone();
        let mut locked = [&case.a, &case.b, &case.c].map(|matrix| {
            // SAFETY: it is written before it is read.
            let mut locked = unsafe { context.alloc_pinned::<f32>(matrix.elements.len()) }.unwrap();
            locked.as_mut_slice().unwrap().copy_from_slice(&matrix.elements);
            locked
        });
        let [a, b, c] = locked.each_mut().map(|locked| locked.as_mut_slice().unwrap()[Matrix::BEFORE..].as_mut_ptr());
        // SAFETY: copies of the case's matrices.
        unsafe { case.run_at(a, b, c) };
        case.c.elements.copy_from_slice(locked[2].as_slice().unwrap());
        case.check(&before);
    }
}

/// However many shapes: no more of the device's memory than `SGEMM_MEMORY_MIB` says, and no more for a shape that was there before.
#[test]
fn memory_is_bounded_and_kept() {
    let of = |name| env::var(name).unwrap_or_default();
    if of("SGEMM_BACKEND") != "cuda" {
        return;
    }
    let context = sgemm::cuda::open(0).unwrap();
    let taken = || {
        let (free, all) = context.mem_get_info().unwrap();
        all - free
    };
    let run = |sizes| Case::new(sizes, *b"NN", [1.0, 0.0]).run();
    let [m, n, k] = SIZES;
    for size in [40, 80, 10, 60, 30, 50, 20] {
        run([size, n, k]);
    }
    run(SIZES);
    let most = taken();
    for sizes in [SIZES, [m / 2, n / 2, k], SIZES] {
        run(sizes);
        assert_eq!(taken(), most);
    }
    if let Ok(mib) = of("SGEMM_MEMORY_MIB").parse::<f64>() {
        assert!(most as f64 <= mib * f64::from(1 << 20), "{most} bytes");
    }
}
