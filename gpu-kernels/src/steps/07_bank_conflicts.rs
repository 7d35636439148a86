//! bank-conflicts: padding and swizzle.
//!
//! ```text
//!   a_smem (BK, BM), padded            b_smem (BK, BN), swizzled: the pieces of 4 columns by their banks
//!     ┌───────────┬────┐                 bank  0   4   8  12  16  20  24  28
//!     │ row d     │    │                     │ 0 │ 1 │ 2 │ 3 │ 4 │ 5 │ 6 │ 7 │    lanes load 0 2 4 6 8 10 12 14 at once,
//!     ├────┐      ├────┤                     │ 9 │ 8 │11 │10 │13 │12 │15 │14 │    then 1 3 5 7 9 11 13 15
//!     │    │row d + 1  │
//!     └────┴───────────┘                wavefronts of a warp   vectorized   here
//!                                       store of A,  32 bits        2         1    padding
//!                                       store of B, 128 bits        4         4
//!                                       load of A, 128 bits         2         2
//!                                       load of B, 128 bits         8         2    swizzle: 4; lanes in pairs: 2
//! ```
//!
//! Changed since vectorized: no two lanes wait for one bank. Two threads copy one row of A, to rows of a_smem 4 apart,
//! which began in the same bank; padded, they begin 16 banks apart. Lanes load their TN columns of B 8 words apart, so that
//! every fourth one met the first; now the pieces in every other 32 columns change places. And two lanes stand one above
//! the other: where each neighbour wants the same 16 bytes, or each lane 2 apart, 16 lanes are served at once and not 8.
//!
//! Source: the worklog, which leaves this as "kernel 7: TBD" (its repository's two tries are slower than its kernel 6), and
//! the B200 notes, by which shared memory is best read without conflicts. Here it pays: three in five of the loads'
//! wavefronts were conflicts.

use crate::f32x4::{self, VEC};
use crate::gemm::Gemm;
use crate::{Step, Tile};
use cuda_std::prelude::*;

const BM: u32 = 128;
const BN: u32 = 128;
const BK: u32 = 8;
const TM: u32 = 8;
const TN: u32 = 8;
/// Floats from one row of A's slice to the next.
const A_PITCH: u32 = BM + VEC;
const THREADS: u32 = (BM / TM) * (BN / TN);
const _: () = assert!(THREADS * VEC == BM * BK && THREADS * VEC == BK * BN, "each thread copies VEC of A and of B");

/// This step's entry in the registry.
pub const STEP: Step = Step {
    slug: "bank-conflicts",
    kernel: "sgemm_bank_conflicts",
    base: Some("vectorized"),
    summary: "padding and swizzle: no two lanes wait for one bank of shared memory",
    source: "S. Boehm, CUDA matmul worklog (2022), kernel 7; B200 SGEMM notes, bank conflicts",
    tile: Tile { bm: BM, bn: BN, bk: BK, tm: TM, tn: TN },
    block: [THREADS, 1, 1],
    smem_bytes: (BK * A_PITCH + BK * BN) * 4,
    vector_loads: true,
    ..Step::PLAIN
};

#[address_space(shared)]
static mut A_SMEM: MaybeUninit<[f32; (BK * A_PITCH) as usize]> = MaybeUninit::uninit();
#[address_space(shared)]
static mut B_SMEM: MaybeUninit<[f32; (BK * BN) as usize]> = MaybeUninit::uninit();

/// C = alpha*A*B + beta*C: [`crate::KERNEL_ARGUMENTS`].
///
/// # Safety
/// `a`, `b` and `c` are device buffers of m x k, k x n and m x n with those leading dimensions; launched as [`STEP`] says.
#[kernel]
#[launch_bounds(THREADS, 2)] // 128 registers a thread, so that one block computes while the other waits
pub unsafe fn sgemm_bank_conflicts(
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

/// The first row and column of this thread's TM x TN, in the block's BM x BN. Two neighbouring lanes share their columns.
#[inline(always)]
fn placement() -> (u32, u32) {
    let tid = thread::thread_idx_x();
    (tid / (2 * BN / TN) * 2 * TM + tid % 2 * TM, tid / 2 % (BN / TN) * TN)
}

/// Where a column of B's slice lies in its row.
#[inline(always)]
fn swizzle(col: u32) -> u32 {
    col ^ (col / 32 % 2 * VEC)
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
    let a_smem = (&raw mut A_SMEM).cast::<f32>(); // (BK, A_PITCH)
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
                *a_smem.add(((a_col + v) * A_PITCH + a_row) as usize) = a[v as usize];
            }
            f32x4::store(b_smem.add((b_row * BN + swizzle(b_col)) as usize), b);
            thread::sync_threads(); // the slices are complete

            // Compute.
            for d in 0..BK {
                let a_frag: [f32; TM as usize] = fragment(|i| a_smem.add((d * A_PITCH + thread_row + i) as usize));
                let b_frag: [f32; TN as usize] = fragment(|j| b_smem.add((d * BN + swizzle(thread_col + j)) as usize));
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

/// Loads N values from shared memory, VEC at a time; `at` says where those from a multiple of VEC on lie.
///
/// # Safety
/// `at` yields VEC values inside the array, at a multiple of 16 bytes.
#[inline(always)]
unsafe fn fragment<const N: usize>(at: impl Fn(u32) -> *const f32) -> [f32; N] {
    let mut frag = [0.0; N];
    for (v, vector) in frag.as_chunks_mut().0.iter_mut().enumerate() {
        // SAFETY: inside the array and aligned by the caller's promise.
        *vector = unsafe { f32x4::load(at(v as u32 * VEC)) };
    }
    frag
}
