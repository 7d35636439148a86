//! Runs of a plan.
#![allow(non_camel_case_types, reason = "C's names")]

use std::ffi::c_void;
use std::ptr;

use sgemm::cuda::CUstream;

use crate::constants::sgemm_status_t;
use crate::cuda::{Restore, enter};
use crate::host::{self, Memory};
use crate::operands::sgemm_arguments_t;
use crate::plan::{Runner, planned, sgemm_plan_t};
use crate::status::{Failure, boundary};

/// Queues C = alpha*A*B + beta*C in a stream: as sgemm_run_with, for a problem without D, bias and scalars in device memory.
///
/// # Safety
/// As of `sgemm_run_with`.
#[unsafe(no_mangle)]
#[allow(clippy::too_many_arguments, reason = "those of BLAS")]
pub unsafe extern "C" fn sgemm_run(
    plan: sgemm_plan_t,
    stream: *mut c_void,
    alpha: f32,
    a: *const c_void,
    b: *const c_void,
    beta: f32,
    c: *mut c_void,
    workspace: *mut c_void,
    workspace_bytes: u64,
) -> sgemm_status_t {
    let arguments = sgemm_arguments_t {
        alpha,
        beta,
        a,
        b,
        c,
        d: ptr::null_mut(),
        bias: ptr::null(),
        device_alpha: ptr::null(),
        device_beta: ptr::null(),
        workspace,
        workspace_bytes,
    };
    // SAFETY: upheld by the caller.
    unsafe { sgemm_run_with(plan, stream, &raw const arguments) }
}

/// Queues a run in a stream. `stream` is a CUstream or cudaStream_t of the handle's context, or NULL for the default stream; pointers are
/// those of device memory. It allocates no device memory, does not synchronise, and may be captured in a CUDA graph; the plan must then
/// live as long as the graph. The caller keeps operands and workspace until the stream has come past it. Whether a pointer is one of the
/// handle's device is not checked.
///
/// With an emulated GPU, `stream` is ignored, pointers are the host's, and the run is done when this returns. The workspace is asked for
/// as on a GPU, and not used.
///
/// # Safety
/// `arguments` is null, or that of arguments. From the addresses there, the elements of the plan's problem can be read, and the result's
/// written, and the workspace has its bytes, all until the stream has come past it; nothing else writes to them meanwhile. The stream
/// is as above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sgemm_run_with(
    plan: sgemm_plan_t,
    stream: *mut c_void,
    arguments: *const sgemm_arguments_t,
) -> sgemm_status_t {
    boundary(|| {
        let planned = planned(plan)?;
        // SAFETY: upheld by the caller.
        let arguments = unsafe { read(arguments) }?;
        arguments.check(&planned.problem, planned.plan())?;
        arguments.check_workspace(planned.plan())?;
        match &planned.runner {
            // SAFETY: upheld by the caller, and checked.
            Runner::Emulator(..) => unsafe { host::run(&planned, &arguments, Memory::Device) },
            Runner::Cuda(context, gemm) => {
                let _restore = Restore::current()?;
                let stream: CUstream = stream.cast();
                // SAFETY: upheld by the caller; the context is current.
                unsafe {
                    enter(context, stream)?;
                    Ok(gemm.run_raw(stream, &arguments.bindings(planned.plan()))?)
                }
            }
        }
    })
}

/// Runs a plan on matrices in the host's memory, alpha and beta in "device memory" included, and returns when it is done. On a GPU they are
/// copied there and back, and memory for them is allocated and freed: for few or large products. Operands may have any alignment, and no
/// workspace is needed.
///
/// # Safety
/// `arguments` is null, or that of arguments. From the addresses there, the elements of the plan's problem can be read, and the result's
/// written; nothing else writes to them meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sgemm_run_host(plan: sgemm_plan_t, arguments: *const sgemm_arguments_t) -> sgemm_status_t {
    boundary(|| {
        let planned = planned(plan)?;
        // SAFETY: upheld by the caller.
        let arguments = unsafe { read(arguments) }?;
        arguments.check(&planned.problem, planned.plan())?;
        let _restore = match &planned.runner {
            Runner::Emulator(..) => None,
            Runner::Cuda(context, _) => {
                let restore = Restore::current()?;
                // SAFETY: there is no stream.
                unsafe { enter(context, ptr::null_mut()) }?;
                Some(restore)
            }
        };
        // SAFETY: upheld by the caller, and checked; the context of a GPU is current.
        unsafe { host::run(&planned, &arguments, Memory::Host) }
    })
}

/// # Safety
/// It is null, or that of arguments.
unsafe fn read(arguments: *const sgemm_arguments_t) -> Result<sgemm_arguments_t, Failure> {
    if arguments.is_null() {
        return Err(Failure::null("arguments"));
    }
    // SAFETY: upheld by the caller: all values of its fields are numbers or addresses.
    Ok(unsafe { arguments.read() })
}
