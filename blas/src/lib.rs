//! SGEMM as BLAS has it, on matrices in the host's memory: `sgemm_` of Fortran and `cblas_sgemm` of C, with integers of 32 and 64 bits,
//! and under the names that SciPy's packages give them. Preloaded, it takes the calls of a program that was linked to any BLAS.
//!
//! What runs them is the variable `SGEMM_BACKEND`:
//! - `cuda`: a GPU, which matrices are copied to and from, in blocks that its memory holds.
//! - `emulator`: an emulated one, for tests.
//! - `next`: the BLAS that the program would have called otherwise.
//! - unset: a GPU where there is one and the product is large; the next BLAS otherwise.
//!
//! `SGEMM_MEMORY_MIB` is the most memory of the device that they take there: half of what is free at the first call, where it is unset.
//!
//! Arguments are checked as the reference implementation checks them, and reported to `xerbla_` or `cblas_xerbla`, which the program may
//! define. What cannot be run, such as for want of memory on the device, goes to the next BLAS.

use std::ffi::{CStr, c_char};

mod call;
mod cblas;
mod compute;
mod fortran;
mod loaded;
mod next;
mod recent;
mod route;
mod xerbla;

/// The version of this library, which the BLAS it is preloaded for has no name for: what tells one from the other.
#[unsafe(no_mangle)]
pub extern "C" fn sgemm_blas_version() -> *const c_char {
    const VERSION: &CStr = match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
        Ok(version) => version,
        Err(_) => c"",
    };
    VERSION.as_ptr()
}

pub use cblas::{cblas_sgemm, cblas_sgemm_64, cblas_sgemm64_, scipy_cblas_sgemm, scipy_cblas_sgemm64_};
pub use fortran::{scipy_sgemm_, scipy_sgemm_64_, sgemm_, sgemm_64_};
