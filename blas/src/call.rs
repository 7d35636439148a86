//! A call of SGEMM: its arguments, and what is wrong with them.

use std::ffi::CStr;

/// op of BLAS. The conjugate of a real matrix is itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Op {
    /// The matrix.
    N,
    /// Its transpose.
    T,
}

impl Op {
    /// By BLAS's letter, in either case.
    pub const fn of_letter(letter: u8) -> Option<Self> {
        match letter {
            b'N' | b'n' => Some(Self::N),
            b'T' | b't' | b'C' | b'c' => Some(Self::T),
            _ => None,
        }
    }

    /// By CBLAS's number.
    pub const fn of_number(number: i32) -> Option<Self> {
        match number {
            111 => Some(Self::N),
            112 | 113 => Some(Self::T),
            _ => None,
        }
    }

    /// The letter.
    pub const fn letter(self) -> u8 {
        match self {
            Self::N => b'N',
            Self::T => b'T',
        }
    }
}

/// Under which name BLAS's function is called: each has its type of integers, and is a library's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Name {
    /// `sgemm_` and `cblas_sgemm`.
    Plain,
    /// `sgemm_64_`, `cblas_sgemm64_` and `cblas_sgemm_64`.
    Plain64,
    /// Those that SciPy's packages prefix.
    Scipy,
    /// The same with integers of 64 bits.
    Scipy64,
}

impl Name {
    /// Fortran's function of that kind.
    pub const fn fortran(self) -> &'static CStr {
        match self {
            Self::Plain => c"sgemm_",
            Self::Plain64 => c"sgemm_64_",
            Self::Scipy => c"scipy_sgemm_",
            Self::Scipy64 => c"scipy_sgemm_64_",
        }
    }

    /// Whether its integers have 64 bits.
    pub const fn is_wide(self) -> bool {
        matches!(self, Self::Plain64 | Self::Scipy64)
    }
}

/// C = alpha\*op(A)\*op(B) + beta\*C, all by columns, as BLAS has it. Sizes may be negative: [`Self::fault`] says so.
#[derive(Debug, Clone, Copy)]
pub struct Call {
    pub name: Name,
    pub ops: [Op; 2],
    pub m: i64,
    pub n: i64,
    pub k: i64,
    pub alpha: f32,
    pub a: *const f32,
    pub lda: i64,
    pub b: *const f32,
    pub ldb: i64,
    pub beta: f32,
    pub c: *mut f32,
    pub ldc: i64,
}

// SAFETY: the matrices are the caller's to lend, to any thread, until the call returns.
unsafe impl Sync for Call {}

impl Call {
    /// The number of the first argument that is wrong, counted from 1 as `sgemm_` counts them.
    pub fn fault(&self) -> Option<i32> {
        let Self { ops, m, n, k, lda, ldb, ldc, .. } = *self;
        let rows_a = if ops[0] == Op::N { m } else { k };
        let rows_b = if ops[1] == Op::N { k } else { n };
        let checks = [
            (m < 0, 3),
            (n < 0, 4),
            (k < 0, 5),
            (lda < rows_a.max(1), 8),
            (ldb < rows_b.max(1), 10),
            (ldc < m.max(1), 13),
        ];
        checks.into_iter().find(|(is_wrong, _)| *is_wrong).map(|(_, number)| number)
    }

    /// Whether C stays as it is.
    pub fn is_nothing(&self) -> bool {
        let reads_nothing = self.alpha == 0.0 || self.k == 0;
        #[expect(clippy::float_cmp, reason = "as BLAS compares")]
        let keeps_c = self.beta == 1.0;
        self.m == 0 || self.n == 0 || reads_nothing && keeps_c
    }

    /// Floating-point operations.
    pub fn flops(&self) -> f64 {
        2.0 * self.m as f64 * self.n as f64 * self.k as f64
    }

    /// Whether C is read.
    pub fn reads_c(&self) -> bool {
        self.beta != 0.0
    }
}

#[cfg(test)]
mod tests {
    use std::ptr;

    use super::*;

    #[test]
    fn the_first_wrong_argument_is_found() {
        let good = Call {
            name: Name::Plain,
            ops: [Op::N, Op::T],
            m: 3,
            n: 4,
            k: 5,
            alpha: 1.0,
            a: ptr::null(),
            lda: 3,
            b: ptr::null(),
            ldb: 4,
            beta: 0.0,
            c: ptr::null_mut(),
            ldc: 3,
        };
        assert_eq!(good.fault(), None);
        assert_eq!(Call { m: -1, n: -1, ..good }.fault(), Some(3));
        assert_eq!(Call { n: -1, ldc: 0, ..good }.fault(), Some(4));
        assert_eq!(Call { k: -1, ..good }.fault(), Some(5));
        assert_eq!(Call { lda: 2, ..good }.fault(), Some(8));
        assert_eq!(Call { ldb: 3, ..good }.fault(), Some(10));
        assert_eq!(Call { ops: [Op::T; 2], ..good }.fault(), Some(8));
        assert_eq!(Call { m: 0, lda: 0, ..good }.fault(), Some(8));
        assert_eq!(Call { ldc: 2, ..good }.fault(), Some(13));
    }
}
