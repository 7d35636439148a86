//! 1d-tiling: TM results per thread, the value of B kept in a register.
//!
//! ```text
//!   a_smem (BM, BK)      b_smem (BK, BN)        C (BM, BN)
//!     ┌──────┐            ┌───────────┐        ┌───────────┐
//!     │      │            │     █     │ ← d    │     ┃     │
//!     │  █   │            └───────────┘        │     ┃ TM  │  a thread: TM rows of one column
//!     │  █ TM│                                 │     ┃     │
//!     └──────┘                                 └───────────┘
//!        ↑ d
//! ```
//!
//! Changed since smem-tiling: a thread computes TM elements of a column. For each d it reads one value of B and TM of A
//! from shared memory for TM FMAs: 1.125 values loaded per FMA instead of 2. The slices become thin, BK = 8, and C's tile
//! large.
//!
//! Source: the worklog's kernel 4, which found 2.9 times its kernel 3; the tutorial's kernel 3.

use crate::gemm::Gemm;
use crate::{Step, Tile};
use cuda_std::prelude::*;

const BM: u32 = 64;
const BN: u32 = 64;
const BK: u32 = 8;
const TM: u32 = 8;
const THREADS: u32 = BM / TM * BN;
const _: () = assert!(THREADS == BM * BK && THREADS == BK * BN, "each thread copies one element of A and one of B");

/// This step's entry in the registry.
pub const STEP: Step = Step {
    slug: "1d-tiling",
    kernel: "sgemm_tiling_1d",
    base: Some("smem-tiling"),
    summary: "TM results per thread, the value of B kept in a register",
    source: "S. Boehm, CUDA matmul worklog (2022), kernel 4; C. Nugteren, OpenCL SGEMM tutorial (2014), kernel 3",
    tile: Tile { bm: BM, bn: BN, bk: BK, tm: TM, tn: 1 },
    block: [THREADS, 1, 1],
    smem_bytes: (BM * BK + BK * BN) * 4,
    ..Step::PLAIN
};

#[address_space(shared)]
static mut A_SMEM: MaybeUninit<[f32; (BM * BK) as usize]> = MaybeUninit::uninit();
#[address_space(shared)]
static mut B_SMEM: MaybeUninit<[f32; (BK * BN) as usize]> = MaybeUninit::uninit();

/// C = alpha*A*B + beta*C: [`crate::KERNEL_ARGUMENTS`].
///
/// # Safety
/// `a`, `b` and `c` are device buffers of m x k, k x n and m x n with those leading dimensions; launched as [`STEP`] says.
#[kernel]
#[launch_bounds(THREADS, 4)] // four blocks of 16 warps fill a multiprocessor: 32 registers a thread
pub unsafe fn sgemm_tiling_1d(
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
    // SAFETY: the grid covers C, so the block starts inside it, and what `accumulate` does not guard is inside A and B.
    unsafe {
        // Placement.
        let g = Gemm::new(m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
            .block_at(thread::block_idx_y() * BM, thread::block_idx_x() * BN);
        let inside = if g.m >= BM && g.n >= BN { g.k - g.k % BK } else { 0 };

        let mut acc = [0.0f32; TM as usize];
        accumulate::<false>(&g, 0, inside, &mut acc);
        accumulate::<true>(&g, inside, g.k, &mut acc);

        // Store.
        let (thread_row, thread_col) = (thread::thread_idx_x() / BN * TM, thread::thread_idx_x() % BN);
        for i in 0..TM {
            g.store(thread_row + i, thread_col, acc[i as usize]);
        }
    }
}

/// Adds the products of columns `from..to` of A and rows `from..to` of B. On an EDGE, zeros stand for what lies outside.
///
/// # Safety
/// Every thread of the block calls it. Without EDGE, the block's BM rows of A, BN columns of B and `to` are inside.
#[inline(always)]
unsafe fn accumulate<const EDGE: bool>(g: &Gemm, from: u32, to: u32, acc: &mut [f32; TM as usize]) {
    let tid = thread::thread_idx_x();
    let (a_row, a_col) = (tid / BK, tid % BK);
    let (b_row, b_col) = (tid / BN, tid % BN);
    let (thread_row, thread_col) = (tid / BN * TM, tid % BN);

    // Shared memory.
    let a_smem = (&raw mut A_SMEM).cast::<f32>(); // (BM, BK)
    let b_smem = (&raw mut B_SMEM).cast::<f32>(); // (BK, BN)

    let a_gmem = g.a(a_row, a_col);
    let mut b_gmem = g.b(from + b_row, b_col);
    let mut p = from;
    while p < to {
        // SAFETY: inside A and B by the caller's promise, or guarded; tid is below BM * BK = BK * BN, a thread's rows
        // below BM and its column below BN.
        unsafe {
            // Load.
            let a = if !EDGE || a_row < g.m && p + a_col < g.k { *a_gmem.wrapping_add(p as usize) } else { 0.0 };
            let b = if !EDGE || p + b_row < g.k && b_col < g.n { *b_gmem } else { 0.0 };
            *a_smem.add(tid as usize) = a;
            *b_smem.add(tid as usize) = b;
            thread::sync_threads(); // the slices are complete

            // Compute.
            let a_rows = a_smem.add((thread_row * BK) as usize); // (TM, BK)
            let b_cols = b_smem.add(thread_col as usize); // (BK, 1)
            for d in 0..BK as usize {
                let b = *b_cols.add(d * BN as usize);
                for (i, acc) in acc.iter_mut().enumerate() {
                    *acc = (*a_rows.add(i * BK as usize + d)).mul_add(b, *acc);
                }
            }
            thread::sync_threads(); // the slices are free for the next ones
        }
        b_gmem = b_gmem.wrapping_add(BK as usize * g.ldb);
        p += BK;
    }
}
