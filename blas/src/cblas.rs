//! `cblas_sgemm`, as C calls it: by value, by rows or by columns.

use std::ffi::{CStr, c_int};

use crate::call::{Call, Name, Op};
use crate::{route, xerbla};

/// CBLAS's number for matrices by rows.
const ROW_MAJOR: c_int = 101;

/// CBLAS's number for matrices by columns.
const COLUMN_MAJOR: c_int = 102;

/// A setting that is none of CBLAS's, with what the reference implementation says of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Illegal {
    /// The number of the argument.
    argument: i32,
    format: &'static CStr,
    /// What the format is given.
    value: c_int,
}

/// The arguments of `cblas_sgemm`.
struct Arguments {
    name: Name,
    layout: c_int,
    ops: [c_int; 2],
    sizes: [i64; 3],
    alpha: f32,
    a: *const f32,
    lda: i64,
    b: *const f32,
    ldb: i64,
    beta: f32,
    c: *mut f32,
    ldc: i64,
}

impl Arguments {
    /// The call by columns, and whether that is the transpose of what was asked for; or what is wrong with the first three arguments.
    fn call(&self) -> Result<(Call, bool), Illegal> {
        let Self { name, layout, ops, sizes: [m, n, k], alpha, a, lda, b, ldb, beta, c, ldc } = *self;
        if layout != ROW_MAJOR && layout != COLUMN_MAJOR {
            return Err(Illegal { argument: 1, format: c"Illegal layout setting, %d\n", value: layout });
        }
        let op = |index: usize, argument, format| {
            Op::of_number(ops[index]).ok_or(Illegal { argument, format, value: ops[index] })
        };
        let op_a = op(0, 2, c"Illegal TransA setting, %d\n")?;
        let op_b = op(1, 3, c"Illegal TransB setting, %d\n")?;
        let call = Call { name, ops: [op_a, op_b], m, n, k, alpha, a, lda, b, ldb, beta, c, ldc };
        // By columns, matrices by rows are their transposes.
        let turned = Call { ops: [op_b, op_a], m: n, n: m, a: b, lda: ldb, b: a, ldb: lda, ..call };
        Ok(if layout == ROW_MAJOR { (turned, true) } else { (call, false) })
    }

    /// # Safety
    /// As of [`cblas_sgemm`].
    unsafe fn run(&self) {
        match self.call() {
            Err(Illegal { argument, format, value }) => xerbla::cblas(argument, (format, value), false),
            Ok((call, is_turned)) => match call.fault() {
                Some(number) => xerbla::cblas(of_cblas(number, is_turned), (c"", 0), is_turned),
                // SAFETY: upheld by the caller; the arguments have no fault.
                None => unsafe { route::run(&call) },
            },
        }
    }
}

/// The number that an argument of `sgemm_` has in `cblas_sgemm`, of a call that may be the transpose.
const fn of_cblas(number: i32, is_turned: bool) -> i32 {
    if is_turned { xerbla::turned(number + 1) } else { number + 1 }
}

/// Declares entry points with integers of a type.
macro_rules! entry_points {
    ($($(#[$doc:meta])* $name:ident, $integer:ty, $kind:expr;)*) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        /// At A, B and C are matrices of the sizes and leading dimensions that the arguments give; nothing else writes to them, or
        /// reads C, until the call returns. A and B need not be there where alpha or k is 0.
        #[unsafe(no_mangle)]
        #[allow(clippy::too_many_arguments, reason = "those of BLAS")]
        pub unsafe extern "C" fn $name(
            layout: c_int,
            transa: c_int,
            transb: c_int,
            m: $integer,
            n: $integer,
            k: $integer,
            alpha: f32,
            a: *const f32,
            lda: $integer,
            b: *const f32,
            ldb: $integer,
            beta: f32,
            c: *mut f32,
            ldc: $integer,
        ) {
            let [m, n, k, lda, ldb, ldc] = [m, n, k, lda, ldb, ldc].map(i64::from);
            let ops = [transa, transb];
            // SAFETY: upheld by the caller.
            unsafe { Arguments { name: $kind, layout, ops, sizes: [m, n, k], alpha, a, lda, b, ldb, beta, c, ldc }.run() }
        }
    )*};
}

entry_points! {
    /// C = alpha\*op(A)\*op(B) + beta\*C, with integers of 32 bits.
    cblas_sgemm, i32, Name::Plain;
    /// The same under SciPy's name.
    scipy_cblas_sgemm, i32, Name::Scipy;
    /// The same with integers of 64 bits, under OpenBLAS's name.
    cblas_sgemm64_, i64, Name::Plain64;
    /// The same under the reference's and MKL's name.
    cblas_sgemm_64, i64, Name::Plain64;
    /// The same under SciPy's name.
    scipy_cblas_sgemm64_, i64, Name::Scipy64;
}

#[cfg(test)]
mod tests {
    use std::ptr;

    use super::*;

    #[test]
    fn arguments_are_numbered_as_the_caller_has_them() {
        let arguments = |layout, sizes| Arguments {
            name: Name::Plain,
            layout,
            ops: [111, 112],
            sizes,
            alpha: 1.0,
            a: ptr::null(),
            lda: 100,
            b: ptr::null(),
            ldb: 1,
            beta: 0.0,
            c: ptr::null_mut(),
            ldc: 100,
        };
        let number = |layout, sizes| {
            let (call, is_turned) = arguments(layout, sizes).call().unwrap();
            call.fault().map(|number| of_cblas(number, is_turned))
        };
        for layout in [ROW_MAJOR, COLUMN_MAJOR] {
            assert_eq!(number(layout, [-1, 1, 1]), Some(4));
            assert_eq!(number(layout, [1, -1, 1]), Some(5));
            assert_eq!(number(layout, [1, 1, -1]), Some(6));
            assert_eq!(number(layout, [2, 2, 2]), Some(11), "{layout}");
        }
        let illegal = arguments(100, [1; 3]).call().unwrap_err();
        assert_eq!((illegal.argument, illegal.value), (1, 100));
    }
}
