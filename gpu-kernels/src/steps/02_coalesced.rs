//! coalesced: the threads of a warp along a row of C.
//!
//! ```text
//!          k                n              a warp: 32 threads along a row of C
//!     ┌─────────┐      ┌──██████─┐      ┌─────────┐
//!   m █████████ │  ×   │  ██████ │  =   │  ██████ │
//!     │         │    k │  ██████ │    m │         │
//!     └─────────┘      └──██████─┘      └─────────┘
//! ```
//!
//! Changed since naive: two lines. A warp's load of B is now 32 neighbours, four sectors instead of one value; its load
//! of A is one value for all; its store of C is four sectors instead of 32.
//!
//! Source: the worklog's kernel 2, which found 6.5 times its kernel 1.

use crate::gemm::Gemm;
use crate::{Step, Tile};
use cuda_std::prelude::*;

const BM: u32 = 32;
const BN: u32 = 32;
const THREADS: u32 = BM * BN;

/// This step's entry in the registry.
pub const STEP: Step = Step {
    slug: "coalesced",
    kernel: "sgemm_coalesced",
    base: Some("naive"),
    summary: "the threads of a warp along a row of C",
    source: "S. Boehm, CUDA matmul worklog (2022), kernel 2",
    tile: Tile { bm: BM, bn: BN, bk: 1, tm: 1, tn: 1 },
    block: [THREADS, 1, 1],
    ..Step::PLAIN
};

/// C = alpha*A*B + beta*C: [`crate::KERNEL_ARGUMENTS`].
///
/// # Safety
/// `a`, `b` and `c` are device buffers of m x k, k x n and m x n with those leading dimensions; launched as [`STEP`] says.
#[kernel]
#[launch_bounds(THREADS)]
pub unsafe fn sgemm_coalesced(
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

    // Placement: neighbouring threads in neighbouring columns.
    let row = thread::block_idx_y() * BM + thread::thread_idx_x() / BN;
    let col = thread::block_idx_x() * BN + thread::thread_idx_x() % BN;
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
