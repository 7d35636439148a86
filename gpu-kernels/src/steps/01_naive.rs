//! naive: one thread per element of C.
//!
//! ```text
//!          k                n              a warp: 32 threads down a column of C
//!     ┌─────────┐      ┌────█────┐      ┌────█────┐
//!   m █████████ │  ×   │    █    │  =   │    █    │
//!     │         │    k │    █    │    m │    █    │
//!     └─────────┘      └─────────┘      └─────────┘
//! ```
//!
//! Neighbouring threads take neighbouring rows, on purpose: each load of A by a warp touches 32 rows, so 32 sectors, for
//! 128 bytes; each load of B is one value for the whole warp; each store of C is 32 sectors again.
//!
//! Source: the worklog's kernel 1 and the tutorial's kernel 1, both of which start from this.

use crate::gemm::Gemm;
use crate::{Step, Tile};
use cuda_std::prelude::*;

const BM: u32 = 32;
const BN: u32 = 32;

/// This step's entry in the registry.
pub const STEP: Step = Step {
    slug: "naive",
    kernel: "sgemm_naive",
    base: None,
    summary: "one thread per element of C, uncoalesced on purpose",
    source: "S. Boehm, CUDA matmul worklog (2022), kernel 1; C. Nugteren, OpenCL SGEMM tutorial (2014), kernel 1",
    tile: Tile { bm: BM, bn: BN, bk: 1, tm: 1, tn: 1 },
    block: [BM, BN, 1],
    ..Step::PLAIN
};

/// C = alpha*A*B + beta*C: [`crate::KERNEL_ARGUMENTS`].
///
/// # Safety
/// `a`, `b` and `c` are device buffers of m x k, k x n and m x n with those leading dimensions; launched as [`STEP`] says.
#[kernel]
#[launch_bounds(BM * BN)]
pub unsafe fn sgemm_naive(
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
) {
    let g = Gemm::new(m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);

    // Placement: neighbouring threads in neighbouring rows.
    let row = thread::block_idx_y() * BM + thread::thread_idx_x();
    let col = thread::block_idx_x() * BN + thread::thread_idx_y();
    if row >= g.m || col >= g.n {
        return;
    }

    // SAFETY: row < m and col < n, and the pointers are read k times: A's along its row, B's down its column.
    unsafe {
        let (mut a, mut b) = (g.a(row, 0), g.b(0, col));
        let mut acc = 0.0f32;
        for _ in 0..g.k {
            acc = (*a).mul_add(*b, acc);
            (a, b) = (a.wrapping_add(1), b.wrapping_add(g.ldb));
        }
        g.store(row, col, acc);
    }
}
