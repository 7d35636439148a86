//! What the tests of C's functions share: handles, plans and messages, each by the functions themselves.

use std::ffi::{CStr, CString, c_char};
use std::mem::MaybeUninit;
use std::ptr;

use sgemm_capi::*;

/// A text of the library.
pub fn text(text: *const c_char) -> String {
    // SAFETY: the library's texts end with a zero, and live as long as the tests need them.
    unsafe { CStr::from_ptr(text) }.to_str().unwrap().to_owned()
}

/// The message of this thread's last call that failed.
pub fn message() -> String {
    text(sgemm_last_error())
}

/// A handle for the emulated H200.
pub fn emulator() -> sgemm_handle_t {
    let mut handle = ptr::null_mut();
    let name = CString::new("h200").unwrap();
    // SAFETY: a place for a handle, and a text that ends with a zero.
    assert_eq!(unsafe { sgemm_create_emulator(&raw mut handle, name.as_ptr()) }, SGEMM_SUCCESS, "{}", message());
    handle
}

/// C = alpha*A*B + beta*C as `sgemm_problem_init` has it.
pub fn problem(m: usize, n: usize, k: usize) -> sgemm_problem_t {
    let mut problem = MaybeUninit::uninit();
    // SAFETY: a place for a problem, which is written where the call succeeds.
    unsafe {
        assert_eq!(sgemm_problem_init(problem.as_mut_ptr(), m, n, k), SGEMM_SUCCESS);
        problem.assume_init()
    }
}

/// A plan with any workspace, or the status.
pub fn plan(handle: sgemm_handle_t, problem: &sgemm_problem_t) -> Result<sgemm_plan_t, sgemm_status_t> {
    let mut plan = ptr::null_mut();
    // SAFETY: a problem, and a place for a plan.
    match unsafe { sgemm_plan_create(handle, problem, SGEMM_UNLIMITED, &raw mut plan) } {
        SGEMM_SUCCESS => Ok(plan),
        status => {
            assert!(plan.is_null(), "NULL where it fails");
            Err(status)
        }
    }
}

/// Bytes of a plan's workspace.
pub fn workspace_bytes(plan: sgemm_plan_t) -> u64 {
    let mut bytes = u64::MAX;
    // SAFETY: a place for a number.
    assert_eq!(unsafe { sgemm_plan_workspace_bytes(plan, &raw mut bytes) }, SGEMM_SUCCESS);
    bytes
}

/// Arguments without anything.
pub fn nothing() -> sgemm_arguments_t {
    sgemm_arguments_t {
        alpha: 1.0,
        beta: 0.0,
        a: ptr::null(),
        b: ptr::null(),
        c: ptr::null_mut(),
        d: ptr::null_mut(),
        bias: ptr::null(),
        device_alpha: ptr::null(),
        device_beta: ptr::null(),
        workspace: ptr::null_mut(),
        workspace_bytes: 0,
    }
}
