//! What calls return.

use std::ffi::CStr;
use std::io::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};

use cudarc::driver::sys::CUresult;

/// The result of a call: an error is any but `CUDA_SUCCESS`.
pub type Answer<T = ()> = Result<T, CUresult>;

/// What a function of the interface returns. A panic is an error of ours, and stays here.
pub fn answer(call: impl FnOnce() -> Answer) -> CUresult {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(Ok(())) => CUresult::CUDA_SUCCESS,
        Ok(Err(status)) => status,
        Err(_) => CUresult::CUDA_ERROR_UNKNOWN,
    }
}

/// `CUDA_ERROR_INVALID_VALUE` where something is not as a call needs it.
pub fn require(is_valid: bool) -> Answer {
    if is_valid { Ok(()) } else { Err(CUresult::CUDA_ERROR_INVALID_VALUE) }
}

/// Says on standard error what a status cannot.
pub fn say(text: &str) {
    let _ = writeln!(io::stderr(), "ptx-emu: {text}");
}

/// The status of what is not here, which is said.
pub fn unsupported(what: &str) -> CUresult {
    say(&format!("{what} is not emulated"));
    CUresult::CUDA_ERROR_NOT_SUPPORTED
}

macro_rules! statuses {
    ($($name:ident $text:literal;)*) => {
        /// A status's name and what it means.
        pub fn describe(status: u32) -> Option<[&'static CStr; 2]> {
            const NAMES: &[(CUresult, &str, &str)] = &[
                $((CUresult::$name, concat!(stringify!($name), "\0"), concat!($text, "\0"))),*
            ];
            let (_, name, text) = NAMES.iter().find(|(known, ..)| *known as u32 == status)?;
            let terminated = |text: &'static str| CStr::from_bytes_with_nul(text.as_bytes()).ok();
            Some([terminated(name)?, terminated(text)?])
        }
    };
}

statuses! {
    CUDA_SUCCESS "no error";
    CUDA_ERROR_INVALID_VALUE "invalid argument";
    CUDA_ERROR_OUT_OF_MEMORY "out of memory";
    CUDA_ERROR_NOT_INITIALIZED "initialization error";
    CUDA_ERROR_INVALID_DEVICE "invalid device ordinal";
    CUDA_ERROR_INVALID_IMAGE "device kernel image is invalid";
    CUDA_ERROR_INVALID_CONTEXT "invalid device context";
    CUDA_ERROR_NO_BINARY_FOR_GPU "no kernel image is available for execution on the device";
    CUDA_ERROR_INVALID_PTX "a PTX JIT compilation failed";
    CUDA_ERROR_FILE_NOT_FOUND "file not found";
    CUDA_ERROR_INVALID_HANDLE "invalid resource handle";
    CUDA_ERROR_NOT_FOUND "named symbol not found";
    CUDA_ERROR_NOT_READY "device not ready";
    CUDA_ERROR_ILLEGAL_ADDRESS "an illegal memory access was encountered";
    CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES "too many resources requested for launch";
    CUDA_ERROR_LAUNCH_TIMEOUT "the launch timed out and was terminated";
    CUDA_ERROR_ASSERT "device-side assert triggered";
    CUDA_ERROR_MISALIGNED_ADDRESS "misaligned address";
    CUDA_ERROR_LAUNCH_FAILED "unspecified launch failure";
    CUDA_ERROR_NOT_SUPPORTED "operation not supported";
    CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED "operation not permitted when stream is capturing";
    CUDA_ERROR_STREAM_CAPTURE_INVALIDATED "operation failed due to a previous error during capture";
    CUDA_ERROR_STREAM_CAPTURE_UNMATCHED "capture was not initiated in this stream";
    CUDA_ERROR_STREAM_CAPTURE_ISOLATION "dependency created on uncaptured work in another stream";
    CUDA_ERROR_CAPTURED_EVENT "operation not permitted on an event last recorded in a capturing stream";
    CUDA_ERROR_INVALID_CLUSTER_SIZE "a launch has an invalid cluster size";
    CUDA_ERROR_UNKNOWN "unknown error";
}
