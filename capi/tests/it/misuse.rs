//! What a program can do wrong, each with the status that says so. Nothing crashes, and nothing is written.

use std::ffi::c_void;
use std::ptr;

use crate::support::{emulator, message, nothing, plan, problem, text, workspace_bytes};
use sgemm_capi::*;

/// A number that no registry gives, as a pointer.
fn stray<T>() -> *mut T {
    ptr::without_provenance_mut(0xdead_beef)
}

/// The statuses of every function that takes a handle or a plan.
fn statuses(handle: sgemm_handle_t, plan: sgemm_plan_t) -> Vec<sgemm_status_t> {
    let (mut backend, mut name, mut bytes, mut place) = (-1, ptr::null(), 0, ptr::null_mut());
    let (problem, arguments) = (problem(1, 1, 1), nothing());
    let null = ptr::null_mut::<c_void>();
    // SAFETY: places to write to, a problem and arguments; of these, nothing is read by a handle or plan that is none.
    let found = unsafe {
        vec![
            sgemm_backend(handle, &raw mut backend),
            sgemm_device_name(handle, &raw mut name),
            sgemm_plan_create(handle, &raw const problem, 0, &raw mut place),
            sgemm_plan_workspace_bytes(plan, &raw mut bytes),
            sgemm_plan_kernel(plan, &raw mut name),
            sgemm_run(plan, null, 1.0, null, null, 0.0, null, null, 0),
            sgemm_run_with(plan, null, &raw const arguments),
            sgemm_run_host(plan, &raw const arguments),
            sgemm_destroy(handle),
            sgemm_plan_destroy(plan),
        ]
    };
    assert_eq!((backend, name, bytes, place), (-1, ptr::null(), 0, ptr::null_mut()), "nothing is written");
    found
}

#[test]
fn handles_and_plans_that_are_none_are_found() {
    let handle = emulator();
    let plan = plan(handle, &problem(1, 1, 1)).unwrap();
    // Each in the place of the other.
    assert_eq!(statuses(plan.cast(), handle.cast()), [SGEMM_INVALID_HANDLE; 10]);
    assert_eq!([sgemm_destroy(handle), sgemm_plan_destroy(plan)], [SGEMM_SUCCESS; 2]);
    assert_eq!(statuses(handle, plan), [SGEMM_INVALID_HANDLE; 10]);
    assert_eq!(message(), "this is no plan, or it was destroyed");
    assert_eq!(statuses(ptr::null_mut(), ptr::null_mut()), [SGEMM_INVALID_HANDLE; 10]);
    assert_eq!(message(), "the plan is null");
    assert_eq!(statuses(stray(), stray()), [SGEMM_INVALID_HANDLE; 10]);
}

#[test]
fn null_pointers_are_found() {
    let handle = emulator();
    let plan = plan(handle, &problem(2, 2, 2)).unwrap();
    let (problem, none, mut place, mut of_handle) = (problem(2, 2, 2), nothing(), ptr::null_mut(), handle);
    // SAFETY: each pointer is null, or a place of its type.
    let found = unsafe {
        [
            sgemm_create_cuda(ptr::null_mut(), 0),
            sgemm_create_emulator(ptr::null_mut(), c"h200".as_ptr()),
            sgemm_create_emulator(&raw mut of_handle, ptr::null()),
            sgemm_backend(handle, ptr::null_mut()),
            sgemm_device_name(handle, ptr::null_mut()),
            sgemm_problem_init(ptr::null_mut(), 1, 1, 1),
            sgemm_plan_create(handle, ptr::null(), 0, &raw mut place),
            sgemm_plan_create(handle, &raw const problem, 0, ptr::null_mut()),
            sgemm_plan_workspace_bytes(plan, ptr::null_mut()),
            sgemm_plan_kernel(plan, ptr::null_mut()),
            sgemm_run_with(plan, ptr::null_mut(), ptr::null()),
            sgemm_run_host(plan, ptr::null()),
            sgemm_run_host(plan, &raw const none),
        ]
    };
    assert_eq!(found, [SGEMM_NULL_POINTER; 13]);
    assert_eq!(message(), "a is null");
}

#[test]
fn bad_problems_have_the_librarys_message() {
    let handle = emulator();
    let plain = problem(4, 5, 6);
    let refused = |problem: sgemm_problem_t, status| {
        assert_eq!(plan(handle, &problem).unwrap_err(), status, "{problem:?}");
        message()
    };
    let short = refused(sgemm_problem_t { a: sgemm_row_major(5), ..plain }, SGEMM_INVALID_PROBLEM);
    assert!(short.starts_with("lda = 5 is too small"), "{short}");
    refused(sgemm_problem_t { m: usize::MAX, ..plain }, SGEMM_INVALID_PROBLEM);
    refused(sgemm_problem_t { batch_count: 2, ..plain }, SGEMM_INVALID_PROBLEM);
    refused(sgemm_problem_t { batch_count: usize::MAX, batch_stride_c: usize::MAX, ..plain }, SGEMM_INVALID_PROBLEM);
    refused(sgemm_problem_t { output: SGEMM_F16, ..plain }, SGEMM_INVALID_PROBLEM);
    refused(sgemm_problem_t { alignment_a: 3, ..plain }, SGEMM_INVALID_PROBLEM);
    refused(sgemm_problem_t { alignment_b: 0, ..plain }, SGEMM_INVALID_PROBLEM);
    let unknown = refused(sgemm_problem_t { accuracy: 77, ..plain }, SGEMM_INVALID_VALUE);
    assert_eq!(unknown, "accuracy = 77: there are 0 to 5");
}

#[test]
fn operands_that_do_not_fit_are_refused() {
    let handle = emulator();
    let plan_of = |problem: sgemm_problem_t| plan(handle, &problem).unwrap();
    let (a, mut c) = ([1.0_f32; 16], [7.0_f32; 16]);
    let (values, result): (*const c_void, *mut c_void) = (a.as_ptr().cast(), c.as_mut_ptr().cast());
    let good = sgemm_arguments_t { a: values, b: values, c: result, ..nothing() };
    let run = |plan, arguments: sgemm_arguments_t| {
        // SAFETY: the matrices have more elements than the problems, where they are not refused.
        unsafe { sgemm_run_with(plan, ptr::null_mut(), &raw const arguments) }
    };
    let aligned = problem(2, 2, 2);
    let plain = sgemm_problem_t { alignment_a: 4, alignment_b: 4, ..aligned };
    let in_place = plan_of(plain);
    for (bad, status) in [
        (sgemm_arguments_t { b: ptr::null(), ..good }, SGEMM_NULL_POINTER),
        (sgemm_arguments_t { c: ptr::null_mut(), ..good }, SGEMM_NULL_POINTER),
        (sgemm_arguments_t { d: result, ..good }, SGEMM_INVALID_OPERAND),
        (sgemm_arguments_t { bias: values, ..good }, SGEMM_INVALID_OPERAND),
        (sgemm_arguments_t { device_alpha: values.cast(), ..good }, SGEMM_INVALID_OPERAND),
        (sgemm_arguments_t { a: values.wrapping_byte_add(2), ..good }, SGEMM_INVALID_OPERAND),
    ] {
        assert_eq!(run(in_place, bad), status, "{}", message());
    }
    let with_bias = plan_of(sgemm_problem_t { bias: SGEMM_BIAS_PER_ROW, ..plain });
    assert_eq!(run(with_bias, good), SGEMM_INVALID_OPERAND);
    // A step of aligned operands, at an address that is not.
    let of_16 = plan_of(aligned);
    let shifted = values.wrapping_byte_add(if values.addr() % 16 == 0 { 4 } else { 16 - values.addr() % 16 + 4 });
    assert_eq!(run(of_16, sgemm_arguments_t { a: shifted, ..good }), SGEMM_INVALID_OPERAND);
    assert!(message().contains("which is no multiple of 16 bytes"), "{}", message());
    assert_eq!(c, [7.0; 16]);
}

#[test]
fn a_workspace_must_be_there() {
    let handle = emulator();
    // Sums go to the workspace.
    let problem = sgemm_problem_t { has_d: 1, alignment_a: 4, alignment_b: 4, ..problem(2, 2, 2) };
    let plan = plan(handle, &problem).unwrap();
    let least = workspace_bytes(plan);
    assert!(least > 0);
    let (values, mut d) = ([1.0_f32; 4], [7.0_f32; 4]);
    let values = values.as_ptr().cast();
    let good = sgemm_arguments_t { a: values, b: values, d: d.as_mut_ptr().cast(), ..nothing() };
    let run = |address: usize, bytes| {
        let workspace = ptr::without_provenance_mut(address);
        let arguments = sgemm_arguments_t { workspace, workspace_bytes: bytes, ..good };
        // SAFETY: the matrices have the elements of the problem. The emulator does not use the workspace.
        unsafe { sgemm_run_with(plan, ptr::null_mut(), &raw const arguments) }
    };
    assert_eq!(run(0x1000, least - 1), SGEMM_WORKSPACE_TOO_SMALL);
    assert_eq!(run(0, least), SGEMM_NULL_POINTER);
    assert_eq!(run(0x1080, least), SGEMM_INVALID_OPERAND);
    assert_eq!(d, [7.0; 4]);
    assert_eq!(run(0x1000, least), SGEMM_SUCCESS, "{}", message());
    assert_eq!(d, [2.0; 4]);
    let mut none = ptr::null_mut();
    // SAFETY: a problem, and a place for a plan.
    let status = unsafe { sgemm_plan_create(handle, &raw const problem, 1, &raw mut none) };
    assert_eq!((status, none), (SGEMM_WORKSPACE_LIMIT, ptr::null_mut()));
}

#[test]
fn devices_are_named() {
    let handle = emulator();
    let (mut backend, mut name) = (-1, ptr::null());
    // SAFETY: places to write to.
    unsafe {
        assert_eq!(sgemm_backend(handle, &raw mut backend), SGEMM_SUCCESS);
        assert_eq!(sgemm_device_name(handle, &raw mut name), SGEMM_SUCCESS);
    }
    assert_eq!(backend, SGEMM_BACKEND_EMULATOR);
    assert!(text(name).contains("H200"), "{}", text(name));
    let mut none = handle;
    // SAFETY: as above, and a text that ends with a zero.
    let status = unsafe { sgemm_create_emulator(&raw mut none, c"h900".as_ptr()) };
    assert_eq!((status, none), (SGEMM_INVALID_VALUE, ptr::null_mut()));
    assert!(message().starts_with("no device 'h900': give one of h200, "), "{}", message());
}

/// Copies that the host has no room for.
#[test]
fn too_large_matrices_are_a_status() {
    let handle = emulator();
    let apart = sgemm_problem_t { batch_count: 2, batch_stride_a: 1 << 45, batch_stride_c: 1, ..problem(1, 1, 1) };
    let plan = plan(handle, &apart).unwrap();
    let (one, mut c) = ([1.0_f32], [7.0_f32; 2]);
    let (one, result) = (one.as_ptr().cast(), c.as_mut_ptr().cast());
    let arguments = sgemm_arguments_t { a: one, b: one, c: result, ..nothing() };
    // SAFETY: nothing is read where there is no room for it.
    let status = unsafe { sgemm_run_host(plan, &raw const arguments) };
    assert_eq!((status, c), (SGEMM_OUT_OF_MEMORY, [7.0; 2]), "{}", message());
}

/// Where there is a driver, ordinals that no device has.
#[test]
fn a_gpu_that_is_not_there_is_a_status() {
    let has_driver = sgemm::cuda::open_driver();
    for ordinal in [SGEMM_CURRENT_DEVICE, -2, i32::MAX] {
        let mut handle = stray();
        // SAFETY: a place for a handle.
        let status = unsafe { sgemm_create_cuda(&raw mut handle, ordinal) };
        assert!(handle.is_null());
        let expected = match (&has_driver, ordinal) {
            (Err(sgemm::Error::NoDriver), _) => SGEMM_NO_DRIVER,
            (Err(sgemm::Error::NoDevice), _) => SGEMM_NO_DEVICE,
            (Err(error), _) => panic!("{error}"),
            (Ok(()), SGEMM_CURRENT_DEVICE) => SGEMM_WRONG_DEVICE,
            (Ok(()), _) => SGEMM_INVALID_VALUE,
        };
        assert_eq!(status, expected, "{}", message());
    }
}
