//! What this crate asks of the CUDA driver itself: which context is current, and whose a stream is.

use std::ptr;
use std::sync::Arc;

use sgemm::Error;
use sgemm::cuda::{CUstream, open, open_driver};
use sgemm::cudarc::driver::CudaContext;
use sgemm::cudarc::driver::sys::{self, CUcontext, CUresult};

use crate::constants::{SGEMM_CURRENT_DEVICE, SGEMM_INVALID_VALUE, SGEMM_WRONG_DEVICE};
use crate::status::Failure;

/// Puts the context back that was current on this thread, so that a call leaves the caller's as it was.
pub(crate) struct Restore(CUcontext);

impl Restore {
    /// Remembers the current context, if there is one. The driver is started.
    pub fn current() -> Result<Self, Failure> {
        let mut context = ptr::null_mut();
        // SAFETY: `context` is a place to write a pointer to.
        checked(unsafe { sys::cuCtxGetCurrent(&raw mut context) }, "ask for the current CUDA context")?;
        Ok(Self(context))
    }
}

impl Drop for Restore {
    fn drop(&mut self) {
        // SAFETY: it was current when this began, or is null. A driver that refuses, since the caller destroyed the context
        // meanwhile, leaves nothing to put back.
        let _ = unsafe { sys::cuCtxSetCurrent(self.0) };
    }
}

/// The primary context of a device, or of the one whose primary context is current.
pub(crate) fn context(ordinal: i32) -> Result<Arc<CudaContext>, Failure> {
    open_driver()?;
    let count = CudaContext::device_count().map_err(|error| failed("count devices", error.0))?;
    if (0..count).contains(&ordinal) {
        return Ok(open(usize::try_from(ordinal).unwrap_or_default())?);
    }
    if ordinal != SGEMM_CURRENT_DEVICE {
        let text = format!("ordinal = {ordinal}: there are {count} devices, counted from 0");
        return Err(Failure::new(SGEMM_INVALID_VALUE, text));
    }
    let restore = Restore::current()?;
    for ordinal in 0..count {
        // Not `open`, which would make a context on every device that is asked.
        let is_active = primary_is_active(ordinal)?;
        if !restore.0.is_null() && is_active {
            let context = open(usize::try_from(ordinal).unwrap_or_default())?;
            if context.cu_ctx() == restore.0 {
                return Ok(context);
            }
        }
    }
    Err(Failure::new(
        SGEMM_WRONG_DEVICE,
        "no primary context of a device is current on this thread: give a device's number",
    ))
}

/// Whether somebody has made the primary context of a device.
fn primary_is_active(ordinal: i32) -> Result<bool, Failure> {
    let (mut device, mut flags, mut is_active) = (0, 0, 0);
    // SAFETY: each of them is a place to write an integer to; the device is the one that was written.
    unsafe {
        checked(sys::cuDeviceGet(&raw mut device, ordinal), "ask for a device")?;
        let status = sys::cuDevicePrimaryCtxGetState(device, &raw mut flags, &raw mut is_active);
        checked(status, "ask for a device's primary context")?;
    }
    Ok(is_active != 0)
}

/// Makes the context current, and checks that the stream is one of it, or null.
///
/// # Safety
/// The stream is null, or one of the driver's.
pub(crate) unsafe fn enter(context: &CudaContext, stream: CUstream) -> Result<(), Failure> {
    context.bind_to_thread().map_err(|error| failed("use the handle's context", error.0))?;
    if stream.is_null() {
        return Ok(());
    }
    let mut of = ptr::null_mut();
    // SAFETY: the stream is one of the driver's, upheld by the caller, and `of` a place to write a pointer to.
    checked(unsafe { sys::cuStreamGetCtx(stream, &raw mut of) }, "ask for a stream's context")?;
    if of == context.cu_ctx() {
        return Ok(());
    }
    let text = format!("the stream is of another context than that of the handle, device {}", context.ordinal());
    Err(Failure::new(SGEMM_WRONG_DEVICE, text))
}

/// A status as a result. `what` completes the sentence "cannot ...".
fn checked(status: CUresult, what: &str) -> Result<(), Failure> {
    if status == CUresult::CUDA_SUCCESS { Ok(()) } else { Err(failed(what, status)) }
}

/// An error of the driver. `what` completes the sentence "cannot ...".
pub(crate) fn failed(what: &str, status: CUresult) -> Failure {
    Error::Driver { what: what.to_owned(), code: format!("{status:?}") }.into()
}
