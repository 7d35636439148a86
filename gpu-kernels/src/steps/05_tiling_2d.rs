//! 2d-tiling: TM x TN results per thread, an outer product in registers.
//!
//! ```text
//!   a_smem (BM, BK)      b_smem (BK, BN)        C (BM, BN)
//!     ┌──────┐            ┌───────────┐        ┌───────────┐
//!     │      │            │   █████   │ ← d    │   ┏━━━┓   │
//!     │  █   │            └────TN─────┘        │   ┃TM ┃   │  a thread: TM x TN
//!     │  █ TM│                                 │   ┗━━━┛TN │
//!     └──────┘                                 └───────────┘
//!        ↑ d
//! ```
//!
//! Changed since 1d-tiling: a thread computes a square. For each d it reads TM values of A and TN of B into registers and
//! does TM x TN FMAs: 0.25 loads per FMA instead of 1.125. Fewer threads copy larger slices, several elements each.
//!
//! Source: the worklog's kernel 5, which found 1.9 times its kernel 4; the tutorial's kernel 6.

use crate::gemm::Gemm;
use crate::{Precision, Step, Target, Tile};
use cuda_std::prelude::*;

const BM: u32 = 128;
const BN: u32 = 128;
const BK: u32 = 8;
const TM: u32 = 8;
const TN: u32 = 8;
const THREADS: u32 = (BM / TM) * (BN / TN);
/// Rows of A that the block copies at once, and rows of B.
const A_ROWS: u32 = THREADS / BK;
const B_ROWS: u32 = THREADS / BN;
const _: () = assert!(BM.is_multiple_of(A_ROWS) && BK.is_multiple_of(B_ROWS), "the copies come out even");

/// This step's entry in the registry.
pub const STEP: Step = Step {
    slug: "2d-tiling",
    kernel: "sgemm_tiling_2d",
    base: Some("1d-tiling"),
    summary: "TM x TN results per thread, an outer product in registers",
    source: "S. Boehm, CUDA matmul worklog (2022), kernel 5; C. Nugteren, OpenCL SGEMM tutorial (2014), kernel 6",
    precision: Precision::Fp32,
    target: Target::Sm80,
    tile: Tile { bm: BM, bn: BN, bk: BK, tm: TM, tn: TN },
    block: [THREADS, 1, 1],
    smem_bytes: (BM * BK + BK * BN) * 4,
    dynamic_smem_bytes: 0,
    vector_loads: false,
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
#[launch_bounds(THREADS, 2)]
pub unsafe fn sgemm_tiling_2d(
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
            .from(thread::block_idx_y() * BM, thread::block_idx_x() * BN);
        let inside = if g.m >= BM && g.n >= BN { g.k - g.k % BK } else { 0 };

        let mut acc = [[0.0f32; TN as usize]; TM as usize];
        accumulate::<false>(&g, 0, inside, &mut acc);
        accumulate::<true>(&g, inside, g.k, &mut acc);

        // Store.
        let (thread_row, thread_col) = placement();
        for i in 0..TM {
            for j in 0..TN {
                g.store(thread_row + i, thread_col + j, acc[i as usize][j as usize]);
            }
        }
    }
}

/// The first row and column of this thread's TM x TN, in the block's BM x BN.
#[inline(always)]
fn placement() -> (u32, u32) {
    let tid = thread::thread_idx_x();
    (tid / (BN / TN) * TM, tid % (BN / TN) * TN)
}

/// Adds the products of columns `from..to` of A and rows `from..to` of B. On an EDGE, zeros stand for what lies outside.
///
/// # Safety
/// Every thread of the block calls it. Without EDGE, the block's BM rows of A, BN columns of B and `to` are inside.
#[inline(always)]
unsafe fn accumulate<const EDGE: bool>(g: &Gemm, from: u32, to: u32, acc: &mut [[f32; TN as usize]; TM as usize]) {
    let tid = thread::thread_idx_x();
    let (thread_row, thread_col) = placement();

    // Shared memory.
    let a_smem = (&raw mut A_SMEM).cast::<f32>(); // (BM, BK)
    let b_smem = (&raw mut B_SMEM).cast::<f32>(); // (BK, BN)

    let mut p = from;
    while p < to {
        // SAFETY: inside A and B by the caller's promise, or guarded; tid + i * THREADS is below BM * BK and BK * BN, a
        // thread's rows are below BM and its columns below BN.
        unsafe {
            // Load.
            for i in 0..BM / A_ROWS {
                let (row, col) = (tid / BK + i * A_ROWS, p + tid % BK);
                let a = if !EDGE || row < g.m && col < g.k { *g.a(row, col) } else { 0.0 };
                *a_smem.add((tid + i * THREADS) as usize) = a;
            }
            for i in 0..BK / B_ROWS {
                let (row, col) = (p + tid / BN + i * B_ROWS, tid % BN);
                let b = if !EDGE || row < g.k && col < g.n { *g.b(row, col) } else { 0.0 };
                *b_smem.add((tid + i * THREADS) as usize) = b;
            }
            thread::sync_threads(); // the slices are complete

            // Compute.
            let a_rows = a_smem.add((thread_row * BK) as usize); // (TM, BK)
            let b_cols = b_smem.add(thread_col as usize); // (BK, TN)
            for d in 0..BK as usize {
                let a_frag: [f32; TM as usize] = core::array::from_fn(|i| *a_rows.add(i * BK as usize + d));
                let b_frag: [f32; TN as usize] = core::array::from_fn(|j| *b_cols.add(d * BN as usize + j));
                for i in 0..TM as usize {
                    for j in 0..TN as usize {
                        acc[i][j] = a_frag[i].mul_add(b_frag[j], acc[i][j]);
                    }
                }
            }
            thread::sync_threads(); // the slices are free for the next ones
        }
        p += BK;
    }
}
