//! What runs write, in the emulator, against a product in f64: each kind of problem, and nothing between the elements.

use std::thread;

use crate::support::{emulator, message, nothing, plan, problem, workspace_bytes};
use half::f16;
use sgemm_capi::*;

/// Unit roundoff of f32.
const U: f64 = 1.0 / (1_u64 << 24) as f64;

/// What lies between elements.
const GAP: f32 = 12345.0;

/// A matrix of a batch, with all that lies between its elements.
struct Matrix {
    layout: sgemm_layout_t,
    sizes: [usize; 2],
    count: usize,
    stride: usize,
    memory: Vec<f32>,
}

impl Matrix {
    fn new(layout: sgemm_layout_t, sizes: [usize; 2], count: usize, stride: usize, seed: u32) -> Self {
        let last = |size: usize| size.saturating_sub(1);
        let one = last(sizes[0]) * layout.row_stride + last(sizes[1]) * layout.column_stride + 1;
        let mut matrix = Self { layout, sizes, count, stride, memory: vec![GAP; last(count) * stride + one] };
        let mut state = seed;
        for index in matrix.indices() {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            matrix.memory[index] = (state >> 8) as f32 / (1 << 23) as f32 - 1.0;
        }
        matrix
    }

    fn index(&self, p: usize, i: usize, j: usize) -> usize {
        p * self.stride + i * self.layout.row_stride + j * self.layout.column_stride
    }

    fn at(&self, p: usize, i: usize, j: usize) -> f64 {
        self.memory[self.index(p, i, j)].into()
    }

    fn indices(&self) -> Vec<usize> {
        let [rows, columns] = self.sizes;
        let all = (0..self.count).flat_map(|p| (0..rows).flat_map(move |i| (0..columns).map(move |j| (p, i, j))));
        all.map(|(p, i, j)| self.index(p, i, j)).collect()
    }
}

/// Memory at a multiple of 256 bytes.
#[repr(align(256))]
#[derive(Clone)]
struct Block(#[expect(dead_code, reason = "it is there for its bytes")] [u8; 256]);

/// Runs a problem of f32 by both ways, and compares each element, and all between them.
fn check(handle: sgemm_handle_t, problem: &sgemm_problem_t, [alpha, beta]: [f32; 2]) {
    let sgemm_problem_t { m, n, k, batch_count: count, .. } = *problem;
    let a = Matrix::new(problem.a, [m, k], count, problem.batch_stride_a, 1);
    let b = Matrix::new(problem.b, [k, n], count, problem.batch_stride_b, 2);
    let c = Matrix::new(problem.c, [m, n], count, problem.batch_stride_c, 3);
    let (is_apart, on_device) = (problem.has_d == 1, problem.scalars == SGEMM_SCALARS_DEVICE);
    let d = Matrix::new(problem.d, [m, n], count, problem.batch_stride_d, 4);
    let bias = Matrix::new(sgemm_row_major(m.max(n)), [1, m.max(n)], 1, 0, 5).memory;
    let plan = plan(handle, problem).unwrap_or_else(|_| panic!("{}", message()));
    let workspace_bytes = workspace_bytes(plan);
    let mut workspace = vec![Block([0xff; 256]); workspace_bytes.div_ceil(256) as usize];
    let element = |p: usize, i: usize, j: usize| {
        let products = (0..k).map(|l| a.at(p, i, l) * b.at(p, l, j));
        let (sum, scale) = products.fold((0.0, 0.0), |(sum, scale), x| (sum + x, scale + x.abs()));
        let of_bias = match problem.bias {
            SGEMM_BIAS_PER_ROW => bias[i].into(),
            SGEMM_BIAS_PER_COLUMN => bias[j].into(),
            _ => 0.0,
        };
        let of_c = if beta == 0.0 { 0.0 } else { f64::from(beta) * c.at(p, i, j) };
        let exact = f64::from(alpha) * sum + of_c + of_bias;
        let bound = (k as f64 + 4.0) * U * (f64::from(alpha).abs() * scale + of_c.abs() + of_bias.abs());
        (if problem.activation == SGEMM_ACTIVATION_RELU { exact.max(0.0) } else { exact }, bound)
    };
    // Matrices without elements need no address.
    let input = |of: &Matrix| if k == 0 { std::ptr::null() } else { of.memory.as_ptr().cast() };
    for is_host in [false, true] {
        let [mut of_c, mut of_d] = [c.memory.clone(), d.memory.clone()];
        let arguments = sgemm_arguments_t {
            alpha: if on_device { f32::NAN } else { alpha },
            beta: if on_device { f32::NAN } else { beta },
            a: input(&a),
            b: input(&b),
            c: of_c.as_mut_ptr().cast(),
            d: if is_apart { of_d.as_mut_ptr().cast() } else { std::ptr::null_mut() },
            bias: if problem.bias == SGEMM_BIAS_NONE { std::ptr::null() } else { bias.as_ptr().cast() },
            device_alpha: if on_device { &raw const alpha } else { std::ptr::null() },
            device_beta: if on_device { &raw const beta } else { std::ptr::null() },
            workspace: if is_host { std::ptr::null_mut() } else { workspace.as_mut_ptr().cast() },
            workspace_bytes: if is_host { 0 } else { workspace_bytes },
        };
        // SAFETY: the matrices have the elements of the problem, and nothing else uses them.
        let status = unsafe {
            match is_host {
                true => sgemm_run_host(plan, &raw const arguments),
                false => sgemm_run_with(plan, std::ptr::null_mut(), &raw const arguments),
            }
        };
        assert_eq!(status, SGEMM_SUCCESS, "{}", message());
        let (result, before) = if is_apart { (&of_d, &d) } else { (&of_c, &c) };
        for (p, i, j) in (0..count).flat_map(|p| (0..m).flat_map(move |i| (0..n).map(move |j| (p, i, j)))) {
            let (exact, bound) = element(p, i, j);
            let found = f64::from(result[before.index(p, i, j)]);
            assert!((found - exact).abs() <= bound, "{found} at {p}, {i}, {j}: {exact} +- {bound}; {problem:?}");
        }
        let elements: std::collections::HashSet<_> = before.indices().into_iter().collect();
        let is_gap = |(index, value): (usize, &f32)| elements.contains(&index) || *value == GAP;
        assert!(result.iter().enumerate().all(is_gap), "only elements are written");
        assert!(!is_apart || of_c == c.memory, "C is only read");
    }
    assert_eq!(sgemm_plan_destroy(plan), SGEMM_SUCCESS);
}

#[test]
fn layouts_batches_and_epilogues_are_those_of_the_problem() {
    let handle = emulator();
    let plain = problem(37, 21, 19);
    let (rows, columns, turned) = (sgemm_row_major, sgemm_column_major, sgemm_transposed);
    let cases = [
        (plain, [1.0, 0.0]),
        (sgemm_problem_t { a: rows(24), b: rows(32), c: rows(29), ..plain }, [0.5, -2.0]),
        (sgemm_problem_t { a: columns(40), b: columns(20), c: columns(39), ..plain }, [1.0, 1.0]),
        (sgemm_problem_t { a: turned(rows(37)), b: turned(rows(19)), ..plain }, [-1.0, 0.0]),
        (sgemm_problem_t { has_d: 1, d: columns(37), ..plain }, [2.0, 0.5]),
        (
            sgemm_problem_t {
                batch_count: 3,
                batch_stride_a: 37 * 19 + 5,
                batch_stride_b: 0,
                batch_stride_c: 37 * 21 + 3,
                alignment_a: 4,
                ..plain
            },
            [1.0, -1.0],
        ),
        (sgemm_problem_t { bias: SGEMM_BIAS_PER_ROW, activation: SGEMM_ACTIVATION_RELU, ..plain }, [1.0, 0.0]),
        (sgemm_problem_t { bias: SGEMM_BIAS_PER_COLUMN, ..plain }, [1.0, 0.25]),
        (sgemm_problem_t { scalars: SGEMM_SCALARS_DEVICE, ..plain }, [1.5, -0.5]),
        (sgemm_problem_t { determinism: SGEMM_PER_ELEMENT, ..plain }, [1.0, 0.0]),
        (problem(1, 9, 33), [1.0, 0.0]),
        (problem(5, 4, 0), [1.0, 2.0]),
        (sgemm_problem_t { accuracy: SGEMM_ACCURACY_FP32, ..problem(70, 90, 0) }, [1.0, 0.0]),
        (sgemm_problem_t { a: sgemm_layout_t { row_stride: 7, column_stride: 3 }, ..problem(9, 1, 1) }, [1.0, 0.0]),
    ];
    for (problem, factors) in &cases {
        check(handle, problem, *factors);
    }
    assert_eq!(sgemm_destroy(handle), SGEMM_SUCCESS);
}

#[test]
fn nothing_is_read_that_need_not_be() {
    let handle = emulator();
    let plan = plan(handle, &problem(4, 5, 6)).unwrap();
    let (a, b, mut c) = ([f32::NAN; 24], [f32::NAN; 30], [3.0_f32; 20]);
    let run = |alpha, beta, c: &mut [f32]| {
        let (a, b) = (a.as_ptr().cast(), b.as_ptr().cast());
        let arguments = sgemm_arguments_t { alpha, beta, a, b, c: c.as_mut_ptr().cast(), ..nothing() };
        // SAFETY: the matrices have the elements of the problem.
        assert_eq!(unsafe { sgemm_run_host(plan, &raw const arguments) }, SGEMM_SUCCESS, "{}", message());
    };
    run(0.0, 2.0, &mut c);
    assert_eq!(c, [6.0; 20]);
    let (zeros, mut c) = ([0.0_f32; 30], [f32::NAN; 20]);
    let zeros = zeros.as_ptr().cast();
    let arguments = sgemm_arguments_t { a: zeros, b: zeros, c: c.as_mut_ptr().cast(), ..nothing() };
    // SAFETY: as above.
    assert_eq!(unsafe { sgemm_run_host(plan, &raw const arguments) }, SGEMM_SUCCESS);
    assert_eq!(c, [0.0; 20]);
}

#[test]
fn elements_of_16_bits_give_c_of_either_type() {
    let handle = emulator();
    let (m, n, k) = (16, 24, 32);
    let value = |index: usize| f16::from_f32((index % 7) as f32 - 3.0);
    let a: Vec<_> = (0..m * k).map(value).collect();
    let b: Vec<_> = (0..k * n).map(value).collect();
    // Small whole numbers, so that every sum is exact.
    let exact = |i: usize, j: usize| (0..k).map(|l| a[i * k + l].to_f32() * b[l * n + j].to_f32()).sum::<f32>();
    let run = |output, c: *mut std::ffi::c_void| {
        let plan = plan(handle, &sgemm_problem_t { input: SGEMM_F16, output, ..problem(m, n, k) }).unwrap();
        let arguments = sgemm_arguments_t { a: a.as_ptr().cast(), b: b.as_ptr().cast(), c, ..nothing() };
        // SAFETY: the matrices have the elements of the problem.
        assert_eq!(unsafe { sgemm_run_host(plan, &raw const arguments) }, SGEMM_SUCCESS, "{}", message());
    };
    let (mut wide, mut short) = (vec![f32::NAN; m * n], vec![f16::NAN; m * n]);
    run(SGEMM_F32, wide.as_mut_ptr().cast());
    run(SGEMM_F16, short.as_mut_ptr().cast());
    for index in 0..m * n {
        let expected = exact(index / n, index % n);
        assert_eq!((wide[index], short[index]), (expected, f16::from_f32(expected)));
    }
}

#[test]
fn threads_share_handles_and_plans() {
    let handle = emulator().addr();
    let problem = problem(33, 17, 40);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| check(std::ptr::without_provenance_mut(handle), &problem, [1.0, 0.5]));
        }
    });
}

#[test]
fn a_plan_outlives_its_handle() {
    let handle = emulator();
    let plan = plan(handle, &problem(1, 1, 2)).unwrap();
    assert_eq!(sgemm_destroy(handle), SGEMM_SUCCESS);
    let (a, b, mut c) = ([1.0_f32, 2.0], [3.0_f32, 4.0], [0.0_f32]);
    let arguments =
        sgemm_arguments_t { a: a.as_ptr().cast(), b: b.as_ptr().cast(), c: c.as_mut_ptr().cast(), ..nothing() };
    // SAFETY: the matrices have the elements of the problem.
    assert_eq!(unsafe { sgemm_run_host(plan, &raw const arguments) }, SGEMM_SUCCESS);
    assert_eq!(c, [11.0]);
}
