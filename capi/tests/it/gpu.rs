//! The same calls on a GPU. Where there is none, each test says so and ends.

use std::ffi::c_void;
use std::ptr;

use crate::support::{message, nothing, plan, problem, workspace_bytes};
use sgemm::cuda::open;
use sgemm::cudarc::driver::sys::{self, CUresult};
use sgemm::cudarc::driver::{CudaStream, DevicePtr, DevicePtrMut};
use sgemm_capi::*;

const SIZES: [usize; 3] = [300, 200, 100];

/// A handle for the first GPU.
fn gpu() -> Option<sgemm_handle_t> {
    let mut handle = ptr::null_mut();
    // SAFETY: a place for a handle.
    let status = unsafe { sgemm_create_cuda(&raw mut handle, 0) };
    if status == SGEMM_NO_DRIVER || status == SGEMM_NO_DEVICE {
        println!("{}", message());
        return None;
    }
    assert_eq!(status, SGEMM_SUCCESS, "{}", message());
    Some(handle)
}

/// Small whole numbers, of which every sum is exact.
fn matrix(rows: usize, columns: usize) -> Vec<f32> {
    (0..rows * columns).map(|index| (index % 7) as f32 - 3.0).collect()
}

/// A*B and its operands.
fn product() -> [Vec<f32>; 3] {
    let [m, n, k] = SIZES;
    let (a, b) = (matrix(m, k), matrix(k, n));
    let exact = |index: usize| (0..k).map(|l| a[index / n * k + l] * b[l * n + index % n]).sum();
    let c = (0..m * n).map(exact).collect();
    [a, b, c]
}

/// The address of a slice of cudarc.
fn address(slice: &impl DevicePtr<f32>, stream: &CudaStream) -> *const c_void {
    ptr::with_exposed_provenance(slice.device_ptr(stream).0 as usize)
}

#[test]
fn matrices_of_the_host_are_copied_there_and_back() {
    let Some(handle) = gpu() else { return };
    let ([m, n, k], [a, b, exact]) = (SIZES, product());
    let transposed = sgemm_problem_t { c: sgemm_column_major(m), ..problem(m, n, k) };
    let plan = plan(handle, &transposed).unwrap_or_else(|_| panic!("{}", message()));
    let mut c = vec![f32::NAN; m * n];
    let arguments =
        sgemm_arguments_t { a: a.as_ptr().cast(), b: b.as_ptr().cast(), c: c.as_mut_ptr().cast(), ..nothing() };
    // SAFETY: the matrices have the elements of the problem.
    assert_eq!(unsafe { sgemm_run_host(plan, &raw const arguments) }, SGEMM_SUCCESS, "{}", message());
    assert!((0..m * n).all(|index| c[index % n * m + index / n] == exact[index]));
    assert_eq!([sgemm_plan_destroy(plan), sgemm_destroy(handle)], [SGEMM_SUCCESS; 2]);
}

#[test]
fn matrices_of_the_device_are_multiplied_in_a_stream() {
    let Some(handle) = gpu() else { return };
    let ([m, n, k], [a, b, exact]) = (SIZES, product());
    // It has a post-pass, and so a workspace.
    let apart = sgemm_problem_t { has_d: 1, ..problem(m, n, k) };
    let plan = plan(handle, &apart).unwrap_or_else(|_| panic!("{}", message()));
    let context = open(0).unwrap();
    let stream = context.new_stream().unwrap();
    let [on_a, on_b] = [&a, &b].map(|matrix| stream.clone_htod(matrix).unwrap());
    let mut on_d = stream.clone_htod(&vec![f32::NAN; m * n]).unwrap();
    let bytes = workspace_bytes(plan);
    assert!(bytes > 0);
    let workspace = stream.clone_htod(&vec![0xff_u8; bytes as usize]).unwrap();
    let arguments = sgemm_arguments_t {
        a: address(&on_a, &stream),
        b: address(&on_b, &stream),
        d: ptr::with_exposed_provenance_mut(on_d.device_ptr_mut(&stream).0 as usize),
        workspace: ptr::with_exposed_provenance_mut(workspace.device_ptr(&stream).0 as usize),
        workspace_bytes: bytes,
        ..nothing()
    };
    // SAFETY: the slices have the elements of the problem and the workspace its bytes; they live until the copy below is done.
    let status = unsafe { sgemm_run_with(plan, stream.cu_stream().cast(), &raw const arguments) };
    assert_eq!(status, SGEMM_SUCCESS, "{}", message());
    assert_eq!(stream.clone_dtoh(&on_d).unwrap(), exact);
}

#[test]
fn the_current_context_stays_as_it_was() {
    let Some(handle) = gpu() else { return };
    // No context was made on this thread but by the calls.
    std::thread::spawn(|| {
        let of_host = gpu().unwrap();
        let small = plan(of_host, &problem(1, 1, 1)).unwrap_or_else(|_| panic!("{}", message()));
        let (one, mut c) = ([1.0_f32], [0.0_f32]);
        let arguments =
            sgemm_arguments_t { a: one.as_ptr().cast(), b: one.as_ptr().cast(), c: c.as_mut_ptr().cast(), ..nothing() };
        // SAFETY: the matrices have the elements of the problem.
        assert_eq!(unsafe { sgemm_run_host(small, &raw const arguments) }, SGEMM_SUCCESS, "{}", message());
        assert_eq!([sgemm_plan_destroy(small), sgemm_destroy(of_host)], [SGEMM_SUCCESS; 2]);
        let mut of_current = ptr::null_mut();
        // SAFETY: a place for a handle.
        let status = unsafe { sgemm_create_cuda(&raw mut of_current, SGEMM_CURRENT_DEVICE) };
        assert_eq!(status, SGEMM_WRONG_DEVICE, "{}", message());
        let context = open(0).unwrap();
        context.bind_to_thread().unwrap();
        for _ in 0..2 {
            // SAFETY: as above.
            let status = unsafe { sgemm_create_cuda(&raw mut of_current, SGEMM_CURRENT_DEVICE) };
            assert_eq!(status, SGEMM_SUCCESS, "{}", message());
            assert_eq!(sgemm_destroy(of_current), SGEMM_SUCCESS);
        }
    })
    .join()
    .unwrap();
    assert_eq!(sgemm_destroy(handle), SGEMM_SUCCESS);
}

#[test]
fn a_stream_of_another_context_is_refused() {
    let Some(handle) = gpu() else { return };
    let small = plan(handle, &problem(1, 1, 1)).unwrap_or_else(|_| panic!("{}", message()));
    let one = open(0).unwrap().default_stream().clone_htod(&[1.0_f32]).unwrap();
    let address = address(&one, one.stream());
    let (mut context, mut stream, mut current) = (ptr::null_mut(), ptr::null_mut(), ptr::null_mut());
    // SAFETY: places for a context and a stream, which becomes one of that context; nothing is queued in it.
    unsafe {
        assert_eq!(sys::cuCtxCreate_v4(&raw mut context, ptr::null_mut(), 0, 0), CUresult::CUDA_SUCCESS);
        assert_eq!(sys::cuStreamCreate(&raw mut stream, 0), CUresult::CUDA_SUCCESS);
        let c = address.cast_mut();
        let status = sgemm_run(small, stream.cast(), 1.0, address, address, 0.0, c, ptr::null_mut(), 0);
        assert_eq!(status, SGEMM_WRONG_DEVICE, "{}", message());
        assert!(message().starts_with("the stream is of another context"), "{}", message());
        assert_eq!(sys::cuCtxGetCurrent(&raw mut current), CUresult::CUDA_SUCCESS);
        assert_eq!(current, context, "the current context stays as it was");
        assert_eq!(sys::cuStreamDestroy_v2(stream), CUresult::CUDA_SUCCESS);
        assert_eq!(sys::cuCtxDestroy_v2(context), CUresult::CUDA_SUCCESS);
    }
    assert_eq!([sgemm_plan_destroy(small), sgemm_destroy(handle)], [SGEMM_SUCCESS; 2]);
}
