//! vectorized: A transposed in shared memory, 128-bit loads and stores.
//!
//! ```text
//!   a_smem (BK, BM)            b_smem (BK, BN)
//!     ┌───────────┐            ┌───────────┐
//!     │  ████████ │ ← d        │  ████████ │ ← d      TM and TN neighbours: two 128-bit loads each
//!     └────TM─────┘            └────TN─────┘
//! ```
//!
//! Changed since 2d-tiling: A's slice lies transposed in shared memory, so that a thread's TM values are neighbours as its
//! TN values of B are; fragments, the copies from global memory and the stores of C go four values at a time. (In the steps
//! before, the compiler already joins A's values along k, for four d at once; it cannot know that global rows are aligned.)
//! Where rows do not start at multiples of 16 bytes, or reach over an edge, the copy goes one value at a time.
//!
//! Source: the worklog's kernel 6 (1.26 times its kernel 5); the tutorial's kernels 4 and 7.

use crate::f32x4::{self, VEC};
use crate::gemm::Gemm;
use crate::{Step, Tile};
use cuda_std::prelude::*;

const BM: u32 = 128;
const BN: u32 = 128;
const BK: u32 = 8;
const TM: u32 = 8;
const TN: u32 = 8;
const THREADS: u32 = (BM / TM) * (BN / TN);
const _: () = assert!(THREADS * VEC == BM * BK && THREADS * VEC == BK * BN, "each thread copies VEC of A and of B");

/// This step's entry in the registry.
pub const STEP: Step = Step {
    slug: "vectorized",
    kernel: "sgemm_vectorized",
    base: Some("2d-tiling"),
    summary: "A transposed in shared memory, 128-bit loads and stores",
    source: "S. Boehm, CUDA matmul worklog (2022), kernel 6; C. Nugteren, OpenCL SGEMM tutorial (2014), kernels 4 and 7",
    tile: Tile { bm: BM, bn: BN, bk: BK, tm: TM, tn: TN },
    block: [THREADS, 1, 1],
    smem_bytes: (BM * BK + BK * BN) * 4,
    vector_loads: true,
    ..Step::PLAIN
};

#[address_space(shared)]
static mut A_SMEM: MaybeUninit<[f32; (BK * BM) as usize]> = MaybeUninit::uninit();
#[address_space(shared)]
static mut B_SMEM: MaybeUninit<[f32; (BK * BN) as usize]> = MaybeUninit::uninit();

/// C = alpha*A*B + beta*C: [`crate::KERNEL_ARGUMENTS`].
///
/// # Safety
/// `a`, `b` and `c` are device buffers of m x k, k x n and m x n with those leading dimensions; launched as [`STEP`] says.
#[kernel]
#[launch_bounds(THREADS, 2)] // 128 registers a thread, so that one block computes while the other waits
pub unsafe fn sgemm_vectorized(
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
        let aligned = f32x4::aligned(g.a, g.lda) && f32x4::aligned(g.b, g.ldb) && f32x4::aligned(g.c, g.ldc);
        let fits = g.m >= BM && g.n >= BN && aligned;
        let inside = if fits { g.k - g.k % BK } else { 0 };

        let mut acc = [[0.0f32; TN as usize]; TM as usize];
        accumulate::<false>(&g, 0, inside, &mut acc);
        accumulate::<true>(&g, inside, g.k, &mut acc);

        // Store.
        let (thread_row, thread_col) = placement();
        for i in 0..TM {
            for j in (0..TN).step_by(VEC as usize) {
                let (row, col) = (thread_row + i, thread_col + j);
                let sums: [f32; VEC as usize] = core::array::from_fn(|v| acc[i as usize][j as usize + v]);
                if fits {
                    let c = g.c(row, col); // (1, VEC)
                    let old = if g.beta == 0.0 { [0.0; VEC as usize] } else { f32x4::load(c) };
                    f32x4::store(c, core::array::from_fn(|v| g.blend(sums[v], old[v])));
                } else {
                    for v in 0..VEC {
                        g.store(row, col + v, sums[v as usize]);
                    }
                }
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
/// Every thread of the block calls it. Without EDGE, the block's BM rows of A, BN columns of B and `to` are inside, and
/// the rows of both are aligned to 16 bytes.
#[inline(always)]
unsafe fn accumulate<const EDGE: bool>(g: &Gemm, from: u32, to: u32, acc: &mut [[f32; TN as usize]; TM as usize]) {
    let tid = thread::thread_idx_x();
    let (a_row, a_col) = (tid / (BK / VEC), tid % (BK / VEC) * VEC);
    let (b_row, b_col) = (tid / (BN / VEC), tid % (BN / VEC) * VEC);
    let (thread_row, thread_col) = placement();

    // Shared memory.
    let a_smem = (&raw mut A_SMEM).cast::<f32>(); // (BK, BM)
    let b_smem = (&raw mut B_SMEM).cast::<f32>(); // (BK, BN)

    let mut a_gmem = g.a(a_row, from + a_col);
    let mut b_gmem = g.b(from + b_row, b_col);
    let mut p = from;
    while p < to {
        // SAFETY: inside A and B by the caller's promise, or guarded; a thread's VEC of A are below BM * BK, its VEC of B
        // below BK * BN, its rows below BM and its columns below BN.
        unsafe {
            // Load.
            let a = load::<EDGE>(a_gmem, a_row < g.m, g.k.saturating_sub(p + a_col));
            let b = load::<EDGE>(b_gmem, p + b_row < g.k, g.n.saturating_sub(b_col));
            for v in 0..VEC {
                *a_smem.add(((a_col + v) * BM + a_row) as usize) = a[v as usize];
            }
            f32x4::store(b_smem.add((b_row * BN + b_col) as usize), b);
            thread::sync_threads(); // the slices are complete

            // Compute.
            let a_rows = a_smem.add(thread_row as usize); // (BK, TM)
            let b_cols = b_smem.add(thread_col as usize); // (BK, TN)
            for d in 0..BK as usize {
                let a_frag: [f32; TM as usize] = fragment(a_rows.add(d * BM as usize));
                let b_frag: [f32; TN as usize] = fragment(b_cols.add(d * BN as usize));
                for i in 0..TM as usize {
                    for j in 0..TN as usize {
                        acc[i][j] = a_frag[i].mul_add(b_frag[j], acc[i][j]);
                    }
                }
            }
            thread::sync_threads(); // the slices are free for the next ones
        }
        a_gmem = a_gmem.wrapping_add(BK as usize);
        b_gmem = b_gmem.wrapping_add(BK as usize * g.ldb);
        p += BK;
    }
}

/// Loads VEC neighbours of a row. On an EDGE, zeros stand for those that lie outside: all of them if the row does, or
/// those from `left` on.
///
/// # Safety
/// What is not said to lie outside is inside the matrix. Without EDGE all of it is, at a multiple of 16 bytes.
#[inline(always)]
unsafe fn load<const EDGE: bool>(source: *const f32, row_inside: bool, left: u32) -> [f32; VEC as usize] {
    // SAFETY: inside the matrix and aligned by the caller's promise, or guarded.
    unsafe {
        if EDGE {
            core::array::from_fn(|v| if row_inside && (v as u32) < left { *source.add(v) } else { 0.0 })
        } else {
            f32x4::load(source)
        }
    }
}

/// Loads N neighbours from shared memory, VEC at a time.
///
/// # Safety
/// All N are inside the array, the first at a multiple of 16 bytes.
#[inline(always)]
unsafe fn fragment<const N: usize>(smem: *const f32) -> [f32; N] {
    let mut frag = [0.0; N];
    for (v, vector) in frag.as_chunks_mut().0.iter_mut().enumerate() {
        // SAFETY: N values from an address that is a multiple of 16 bytes, by the caller's promise.
        *vector = unsafe { f32x4::load(smem.add(v * VEC as usize)) };
    }
    frag
}
