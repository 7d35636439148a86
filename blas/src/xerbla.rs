//! BLAS's error handler: the program's, or its library's, or a line of our own.

use std::ffi::{CStr, c_char, c_int};

use crate::next;

/// `xerbla_` with integers of 32 bits: name, number of the argument, length of the name.
type Xerbla = unsafe extern "C" fn(*const c_char, *const i32, usize);

/// The same with integers of 64 bits.
type Xerbla64 = unsafe extern "C" fn(*const c_char, *const i64, usize);

/// `cblas_xerbla`: number of the argument, name, format.
type CblasXerbla = unsafe extern "C" fn(c_int, *const c_char, *const c_char, ...);

/// The name as Fortran passes it.
const NAME: &CStr = c"SGEMM ";

/// Reports an argument of `sgemm_`.
pub fn fortran(number: i32) {
    match next::anywhere::<Xerbla>(c"xerbla_") {
        // SAFETY: this is what the name stands for in every BLAS; it reads its arguments before it returns.
        Some(xerbla) => unsafe { xerbla(NAME.as_ptr(), &raw const number, NAME.count_bytes()) },
        None => say(NAME.to_str().unwrap_or_default(), number),
    }
}

/// Reports an argument of `sgemm_64_`.
pub fn fortran_64(number: i32) {
    let wide = i64::from(number);
    match next::anywhere::<Xerbla64>(c"xerbla_64_") {
        // SAFETY: as above.
        Some(xerbla) => unsafe { xerbla(NAME.as_ptr(), &raw const wide, NAME.count_bytes()) },
        None => fortran(number),
    }
}

/// Reports an argument of `cblas_sgemm`, by its number there, of matrices by rows or by columns.
///
/// The reference's handler expects the numbers of the call by columns that it makes of one by rows, and a flag that tells it so.
pub fn cblas(number: i32, what: &CStr, is_by_rows: bool) {
    let Some(xerbla) = next::anywhere::<CblasXerbla>(c"cblas_xerbla") else { return say("cblas_sgemm", number) };
    let flag = next::anywhere::<*mut c_int>(c"RowMajorStrg").filter(|_| is_by_rows);
    // SAFETY: this is what the names stand for in every CBLAS, which is not used by other threads where it fails; the format takes no
    // further arguments.
    unsafe {
        if let Some(flag) = flag {
            *flag = 1;
        }
        let number = if flag.is_some() { turned(number) } else { number };
        xerbla(number, c"cblas_sgemm".as_ptr(), what.as_ptr());
        if let Some(flag) = flag {
            *flag = 0;
        }
    }
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
