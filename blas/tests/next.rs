//! Small products go to the next BLAS, wherever it is loaded: Python's modules have theirs for themselves alone.

#![cfg(target_os = "linux")]

use std::env;
use std::ffi::{CString, c_int, c_void};
use std::path::{Path, PathBuf};
use std::process::Command;

use sgemm_blas::{cblas_sgemm, cblas_sgemm_64, scipy_cblas_sgemm, scipy_cblas_sgemm64_};

/// A BLAS that computes nothing, but leaves in C which function was called.
const SOURCE: &str = "
#include <stdint.h>
#define SGEMM(name, integer, value) \\
    void name(const char *ta, const char *tb, const integer *m, const integer *n, const integer *k, const float *alpha, const float *a, \\
              const integer *lda, const float *b, const integer *ldb, const float *beta, float *c, const integer *ldc) { \\
        *c = *ta == 'N' && *tb == 'T' && *m == 1 && *n == 1 && *k == 1 && *alpha == 3 && *a == 2 && *b == 5 && *beta == 0 ? value : -1; \\
    }
SGEMM(sgemm_, int32_t, 32)
SGEMM(scipy_sgemm_64_, int64_t, 64)
";

/// A library that cargo has put beside the tests or above them.
fn library() -> PathBuf {
    let folder = env::current_exe().unwrap();
    let mut folders = folder.ancestors().skip(1).map(|folder| folder.join("libsgemm_blas.so"));
    folders.find(|path| path.exists()).expect("cargo builds the library with its tests")
}

/// Loads a library as Python does, or asks whether it is there.
fn open(path: &Path, flags: c_int) -> *mut c_void {
    let name = CString::new(path.to_str().unwrap()).unwrap();
    // SAFETY: the name ends with a zero. The libraries have no constructors.
    unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL | flags) }
}

/// What each name leaves in C: by integers of 32 bits, and of 64 with sizes that are theirs alone.
fn call() -> [f32; 4] {
    let (a, b, alpha, beta) = ([2.0], [5.0], 3.0, 0.0);
    let mut found = [f32::NAN; 4];
    let [plain, plain_64, scipy, scipy_64] = found.each_mut().map(std::ptr::from_mut);
    // SAFETY: all matrices have one element, which is where they begin.
    unsafe {
        cblas_sgemm(102, 111, 112, 1, 1, 1, alpha, a.as_ptr(), 1, b.as_ptr(), 1, beta, plain, 1);
        cblas_sgemm_64(102, 111, 112, 1, 1, 1, alpha, a.as_ptr(), 1 << 40, b.as_ptr(), 1, beta, plain_64, 1);
        scipy_cblas_sgemm(102, 111, 112, 1, 1, 1, alpha, a.as_ptr(), 1, b.as_ptr(), 1, beta, scipy, 1);
        scipy_cblas_sgemm64_(102, 111, 112, 1, 1, 1, alpha, a.as_ptr(), 1, b.as_ptr(), 1, beta, scipy_64, 1);
    }
    found
}

#[test]
fn a_blas_that_is_loaded_for_others_is_the_next_one() {
    // Another one of this library is none.
    assert!(!open(&library(), 0).is_null());
    assert_eq!(call(), [30.0; 4], "there is no other");

    let folder = tempfile::tempdir().unwrap();
    let [source, blas, other] = ["blas.c", "blas.so", "other.so"].map(|name| folder.path().join(name));
    std::fs::write(&source, SOURCE).unwrap();
    let mut compile = Command::new("cc");
    let Ok(output) = compile.args(["-shared", "-fPIC", "-o"]).arg(&blas).arg(&source).output() else {
        println!("cc is not installed: `cargo xtask setup --c` does that");
        return;
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    std::fs::copy(&blas, &other).unwrap();

    let of_blas = open(&blas, 0);
    let of_other = open(&other, 0);
    assert!(!of_blas.is_null() && !of_other.is_null());
    // Each name its own, or one whose integers are wide enough.
    assert_eq!(call(), [32.0, 64.0, 32.0, 64.0]);
    // What was found stays, whoever closes it; what was only asked does not.
    // SAFETY: nothing of theirs is used here.
    let _ = unsafe { [of_blas, of_other].map(|handle| libc::dlclose(handle)) };
    assert_eq!([&blas, &other].map(|path| open(path, libc::RTLD_NOLOAD).is_null()), [false, true]);
    assert_eq!(call(), [32.0, 64.0, 32.0, 64.0]);
}
