//! The driver's library: whether it is there, and how new it is.

use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
use std::fmt;

use cudarc::driver::DriverError;
use cudarc::driver::sys::{self, CUcontext, CUresult};

use crate::Error;

/// The oldest CUDA version that a driver may support: the first with `cuLaunchKernelEx`. Bindings load each function at its
/// first call, and panic where it is missing.
const OLDEST_CUDA: CudaVersion = CudaVersion(11080);

/// A version as the driver counts: 13000 is 13.0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct CudaVersion(pub i32);

impl fmt::Display for CudaVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.0 / 1000, self.0 % 1000 / 10)
    }
}

/// Whether the driver's library is there. Every other call into CUDA panics where it is not.
#[must_use]
pub fn driver_is_present() -> bool {
    // Some of the names that the bindings load it by. These have a function for this only where no crate has them link it.
    let name = |library| format!("{DLL_PREFIX}{library}{DLL_SUFFIX}");
    let names = [name("cuda"), format!("{}.1", name("cuda")), name("nvcuda")];
    // SAFETY: loads the driver's library, and runs only what NVIDIA's library does when it is loaded.
    names.iter().any(|name| unsafe { libloading::Library::new(name) }.is_ok())
}

/// Starts the driver: everything else of this module needs it to be started, by this or by whoever made the context.
///
/// # Errors
/// [`Error::NoDriver`], [`Error::DriverTooOld`] or [`Error::NoDevice`] where there is nothing to run on, [`Error::Driver`] where the
/// driver does not start.
pub fn open_driver() -> Result<(), Error> {
    if !driver_is_present() {
        return Err(Error::NoDriver);
    }
    require(OLDEST_CUDA)?;
    // SAFETY: the library is there.
    match unsafe { sys::cuInit(0) } {
        CUresult::CUDA_ERROR_NO_DEVICE => Err(Error::NoDevice),
        status => checked(status, || "start the NVIDIA driver".into()),
    }
}

/// The newest CUDA version that the driver supports. It need not be started, but be there.
///
/// # Errors
/// [`Error::Driver`] where it does not say.
pub fn driver_version() -> Result<CudaVersion, Error> {
    let mut version = 0;
    // SAFETY: `version` is a place to write an int to.
    checked(unsafe { sys::cuDriverGetVersion(&raw mut version) }, || "ask the NVIDIA driver's version".into())?;
    Ok(CudaVersion(version))
}

/// Fails where the driver does not support this version of CUDA.
pub(super) fn require(oldest: CudaVersion) -> Result<(), Error> {
    let found = driver_version()?;
    if found < oldest {
        return Err(Error::DriverTooOld { found: found.to_string(), oldest: oldest.to_string() });
    }
    Ok(())
}

/// A status as a result. `what` completes the sentence "cannot ...", and is asked for only where the call failed.
pub(crate) fn checked(status: CUresult, what: impl FnOnce() -> String) -> Result<(), Error> {
    match status {
        CUresult::CUDA_SUCCESS => Ok(()),
        status => Err(Error::Driver { what: what(), code: format!("{status:?}") }),
    }
}

/// An error of cudarc as one of ours. `what` completes the sentence "cannot ...".
pub(crate) fn failed(what: String, error: DriverError) -> Error {
    Error::Driver { what, code: format!("{:?}", error.0) }
}

/// The context that is current on this thread.
pub(super) fn current_context() -> Result<CUcontext, Error> {
    let mut context = std::ptr::null_mut();
    // SAFETY: `context` is a place to write a pointer to.
    checked(unsafe { sys::cuCtxGetCurrent(&raw mut context) }, || "ask for the current CUDA context".into())?;
    if context.is_null() {
        let (what, code) = ("use the current CUDA context".into(), "there is none on this thread".into());
        return Err(Error::Driver { what, code });
    }
    Ok(context)
}

/// Does something with the context current, and makes the one before it current again.
///
/// # Safety
/// The context is there.
pub(super) unsafe fn with_context<T>(context: CUcontext, act: impl FnOnce() -> T) -> Result<T, Error> {
    // SAFETY: upheld by the caller.
    checked(unsafe { sys::cuCtxPushCurrent_v2(context) }, || "use the CUDA context".into())?;
    let result = act();
    let mut popped = std::ptr::null_mut();
    // SAFETY: `popped` is a place to write a pointer to; what is popped was pushed above.
    checked(unsafe { sys::cuCtxPopCurrent_v2(&raw mut popped) }, || "leave the CUDA context".into())?;
    Ok(result)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_driver_is_an_error() {
        if !driver_is_present() {
            assert_eq!(open_driver(), Err(Error::NoDriver));
        }
    }

    #[test]
    fn versions_are_compared_and_formatted() {
        assert_eq!(CudaVersion(13000).to_string(), "13.0");
        assert_eq!(CudaVersion(12080).to_string(), "12.8");
        assert!(CudaVersion(11020) < OLDEST_CUDA && OLDEST_CUDA < CudaVersion(13000));
    }

    #[test]
    fn what_failed_is_said() {
        assert_eq!(checked(CUresult::CUDA_SUCCESS, || "not asked".into()), Ok(()));
        let error = checked(CUresult::CUDA_ERROR_INVALID_VALUE, || "run naive".into()).unwrap_err();
        assert_eq!(error.to_string(), "cannot run naive: CUDA_ERROR_INVALID_VALUE");
    }
}
