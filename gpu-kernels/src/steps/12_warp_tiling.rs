//! warp-tiling: warp sub-tiles between block and thread tiles.
//!
//! ```text
//!   a block's BM x BN: 2 x 4 warps       a warp's WM x WN: 8 x 4 lanes, once in each quarter
//!     ┌────┬────┬────┬────┐                ┌────────────┬────────────┐
//!     │ w0 │ w1 │ w2 │ w3 │                │  0  1  4  5│  0  1  4  5│    lane 0: VEC x VEC here, and VEC columns there,
//!     │    │    │    │    │                │  2  3  6  7│  2  3  6  7│
//!     ├────┼────┼────┼────┤                │  8  9 12 13│     ...    │
//!     │ w4 │ w5 │ w6 │ w7 │                │     ...    │            │
//!     │    │    │    │    │                ├────────────┼────────────┤
//!     └────┴────┴────┴────┘                │  0  1  4  5│  0  1  4  5│    and VEC rows here
//!                                          └────────────┴────────────┘
//! ```
//!
//! Changed since prefetch: a warp's tile is WM x WN, and not 2 TM rows of BN columns. Its loads are of fewer values then,
//! WM + WN for each d and not 2 TM + BN, and lanes that stand side by side want neighbouring pieces of VEC columns, which
//! are in different banks without any swizzle. As before, lanes that share addresses are neighbours, or two apart, so that
//! every load takes two wavefronts. Since 16 lanes could share them already, this alone gains little; but it is what
//! larger tiles of threads need, and a warp's stores of C now fill whole sectors.
//!
//! Source: the B200 notes, which have it to do; kernel 10 of the worklog's repository, its fastest.

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
/// Where in a slice the next ones are stored: their loads are done by then, and the stores will be by the barrier.
const STORE_AT: u32 = BK * 3 / 4;
const THREADS: u32 = (BM / TM) * (BN / TN);
/// Rows and columns of a warp.
const WM: u32 = 64;
const WN: u32 = 32;
/// Lanes of a warp below and beside each other.
const LANES_M: u32 = WM / TM;
const LANES_N: u32 = WN / TN;
const _: () = assert!(LANES_M * LANES_N == 32 && BM.is_multiple_of(WM) && BN.is_multiple_of(WN), "warps fill the tile");
const _: () = assert!(THREADS * VEC == BM * BK && THREADS * VEC == BK * BN, "each thread copies VEC of A and of B");

/// This step's entry in the registry.
pub const STEP: Step = Step {
    slug: "warp-tiling",
    kernel: "sgemm_warp_tiling",
    base: Some("prefetch"),
    summary: "warp sub-tiles between block and thread tiles",
    source: "B200 SGEMM notes, to do; S. Boehm, SGEMM_CUDA (2022), kernel 10",
    tile: Tile { bm: BM, bn: BN, bk: BK, tm: TM, tn: TN },
    block: [THREADS, 1, 1],
    smem_bytes: 2 * (BK * A_PITCH + BK * BN) * 4,
    vector_loads: true,
    ..Step::PLAIN
};

#[address_space(shared)]
static mut A_SMEM: MaybeUninit<[f32; (2 * BK * A_PITCH) as usize]> = MaybeUninit::uninit();
#[address_space(shared)]
static mut B_SMEM: MaybeUninit<[f32; (2 * BK * BN) as usize]> = MaybeUninit::uninit();

/// C = alpha*A*B + beta*C: [`crate::KERNEL_ARGUMENTS`].
///
/// # Safety
/// `a`, `b` and `c` are device buffers of m x k, k x n and m x n with those leading dimensions; launched as [`STEP`] says.
#[kernel]
#[launch_bounds(THREADS, 2)] // 128 registers a thread, so that one block computes while the other waits
pub unsafe fn sgemm_warp_tiling(
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
                let (row, col) = (thread_row + i / VEC * VEC * LANES_M + i % VEC, thread_col + j * LANES_N);
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

/// The first row and column of this thread, in the block's BM x BN. It has VEC neighbours there, and VEC more after those
/// of all the warp's lanes.
#[inline(always)]
fn placement() -> (u32, u32) {
    let (warp, lane) = (thread::thread_idx_x() / 32, thread::thread_idx_x() % 32);
    let (lane_row, lane_col) = (lane / 4 / (LANES_N / 2) * 2 + lane / 2 % 2, lane / 4 % (LANES_N / 2) * 2 + lane % 2);
    (warp / (BN / WN) * WM + lane_row * VEC, warp % (BN / WN) * WN + lane_col * VEC)
}

/// Adds the products of columns `from..to` of A and rows `from..to` of B. On an EDGE, zeros stand for what lies outside.
///
/// # Safety
/// Every thread of the block calls it. Without EDGE, the block's BM rows of A, BN columns of B and `to` are inside, and
/// the rows of both are aligned to 16 bytes. `from` is 0, or the multiple of BK where the call before this one ended.
#[inline(always)]
unsafe fn accumulate<const EDGE: bool>(g: &Gemm, from: u32, to: u32, acc: &mut [[f32; TN as usize]; TM as usize]) {
    let tid = thread::thread_idx_x();
    let (a_row, a_col) = (tid / (BK / VEC), tid % (BK / VEC) * VEC);
    let (b_row, b_col) = (tid / (BN / VEC), tid % (BN / VEC) * VEC);
    let (thread_row, thread_col) = placement();

    // Shared memory: slices take turns with its halves.
    let half = |p: u32| p / BK % 2;
    let a_smem = |p| (&raw mut A_SMEM).cast::<f32>().wrapping_add((half(p) * BK * A_PITCH) as usize); // (BK, A_PITCH)
    let b_smem = |p| (&raw mut B_SMEM).cast::<f32>().wrapping_add((half(p) * BK * BN) as usize); // (BK, BN)

    // SAFETY: inside A and B by the caller's promise, or guarded.
    let load_slices = |p: u32| unsafe {
        let a = load::<EDGE>(g.a(a_row, p + a_col), a_row < g.m, g.k.saturating_sub(p + a_col));
        let b = load::<EDGE>(g.b(p + b_row, b_col), p + b_row < g.k, g.n.saturating_sub(b_col));
        (a, b)
    };
    // SAFETY: a thread's VEC of A are below BK * A_PITCH, its VEC of B below BK * BN; the half is free.
    let store_slices = |p: u32, (a, b): ([f32; VEC as usize], [f32; VEC as usize])| unsafe {
        for v in 0..VEC {
            *a_smem(p).add(((a_col + v) * A_PITCH + a_row) as usize) = a[v as usize];
        }
        f32x4::store(b_smem(p).add((b_row * BN + b_col) as usize), b);
    };

    if from < to {
        store_slices(from, load_slices(from));
    }
    let mut p = from;
    while p < to {
        thread::sync_threads(); // these slices are complete, and the other half is free

        // Load.
        let next = if p + BK < to { load_slices(p + BK) } else { Default::default() };

        // Compute.
        for d in 0..BK {
            if d == STORE_AT {
                store_slices(p + BK, next); // zeros, which nobody reads, if these slices are the last
            }
            // SAFETY: a thread's rows are below BM and its columns below BN.
            unsafe {
                let a_frag: [f32; TM as usize] =
                    fragment(|i| a_smem(p).add((d * A_PITCH + thread_row + i * LANES_M) as usize));
                let b_frag: [f32; TN as usize] =
                    fragment(|j| b_smem(p).add((d * BN + thread_col + j * LANES_N) as usize));
                for i in 0..TM as usize {
                    for j in 0..TN as usize {
                        acc[i][j] = a_frag[i].mul_add(b_frag[j], acc[i][j]);
                    }
                }
            }
        }
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
