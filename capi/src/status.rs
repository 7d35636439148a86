//! The way back to C: a status, a message, and no panic.

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};

use sgemm::Error;

use crate::constants::*;

/// Why a call did nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    pub status: sgemm_status_t,
    pub message: String,
}

impl Failure {
    pub fn new(status: sgemm_status_t, message: impl Into<String>) -> Self {
        Self { status, message: message.into() }
    }

    /// Of an argument that must not be null.
    pub fn null(name: &str) -> Self {
        Self::new(SGEMM_NULL_POINTER, format!("{name} is null"))
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::new(status_of(&error), error.to_string())
    }
}

/// The status of each error. Those of groups, ranks and tables come from nothing that is called here.
fn status_of(error: &Error) -> sgemm_status_t {
    use Error as E;
    match error {
        E::TooLarge { .. }
        | E::TooManyBlocks { .. }
        | E::SizeOverflow { .. }
        | E::LeadingDimension { .. }
        | E::Strides { .. }
        | E::ExtentOverflow { .. }
        | E::BatchStride { .. }
        | E::BadAlignment { .. }
        | E::Output { .. }
        | E::Accuracy { .. } => SGEMM_INVALID_PROBLEM,
        E::ShortBuffer { .. } | E::Buffers { .. } | E::Elements { .. } | E::Alignment { .. } => SGEMM_INVALID_OPERAND,
        E::WorkspaceTooSmall { .. } => SGEMM_WORKSPACE_TOO_SMALL,
        E::WorkspaceLimit { .. } => SGEMM_WORKSPACE_LIMIT,
        E::Unsupported { .. } | E::NoModule { .. } => SGEMM_UNSUPPORTED,
        E::WrongDevice { .. } => SGEMM_WRONG_DEVICE,
        E::NoDriver => SGEMM_NO_DRIVER,
        E::NoDevice => SGEMM_NO_DEVICE,
        E::DriverTooOld { .. } => SGEMM_DRIVER_TOO_OLD,
        E::Driver { .. } | E::BadModule { .. } => SGEMM_DRIVER_ERROR,
        E::OutOfMemory { .. } => SGEMM_OUT_OF_MEMORY,
        E::Emulated { .. } | E::BadAddress { .. } => SGEMM_EMULATED_FAULT,
        _ => SGEMM_INTERNAL_ERROR,
    }
}

thread_local! {
    /// The message of this thread's last call that failed.
    static LAST: RefCell<CString> = RefCell::default();
}

/// Runs what a function of C does, and makes a status of what becomes of it.
pub(crate) fn boundary(act: impl FnOnce() -> Result<(), Failure>) -> sgemm_status_t {
    // A panic must not go on into a program that is not Rust's. What is shared is behind locks whose poison is ignored: no change to it
    // has a state between.
    let result = catch_unwind(AssertUnwindSafe(act));
    let failure = match result {
        Ok(Ok(())) => return SGEMM_SUCCESS,
        Ok(Err(failure)) => failure,
        Err(_) => Failure::new(SGEMM_INTERNAL_ERROR, "the library panicked: this is a mistake of its own"),
    };
    let text: Vec<u8> = failure.message.into_bytes().into_iter().filter(|byte| *byte != 0).collect();
    // Where the thread is ending, there is nobody left to read it.
    let _ = LAST.try_with(|last| last.replace(CString::new(text).unwrap_or_default()));
    failure.status
}

/// The version of the library, such as "0.1.0".
#[unsafe(no_mangle)]
pub extern "C" fn sgemm_version() -> *const c_char {
    VERSION.as_ptr()
}

const VERSION: &CStr = match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
    Ok(version) => version,
    Err(_) => c"",
};

/// What the calling thread's last call that failed says: one line, empty where none has failed. It is valid until another call of that
/// thread fails, or it ends.
#[unsafe(no_mangle)]
pub extern "C" fn sgemm_last_error() -> *const c_char {
    LAST.try_with(|last| last.borrow().as_ptr()).unwrap_or(c"".as_ptr())
}

/// What a status means, in a few words. It is valid for ever.
#[unsafe(no_mangle)]
pub extern "C" fn sgemm_status_string(status: sgemm_status_t) -> *const c_char {
    let text = match status {
        SGEMM_SUCCESS => c"success",
        SGEMM_INVALID_HANDLE => c"invalid handle or plan",
        SGEMM_NULL_POINTER => c"null pointer",
        SGEMM_INVALID_VALUE => c"invalid value",
        SGEMM_INVALID_PROBLEM => c"invalid problem",
        SGEMM_INVALID_OPERAND => c"invalid operand",
        SGEMM_WORKSPACE_TOO_SMALL => c"workspace too small",
        SGEMM_WORKSPACE_LIMIT => c"no kernel with so little workspace",
        SGEMM_UNSUPPORTED => c"not supported by the device",
        SGEMM_WRONG_DEVICE => c"wrong device",
        SGEMM_NO_DRIVER => c"no NVIDIA driver",
        SGEMM_NO_DEVICE => c"no device",
        SGEMM_DRIVER_TOO_OLD => c"NVIDIA driver too old",
        SGEMM_DRIVER_ERROR => c"the NVIDIA driver failed",
        SGEMM_OUT_OF_MEMORY => c"out of memory",
        SGEMM_EMULATED_FAULT => c"the emulator found a fault",
        SGEMM_INTERNAL_ERROR => c"internal error",
        _ => c"unknown status",
    };
    text.as_ptr()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn last() -> String {
        // SAFETY: it ends with a zero, and no other call fails meanwhile.
        unsafe { CStr::from_ptr(sgemm_last_error()) }.to_str().unwrap().to_owned()
    }

    #[test]
    fn a_panic_becomes_a_status() {
        assert_eq!(boundary(|| panic!("on purpose")), SGEMM_INTERNAL_ERROR);
        assert!(last().contains("panicked"), "{}", last());
    }

    #[test]
    fn each_thread_has_its_own_message() {
        assert_eq!(boundary(|| Err(Failure::new(SGEMM_INVALID_VALUE, "x\0y"))), SGEMM_INVALID_VALUE);
        let others = std::thread::spawn(|| (last(), boundary(|| Err(Failure::null("z"))), last())).join().unwrap();
        assert_eq!(others, (String::new(), SGEMM_NULL_POINTER, "z is null".to_owned()));
        assert_eq!((boundary(|| Ok(())), last()), (SGEMM_SUCCESS, "xy".to_owned()));
    }

    #[test]
    fn every_status_has_a_text_of_its_own() {
        // SAFETY: as above.
        let text = |status| unsafe { CStr::from_ptr(sgemm_status_string(status)) }.to_str().unwrap();
        let known: std::collections::BTreeSet<_> = (SGEMM_SUCCESS..=SGEMM_INTERNAL_ERROR).map(text).collect();
        assert_eq!(known.len() as i32, SGEMM_INTERNAL_ERROR + 1);
        assert!(!known.contains("unknown status"));
        assert_eq!([-1, SGEMM_INTERNAL_ERROR + 1].map(text), ["unknown status"; 2]);
    }

    #[test]
    fn errors_keep_their_message() {
        let failure = Failure::from(Error::LeadingDimension { name: "lda", value: 5, least: 6 });
        assert_eq!(failure.status, SGEMM_INVALID_PROBLEM);
        assert!(failure.message.starts_with("lda = 5 is too small"), "{}", failure.message);
    }
}
