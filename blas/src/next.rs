//! The BLAS that would have been called otherwise, and other symbols of the process.

use std::ffi::{CStr, c_char, c_void};
use std::sync::OnceLock;

use crate::call::Call;

/// `sgemm_`, with the lengths of both letters, which C callers leave out and Fortran's code expects.
type Sgemm = unsafe extern "C" fn(
    *const c_char,
    *const c_char,
    *const i32,
    *const i32,
    *const i32,
    *const f32,
    *const f32,
    *const i32,
    *const f32,
    *const i32,
    *const f32,
    *mut f32,
    *const i32,
    usize,
    usize,
);

/// Runs the call by the next BLAS of the process, or by a plain one where there is none, or where its integers are too small.
///
/// # Safety
/// As of `sgemm_`, with arguments that have no fault.
pub unsafe fn run(call: &Call) {
    static NEXT: OnceLock<Option<Sgemm>> = OnceLock::new();
    let next = NEXT.get_or_init(|| symbol(libc::RTLD_NEXT, c"sgemm_"));
    let sizes = [call.m, call.n, call.k, call.lda, call.ldb, call.ldc].map(i32::try_from);
    if let (Some(next), [Ok(m), Ok(n), Ok(k), Ok(lda), Ok(ldb), Ok(ldc)]) = (next, sizes) {
        let [op_a, op_b] = call.ops.map(|op| op.letter() as c_char);
        // SAFETY: upheld by the caller: this is another `sgemm_`, with the same arguments.
        unsafe {
            next(
                &raw const op_a,
                &raw const op_b,
                &raw const m,
                &raw const n,
                &raw const k,
                &raw const call.alpha,
                call.a,
                &raw const lda,
                call.b,
                &raw const ldb,
                &raw const call.beta,
                call.c,
                &raw const ldc,
                1,
                1,
            );
        }
        return;
    }
    // SAFETY: upheld by the caller.
    unsafe { plain(call) }
}

/// The product by the CPU, where no BLAS is.
///
/// # Safety
/// As of [`run`].
unsafe fn plain(call: &Call) {
    use crate::call::Op;
    let strides = |op, ld: i64| if op == Op::N { (1, ld as isize) } else { (ld as isize, 1) };
    let ((row_a, column_a), (row_b, column_b)) = (strides(call.ops[0], call.lda), strides(call.ops[1], call.ldb));
    let [m, n, k] = [call.m, call.n, call.k].map(|size| size as usize);
    // Where A and B must not be read, there is no product.
    let k = if call.alpha == 0.0 { 0 } else { k };
    let (alpha, beta, ldc) = (call.alpha, call.beta, call.ldc as isize);
    // SAFETY: upheld by the caller: the matrices have these strides. C is not read where beta is 0.
    unsafe {
        matrixmultiply::sgemm(m, k, n, alpha, call.a, row_a, column_a, call.b, row_b, column_b, beta, call.c, 1, ldc);
    }
}

/// A function of that name, wherever in the process it is; `F` is its type.
pub fn anywhere<F: Copy>(name: &CStr) -> Option<F> {
    symbol(libc::RTLD_DEFAULT, name)
}

fn symbol<F: Copy>(from: *mut c_void, name: &CStr) -> Option<F> {
    const { assert!(size_of::<F>() == size_of::<*mut c_void>()) };
    // SAFETY: the name ends with a zero, and the handle is one of the loader's own.
    let found = unsafe { libc::dlsym(from, name.as_ptr()) };
    // SAFETY: `F` is a function pointer, of the type that everybody has under that name.
    (!found.is_null()).then(|| unsafe { std::mem::transmute_copy(&found) })
}
