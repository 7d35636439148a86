//! What BLAS fixes and no step changes: the operands, alpha and beta, and how a kernel is declared.

use cuda_std::GpuFloat;

/// Declares a kernel: its eleven arguments, what it takes beside them, and its launch bounds. `$body` is a function that gets the
/// operands as a [`Gemm`], then the other arguments.
///
/// ```ignore
/// gemm_kernel! { sgemm_naive, launch_bounds(THREADS), naive }
/// ```
macro_rules! gemm_kernel {
    ($kernel:ident, launch_bounds($($bound:expr),+), $body:expr $(, $extra:ident: $type:ty)*) => {
        $crate::gemm::entry_point! {
            [] $kernel, [$($bound),+], f32 => f32,
            [$($extra: $type),*],
            $crate::ptx::griddepcontrol::wait_then_launch_dependents(), $body, [$($extra),*]
        }
    };
}
pub(crate) use gemm_kernel;

/// Declares an entry point, of that name or with that suffix: its launch bounds, its element types, its parameters after the eleven,
/// what it does before its body, which may be to wait for the launch before it, and what its body gets after the operands.
macro_rules! entry_point {
    (
        [$($suffix:ident)?] $kernel:ident, [$($bound:expr),+], $input:ty => $output:ty,
        [$($extra:ident: $type:ty),*], $begin:expr, $body:expr, [$($argument:expr),*]
    ) => {
        /// C = alpha*A*B + beta*C, or of that, what the epilogue makes: [`Step::arguments`](crate::Step::arguments) of its step.
        ///
        /// # Safety
        /// `a`, `b` and `c` are device buffers of m x k, k x n and m x n with those leading dimensions (of k x m, where a
        /// pre-pass transposes A); tensor maps are of `a` and `b`, or of their hi/lo split; a bias has m or n elements; launched as
        /// the step says.
        #[cuda_std::kernel($($suffix)?)]
        #[launch_bounds($($bound),+)]
        pub unsafe fn $kernel(
            m: u32,
            n: u32,
            k: u32,
            alpha: f32,
            a: *const $input,
            lda: u32,
            b: *const $input,
            ldb: u32,
            beta: f32,
            c: *mut $output,
            ldc: u32
            $(, $extra: $type)*
        ) {
            $begin;
            let g = $crate::gemm::Gemm::new(m, n, k, alpha, a.cast(), lda, b.cast(), ldb, beta, c.cast(), ldc);
            // SAFETY: upheld by the caller (see `# Safety`).
            unsafe { ($body)(g $(, $argument)*) }
        }
    };
}
pub(crate) use entry_point;

/// The operands of a launch, or of one block of it: C = alpha*A*B + beta*C.
#[derive(Clone, Copy)]
pub(crate) struct Gemm {
    /// Rows of A and C.
    pub m: u32,
    /// Columns of B and C.
    pub n: u32,
    /// Columns of A, rows of B.
    pub k: u32,
    pub alpha: f32,
    /// (m, k), row-major
    pub a: *const f32,
    pub lda: usize,
    /// (k, n), row-major
    pub b: *const f32,
    pub ldb: usize,
    pub beta: f32,
    /// (m, n), row-major
    pub c: *mut f32,
    pub ldc: usize,
}

impl Gemm {
    /// The operands from a kernel's arguments. If alpha is 0, k is too: BLAS then reads neither A nor B.
    #[allow(clippy::too_many_arguments)]
    #[inline(always)]
    pub fn new(
        m: u32,
        n: u32,
        k: u32,
        alpha: f32,
        a: *const f32,
        lda: u32,
        b: *const f32,
        ldb: u32,
        beta: f32,
        c: *mut f32,
        ldc: u32,
    ) -> Self {
        let k = if alpha == 0.0 { 0 } else { k };
        Self { m, n, k, alpha, a, lda: lda as usize, b, ldb: ldb as usize, beta, c, ldc: ldc as usize }
    }

    /// The problem from (`row`, `col`) of C on, as a block sees it whose tile starts there.
    ///
    /// # Safety
    /// `row < m` and `col < n`.
    #[inline(always)]
    pub unsafe fn block_at(self, row: u32, col: u32) -> Self {
        // SAFETY: row and col are in bounds of A, B and C, upheld by the caller.
        unsafe {
            Self {
                m: self.m - row,
                n: self.n - col,
                a: self.a.add(row as usize * self.lda),
                b: self.b.add(col as usize),
                c: self.c.add(row as usize * self.ldc + col as usize),
                ..self
            }
        }
    }

    /// As [`block_at`](Self::block_at), where `a` is A transposed: (k, m).
    ///
    /// # Safety
    /// `row < m` and `col < n`.
    #[inline(always)]
    pub unsafe fn block_at_transposed(self, row: u32, col: u32) -> Self {
        // SAFETY: row and col are in bounds of C and B, and row is a column of the transposed A, upheld by the caller.
        unsafe {
            let block = Self { lda: 0, ..self }.block_at(row, col);
            Self { a: self.a.add(row as usize), lda: self.lda, ..block }
        }
    }

    /// The address of A[row][col], which may be out of bounds; an access may not.
    #[inline(always)]
    pub fn a(&self, row: u32, col: u32) -> *const f32 {
        self.a.wrapping_add(row as usize * self.lda + col as usize)
    }

    /// The address of B[row][col], which may be out of bounds; an access may not.
    #[inline(always)]
    pub fn b(&self, row: u32, col: u32) -> *const f32 {
        self.b.wrapping_add(row as usize * self.ldb + col as usize)
    }

    /// The address of C[row][col], which may be out of bounds; an access may not.
    #[inline(always)]
    pub fn c(&self, row: u32, col: u32) -> *mut f32 {
        self.c.wrapping_add(row as usize * self.ldc + col as usize)
    }

    /// [`axpby`] with alpha and beta.
    #[inline(always)]
    pub fn axpby(&self, acc: f32, old: f32) -> f32 {
        axpby(self.alpha, self.beta, acc, old)
    }

    /// C[row][col] = alpha*acc + beta*C[row][col], where C is not loaded if beta is 0; out of bounds, nothing.
    ///
    /// # Safety
    /// `c` is (m, n) with `ldc`, and no other thread touches the element.
    #[inline(always)]
    pub unsafe fn store(&self, row: u32, col: u32, acc: f32) {
        if row < self.m && col < self.n {
            // SAFETY: in bounds of C, just checked.
            unsafe {
                let c = self.c(row, col);
                let old = if self.beta == 0.0 { 0.0 } else { *c };
                *c = self.axpby(acc, old);
            }
        }
    }
}

/// The epilogue operation: alpha*acc + beta*old. If beta is 0, `old` does not matter, not even a NaN.
#[inline(always)]
pub(crate) fn axpby(alpha: f32, beta: f32, acc: f32, old: f32) -> f32 {
    if beta == 0.0 { alpha * acc } else { GpuFloat::mul_add(beta, old, alpha * acc) }
}
