//! BLAS's error handler: the program's, or its library's, or a line of our own.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::mem;

use crate::call::Name;
use crate::loaded;

/// `xerbla_` with integers of a type: name, number of the argument, length of the name.
type Xerbla<I> = unsafe extern "C" fn(*const c_char, *const I, usize);

/// `cblas_xerbla`: number of the argument, name, format.
type CblasXerbla = unsafe extern "C" fn(c_int, *const c_char, *const c_char, ...);

/// The name as Fortran passes it.
const NAME: &CStr = c"SGEMM ";

/// Reports an argument of `sgemm_`, or of one of its other names.
pub fn fortran(number: i32, name: Name) {
    let wide = i64::from(number);
    let wide_handler = if name.is_wide() { handler::<Xerbla<i64>>(c"xerbla_64_") } else { None };
    // SAFETY: this is what the names stand for in every BLAS; both read their arguments before they return.
    unsafe {
        match (wide_handler, handler::<Xerbla<i32>>(c"xerbla_")) {
            (Some(xerbla), _) => xerbla(NAME.as_ptr(), &raw const wide, NAME.count_bytes()),
            (None, Some(xerbla)) => xerbla(NAME.as_ptr(), &raw const number, NAME.count_bytes()),
            (None, None) => say(NAME.to_str().unwrap_or_default(), number),
        }
    }
}

/// Reports an argument of `cblas_sgemm`, by its number there, of matrices by rows or by columns, with a format and what that is given.
///
/// The reference's handler expects the numbers of the call by columns that it makes of one by rows, and a flag that tells it so.
pub fn cblas(number: i32, (format, value): (&CStr, c_int), is_by_rows: bool) {
    let Some(xerbla) = handler::<CblasXerbla>(c"cblas_xerbla") else { return say("cblas_sgemm", number) };
    let flag = handler::<*mut c_int>(c"RowMajorStrg").filter(|_| is_by_rows);
    // SAFETY: this is what the names stand for in every CBLAS, which is not used by other threads where it fails; the format takes an
    // integer, or nothing.
    unsafe {
        if let Some(flag) = flag {
            *flag = 1;
        }
        let number = if flag.is_some() { turned(number) } else { number };
        xerbla(number, c"cblas_sgemm".as_ptr(), format.as_ptr(), value);
        if let Some(flag) = flag {
            *flag = 0;
        }
    }
}

/// The program's own, or that of the library that it is linked to; `F` is its type.
fn handler<F: Copy>(name: &CStr) -> Option<F> {
    const { assert!(size_of::<F>() == size_of::<*mut c_void>()) };
    let ahead = loaded::ahead(name);
    let found = if ahead.is_null() { loaded::apart(name)? } else { ahead };
    // SAFETY: `F` is a pointer, of the type that everybody has under that name.
    Some(unsafe { mem::transmute_copy(&found) })
}

/// The number of an argument in the transposed call, where A and B, and so m and n, change places.
pub const fn turned(number: i32) -> i32 {
    match number {
        4 => 5,
        5 => 4,
        9 => 11,
        11 => 9,
        _ => number,
    }
}

/// The line of the reference implementation, which goes on.
fn say(name: &str, number: i32) {
    eprintln!(" ** On entry to {} parameter number {number:2} had an illegal value", name.trim_end());
}
