//! `sgemm_`, as Fortran calls it: everything by pointer, letters without their lengths.

use std::ffi::c_char;

use crate::call::{Call, Name, Op};
use crate::{route, xerbla};

/// The arguments of `sgemm_`, by pointer.
struct Pointers<I> {
    ops: [*const c_char; 2],
    sizes: [*const I; 3],
    alpha: *const f32,
    a: *const f32,
    lda: *const I,
    b: *const f32,
    ldb: *const I,
    beta: *const f32,
    c: *mut f32,
    ldc: *const I,
}

impl<I: Copy + Into<i64>> Pointers<I> {
    /// # Safety
    /// As of [`sgemm_`].
    unsafe fn run(self, name: Name) {
        // SAFETY: upheld by the caller: each pointer is that of one value.
        let (call, ops) = unsafe {
            let ops = self.ops.map(|op| Op::of_letter(*op as u8));
            let [m, n, k] = self.sizes.map(|size| (*size).into());
            let [lda, ldb, ldc] = [self.lda, self.ldb, self.ldc].map(|ld| (*ld).into());
            let (alpha, beta) = (*self.alpha, *self.beta);
            let known = ops.map(|op| op.unwrap_or(Op::N));
            (Call { name, ops: known, m, n, k, alpha, a: self.a, lda, b: self.b, ldb, beta, c: self.c, ldc }, ops)
        };
        let unknown = (1..).zip(ops).find(|(_, op)| op.is_none()).map(|(number, _)| number);
        match unknown.or_else(|| call.fault()) {
            Some(number) => xerbla::fortran(number, name),
            // SAFETY: upheld by the caller; the arguments have no fault.
            None => unsafe { route::run(&call) },
        }
    }
}

/// Declares entry points with integers of a type.
macro_rules! entry_points {
    ($($(#[$doc:meta])* $name:ident, $integer:ty, $kind:expr;)*) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        /// Each pointer is that of one value, but those of A, B and C: at these are matrices by columns, of the sizes and leading dimensions
        /// that the arguments give; nothing else writes to them, or reads C, until the call returns. A and B need not be there where
        /// alpha or k is 0.
        #[unsafe(no_mangle)]
        #[allow(clippy::too_many_arguments, reason = "those of BLAS")]
        pub unsafe extern "C" fn $name(
            transa: *const c_char,
            transb: *const c_char,
            m: *const $integer,
            n: *const $integer,
            k: *const $integer,
            alpha: *const f32,
            a: *const f32,
            lda: *const $integer,
            b: *const f32,
            ldb: *const $integer,
            beta: *const f32,
            c: *mut f32,
            ldc: *const $integer,
        ) {
            let pointers = Pointers { ops: [transa, transb], sizes: [m, n, k], alpha, a, lda, b, ldb, beta, c, ldc };
            // SAFETY: upheld by the caller.
            unsafe { pointers.run($kind) }
        }
    )*};
}

entry_points! {
    /// C = alpha\*op(A)\*op(B) + beta\*C, with integers of 32 bits.
    sgemm_, i32, Name::Plain;
    /// The same under SciPy's name.
    scipy_sgemm_, i32, Name::Scipy;
    /// The same with integers of 64 bits.
    sgemm_64_, i64, Name::Plain64;
    /// The same under SciPy's name.
    scipy_sgemm_64_, i64, Name::Scipy64;
}
