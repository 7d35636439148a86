//! Where a call goes: to a plan, or to cuBLAS.

use std::panic::{AssertUnwindSafe, catch_unwind};

use sgemm::Error;
use sgemm::cuda::CUdeviceptr;
use sgemm::plan::{Bindings, Buffer};

use crate::abi::{EXECUTION_FAILED, SUCCESS, Status};
use crate::call::Call;
use crate::forked::Outermost;
use crate::gpu::{self, Gpu, is_capturing};
use crate::log;
use crate::memory::free;
use crate::reason::Reason;

/// Takes note of a call of the program's, unless that is one within another, or in a forked child.
pub fn watch(note: impl FnOnce()) {
    if let Some(_outermost) = Outermost::enter() {
        note();
    }
}

/// Computes the call that `offered` makes of a function's arguments, or has `next`, cuBLAS, do so.
pub fn attempt(
    function: &'static str,
    offered: impl FnOnce() -> Result<Call, Reason>,
    next: impl FnOnce() -> Status,
) -> Status {
    let Some(_outermost) = Outermost::enter() else { return next() };
    // A panic must not go on into a program that is not Rust's; it comes before anything is launched.
    let answer = catch_unwind(AssertUnwindSafe(|| offered().and_then(|call| run(function, &call))));
    match answer.unwrap_or(Err(Reason::Unsupported)) {
        Ok(status) => status,
        Err(reason) => {
            log::forwarded(function, reason);
            next()
        }
    }
}

/// A workspace for a plan: where it begins, and whether it is the pool's, to be freed behind the launches.
///
/// # Safety
/// The stream is the program's own, of the current context, which is that of the pool's device.
unsafe fn workspace(gpu: &Gpu, call: &Call, bytes: u64) -> Result<(CUdeviceptr, bool), Reason> {
    if bytes == 0 {
        return Ok((0, false));
    }
    if let Some(given) = call.workspace.place(bytes) {
        return Ok((given, false));
    }
    // SAFETY: upheld by the caller; nothing is allocated for a stream that is captured.
    unsafe {
        if is_capturing(call.stream) {
            return Err(Reason::Capturing);
        }
        let allocated = gpu.pool.as_ref().and_then(|pool| pool.allocate(bytes, call.stream));
        Ok((allocated.ok_or(Reason::NoWorkspace)?, true))
    }
}

/// Queues the call.
fn run(function: &'static str, call: &Call) -> Result<Status, Reason> {
    // SAFETY: the stream is the program's own.
    let (gpu, planned) = unsafe {
        let gpu = gpu::current(call.stream)?;
        (gpu, gpu.plan(&call.problem, call.stream)?)
    };
    // SAFETY: the stream is the program's own, of the current context.
    let best = unsafe { workspace(gpu, call, planned.workspace_bytes) };
    let (planned, (workspace, is_own)) = match (best, &planned.frugal) {
        (Ok(workspace), _) => (&*planned, workspace),
        // SAFETY: as above.
        (Err(_), Some(frugal)) => (&**frugal, unsafe { workspace(gpu, call, frugal.workspace_bytes) }?),
        (Err(reason), None) => return Err(reason),
    };
    let gemm = &planned.gemm;
    let parts = gemm.plan().part_bytes().at(workspace);
    let operands = parts.with(Buffer::A, call.a).with(Buffer::B, call.b).with(Buffer::C, call.c);
    let operands = operands.with(Buffer::D, call.d.unwrap_or(call.c)).with(Buffer::Bias, call.bias.unwrap_or(0));
    // SAFETY: the context is current. The program vouches for its matrices and its workspace as it does to cuBLAS; the pool's memory has the
    // bytes that the plan asks for, and is freed behind the launches. Kernels stay loaded until the process ends.
    let queued = unsafe {
        let queued = gemm.run_raw(call.stream, &Bindings::new(operands, call.alpha, call.beta));
        if is_own {
            free(workspace, call.stream);
        }
        queued
    };
    match queued {
        Ok(()) => {
            log::taken(function, planned);
            Ok(SUCCESS)
        }
        // Nothing was launched.
        Err(Error::Alignment { .. }) => Err(Reason::Invalid),
        Err(_) => Ok(EXECUTION_FAILED),
    }
}
