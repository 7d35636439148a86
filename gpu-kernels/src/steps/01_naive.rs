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
//! Adjacent threads compute adjacent rows, uncoalesced on purpose: a warp's load of A touches 32 rows, hence 32 sectors for 128
//! bytes. Its load of B is one value for all lanes. Its store of C is 32 sectors again.
//!
//! Source: the worklog's kernel 1 and the tutorial's kernel 1.

use crate::{Step, Tile};

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

/// What runs on the device.
#[cfg(feature = "device")]
pub mod kernel {
    use super::*;
    use crate::gemm::{Gemm, gemm_kernel};
    use cuda_std::prelude::*;

    gemm_kernel! { sgemm_naive, launch_bounds(BM * BN), sgemm }

    /// One block tile: C = alpha*A*B + beta*C.
    ///
    /// # Safety
    /// As the kernel's.
    #[inline(always)]
    unsafe fn sgemm(g: Gemm) {
        // tile coordinates: adjacent threads in adjacent rows
        let row = thread::block_idx_y() * BM + thread::thread_idx_x();
        let col = thread::block_idx_x() * BN + thread::thread_idx_y();
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
