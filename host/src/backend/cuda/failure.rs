//! The driver's errors as this crate's.

use std::fmt::Write;

use cudarc::driver::DriverError;
use cust::error::CudaResult;

use crate::Error;

/// Says what was being done when a call into CUDA failed.
pub(super) trait Context<T> {
    /// Turns a failure into [`Error::Cuda`]; `what` completes the sentence "cannot ...".
    fn context(self, what: impl Into<String>) -> Result<T, Error>;
}

impl<T> Context<T> for CudaResult<T> {
    fn context(self, what: impl Into<String>) -> Result<T, Error> {
        self.map_err(|error| {
            // `write!`, not `to_string`, which panics where the driver has no text for the error.
            let mut text = String::new();
            let _ = write!(text, "{error}");
            Error::Cuda { what: what.into(), reason: format!("{error:?} ({})", text.trim_matches('"')) }
        })
    }
}

impl<T> Context<T> for Result<T, DriverError> {
    fn context(self, what: impl Into<String>) -> Result<T, Error> {
        self.map_err(|error| Error::Cuda { what: what.into(), reason: format!("{:?}", error.0) })
    }
}
