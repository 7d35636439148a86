//! coalesced: adjacent threads along a row of C.
//!
//! ```text
//!          k                n              a warp: 32 threads along a row of C
//!     ┌─────────┐      ┌──██████─┐      ┌─────────┐
//!   m █████████ │  ×   │  ██████ │  =   │  ██████ │
//!     │         │    k │  ██████ │    m │         │
//!     └─────────┘      └──██████─┘      └─────────┘
//! ```
//!
//! Changed since naive: the coordinates. A warp's load of B is 32 adjacent values, four sectors. Its load of A is one value for
//! all lanes. Its store of C is four sectors instead of 32.
//!
//! Source: the worklog's kernel 2, 6.5 times its kernel 1.

use crate::{Step, Tile};

const BM: u32 = 32;
const BN: u32 = 32;
const THREADS: u32 = BM * BN;

/// This step's entry in the registry.
pub const STEP: Step = Step {
    slug: "coalesced",
    kernel: "sgemm_coalesced",
    base: Some("naive"),
    summary: "global memory coalescing: a warp's threads along a row of C",
    source: "S. Boehm, CUDA matmul worklog (2022), kernel 2",
    tile: Tile { bm: BM, bn: BN, bk: 1, tm: 1, tn: 1 },
    block: [THREADS, 1, 1],
    ..Step::PLAIN
};

/// What runs on the device.
#[cfg(feature = "device")]
pub mod kernel {
    use super::*;
    use crate::gemm::{Gemm, gemm_kernel};
    use cuda_std::prelude::*;

    gemm_kernel! { sgemm_coalesced, launch_bounds(THREADS), sgemm }

    /// One block tile: C = alpha*A*B + beta*C.
    ///
    /// # Safety
    /// As the kernel's.
    #[inline(always)]
    unsafe fn sgemm(g: Gemm) {
        // tile coordinates: adjacent threads in adjacent columns
        let row = thread::block_idx_y() * BM + thread::thread_idx_x() / BN;
        let col = thread::block_idx_x() * BN + thread::thread_idx_x() % BN;
        if row >= g.m || col >= g.n {
            return;
        }

        // SAFETY: row < m and col < n; the loop reads k elements of a row of A and of a column of B.
        unsafe {
            // mainloop
            let (mut a, mut b) = (g.a(row, 0), g.b(0, col));
            let mut acc = 0.0f32;
            for _ in 0..g.k {
                acc = (*a).mul_add(*b, acc);
                (a, b) = (a.wrapping_add(1), b.wrapping_add(g.ldb));
            }

            // epilogue
            g.store(row, col, acc);
        }
    }
}
