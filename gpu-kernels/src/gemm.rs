//! What BLAS fixes and no step changes: where the operands lie, and what alpha and beta mean.

use cuda_std::GpuFloat;

/// Makes a kernel with tensor maps, for A and B of `$input` and C of `$output`: `$run` sees the operands, and by their names
/// what the kernel takes beside them.
macro_rules! gemm_kernel {
    ($kernel:ident, $threads:expr, $blocks:literal, $input:ty => $output:ty, |$g:ident, $($extra:ident: $ty:ty),*| $run:expr) => {
        /// C = alpha*A*B + beta*C: [`Step::arguments`](crate::Step::arguments) of the step of this kernel.
        ///
        /// # Safety
        /// `a`, `b` and `c` are device buffers of m x k, k x n and m x n with those leading dimensions, the maps are of `a`
        /// and `b`, or of their parts; launched as the step says.
        #[kernel]
        #[launch_bounds($threads, $blocks)]
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
            ldc: u32,
            $($extra: $ty),*
        ) {
            // SAFETY: by the caller's promise.
            unsafe {
                let $g = $crate::gemm::Gemm::new(m, n, k, alpha, a.cast(), lda, b.cast(), ldb, beta, c.cast(), ldc);
                $run
            }
        }
    };
}
pub(crate) use gemm_kernel;

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

    /// The part of the problem from `row` and `col` of C on: what a block that starts there sees.
    ///
    /// # Safety
    /// `row < m` and `col < n`.
    #[inline(always)]
    pub unsafe fn block_at(self, row: u32, col: u32) -> Self {
        // SAFETY: row and col are inside A, B and C by the caller's promise.
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
        // SAFETY: row and col are inside C and B, and row is a column of the transposed A, by the caller's promise.
        unsafe {
            let block = Self { lda: 0, ..self }.block_at(row, col);
            Self { a: self.a.add(row as usize), lda: self.lda, ..block }
        }
    }

    /// The address of A[row][col], which may lie outside: it is the access that must not.
    #[inline(always)]
    pub fn a(&self, row: u32, col: u32) -> *const f32 {
        self.a.wrapping_add(row as usize * self.lda + col as usize)
    }

    /// The address of B[row][col], which may lie outside: it is the access that must not.
    #[inline(always)]
    pub fn b(&self, row: u32, col: u32) -> *const f32 {
        self.b.wrapping_add(row as usize * self.ldb + col as usize)
    }

    /// The address of C[row][col], which may lie outside: it is the access that must not.
    #[inline(always)]
    pub fn c(&self, row: u32, col: u32) -> *mut f32 {
        self.c.wrapping_add(row as usize * self.ldc + col as usize)
    }

    /// alpha*sum + beta*old; `old` does not matter if beta is 0, not even a NaN.
    #[inline(always)]
    pub fn blend(&self, sum: f32, old: f32) -> f32 {
        if self.beta == 0.0 { self.alpha * sum } else { GpuFloat::mul_add(self.beta, old, self.alpha * sum) }
    }

    /// C[row][col] = alpha*sum + beta*C[row][col], where C is not read if beta is 0. Nothing happens outside C.
    ///
    /// # Safety
    /// `c` is (m, n) with `ldc`, and no other thread touches the element.
    #[inline(always)]
    pub unsafe fn store(&self, row: u32, col: u32, sum: f32) {
        if row < self.m && col < self.n {
            // SAFETY: inside C, just checked.
            unsafe {
                let c = self.c(row, col);
                let old = if self.beta == 0.0 { 0.0 } else { *c };
                *c = self.blend(sum, old);
            }
        }
    }
}
