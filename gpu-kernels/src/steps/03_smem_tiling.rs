//! smem-tiling: a square chunk of A and B in shared memory.
//!
//! ```text
//!          k                n
//!     ┌─────────┐      ┌──┬───┬──┐      ┌─────────┐
//!   m ├──┬──┬───┤  ×   ├──┼───┼──┤  =   │  ┌───┐  │
//!     │ →│BK│→  │    k │ ↓│BK │↓ │    m │  │ C │  │   a block: BM x BN of C
//!     ├──┴──┴───┤      ├──┼───┼──┤      │  └───┘  │
//!     └─────────┘      └──┴───┴──┘      └─────────┘
//! ```
//!
//! Changed since coalesced: the block walks along k in slices of BK. Every thread copies one element of A and one of B
//! to shared memory, and the block reads each of them BN or BM times from there, so global traffic falls by 32.
//!
//! Source: the worklog's kernel 3 (half as fast again as its kernel 2, since the L1 cache had caught much of it already);
//! the tutorial's kernel 2.

use crate::gemm::Gemm;
use crate::{Step, Tile};
use cuda_std::prelude::*;

const BM: u32 = 32;
const BN: u32 = 32;
const BK: u32 = 32;
const THREADS: u32 = BM * BN;
const _: () = assert!(BM == BK && BN == BK, "each thread copies one element of A and one of B");

/// This step's entry in the registry.
pub const STEP: Step = Step {
    slug: "smem-tiling",
    kernel: "sgemm_smem_tiling",
    base: Some("coalesced"),
    summary: "a square chunk of A and B in shared memory",
    source: "S. Boehm, CUDA matmul worklog (2022), kernel 3; C. Nugteren, OpenCL SGEMM tutorial (2014), kernel 2",
    tile: Tile { bm: BM, bn: BN, bk: BK, tm: 1, tn: 1 },
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
#[launch_bounds(THREADS, 2)] // two blocks of 32 warps fill a multiprocessor: 32 registers a thread
pub unsafe fn sgemm_smem_tiling(
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

        let mut acc = 0.0f32;
        accumulate::<false>(&g, 0, inside, &mut acc);
        accumulate::<true>(&g, inside, g.k, &mut acc);

        // Store.
        let (row, col) = (thread::thread_idx_x() / BN, thread::thread_idx_x() % BN);
        g.store(row, col, acc);
    }
}

/// Adds the products of columns `from..to` of A and rows `from..to` of B. On an EDGE, zeros stand for what lies outside.
///
/// # Safety
/// Every thread of the block calls it. Without EDGE, the block's BM rows of A, BN columns of B and `to` are inside.
#[inline(always)]
unsafe fn accumulate<const EDGE: bool>(g: &Gemm, from: u32, to: u32, acc: &mut f32) {
    // Shared memory.
    let a_smem = (&raw mut A_SMEM).cast::<f32>(); // (BM, BK)
    let b_smem = (&raw mut B_SMEM).cast::<f32>(); // (BK, BN)

    let (row, col) = (thread::thread_idx_x() / BN, thread::thread_idx_x() % BN);
    let mut a_gmem = g.a(row, from + col);
    let mut b_gmem = g.b(from + row, col);
    let mut p = from;
    while p < to {
        // SAFETY: inside A and B by the caller's promise, or guarded; row, col and d are below BM = BN = BK.
        unsafe {
            // Load.
            let a = if !EDGE || row < g.m && p + col < g.k { *a_gmem } else { 0.0 };
            let b = if !EDGE || p + row < g.k && col < g.n { *b_gmem } else { 0.0 };
            *a_smem.add((row * BK + col) as usize) = a;
            *b_smem.add((row * BN + col) as usize) = b;
            thread::sync_threads(); // the slices are complete

            // Compute.
            let a_row = a_smem.add((row * BK) as usize); // (1, BK)
            let b_col = b_smem.add(col as usize); // (BK, 1)
            for d in 0..BK as usize {
                *acc = (*a_row.add(d)).mul_add(*b_col.add(d * BN as usize), *acc);
            }
            thread::sync_threads(); // the slices are free for the next ones
        }
        a_gmem = a_gmem.wrapping_add(BK as usize);
        b_gmem = b_gmem.wrapping_add(BK as usize * g.ldb);
        p += BK;
    }
}
