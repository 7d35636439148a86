//! transposed: a transpose pre-pass and rectangular tiles.
//!
//! ```text
//!      A (m, k)        Aᵀ (k, m)                   a_smem (BK, BM)       b_smem (BK, BN)
//!     ┌───┬───┐       ┌───┬───┬───┐                 ┌─────────────┐       ┌─────────────┐
//!     │ 1 │ 2 │       │ 1 │ 3 │ 5 │  ┄ BK rows ┄ →  │  ████████   │ ← d   │  ████████   │ ← d
//!     ├───┼───┤   →   ├───┼───┼───┤                 └─────────────┘       └─────────────┘
//!     │ 3 │ 4 │       │ 2 │ 4 │ 6 │                    rows of both are rows of global memory
//!     ├───┼───┤       └───┴───┴───┘
//!     │ 5 │ 6 │       [`transpose`]: SIDE x SIDE at once
//!     └───┴───┘
//! ```
//!
//! Changed since bank-conflicts: a kernel of its own transposes A in global memory first, so that the slices of A and of B
//! are copied alike, whole rows in 128-bit pieces: a_smem needs no padding and no scattered stores. A slice can then be of
//! any depth, and is twice as deep: half as many barriers, and more loads on their way at once.
//!
//! Source: the tutorial's kernel 5, which transposes B, as its matrices are column-major, found the cost negligible, and
//! made its tiles rectangular, since both have k along the same side then. Here the pre-pass is part of the time.

use crate::f32x4::{self, VEC};
use crate::gemm::Gemm;
use crate::{Operand, Prepass, Step, Tile};
use cuda_std::prelude::*;

const BM: u32 = 128;
const BN: u32 = 128;
const BK: u32 = 16;
const TM: u32 = 8;
const TN: u32 = 8;
const THREADS: u32 = (BM / TM) * (BN / TN);
/// Rows of a slice that the block copies at once, VEC values a thread.
const COPY_ROWS: u32 = THREADS * VEC / BN;
const COPIES: usize = (BK / COPY_ROWS) as usize;
const _: () =
    assert!(BM == BN && BK.is_multiple_of(COPY_ROWS), "A and B are copied alike, and the copies come out even");
/// Rows and columns of the pre-pass's tile.
const SIDE: u32 = 32;

/// This step's entry in the registry.
pub const STEP: Step = Step {
    slug: "transposed",
    kernel: "sgemm_transposed",
    base: Some("bank-conflicts"),
    summary: "a pre-pass transposes A; rows of both operands in rectangular tiles",
    source: "C. Nugteren, OpenCL SGEMM tutorial (2014), kernel 5",
    tile: Tile { bm: BM, bn: BN, bk: BK, tm: TM, tn: TN },
    block: [THREADS, 1, 1],
    prepasses: &[TRANSPOSE_A],
    smem_bytes: (BK * BM + BK * BN) * 4,
    vector_loads: true,
    ..Step::PLAIN
};

/// A, transposed.
pub(crate) const TRANSPOSE_A: Prepass = Prepass {
    kernel: "transpose",
    operand: Operand::A,
    transposes: true,
    split: None,
    only_unaligned: false,
    tile: [SIDE, SIDE],
    threads: THREADS,
};

#[address_space(shared)]
static mut A_SMEM: MaybeUninit<[f32; (BK * BM) as usize]> = MaybeUninit::uninit();
#[address_space(shared)]
static mut B_SMEM: MaybeUninit<[f32; (BK * BN) as usize]> = MaybeUninit::uninit();

/// C = alpha*A*B + beta*C: [`crate::KERNEL_ARGUMENTS`], where `a` is A transposed.
///
/// # Safety
/// `a`, `b` and `c` are device buffers of k x m, k x n and m x n with those leading dimensions; launched as [`STEP`] says.
#[kernel]
#[launch_bounds(THREADS, 2)] // 128 registers a thread, so that one block computes while the other waits
pub unsafe fn sgemm_transposed(
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
            .block_at_transposed(thread::block_idx_y() * BM, thread::block_idx_x() * BN);
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
    let (row, col) = (tid / (BN / VEC), tid % (BN / VEC) * VEC);
    let (thread_row, thread_col) = placement();

    // Shared memory.
    let a_smem = (&raw mut A_SMEM).cast::<f32>(); // (BK, BM)
    let b_smem = (&raw mut B_SMEM).cast::<f32>(); // (BK, BN)

    let mut a_gmem = g.a(from + row, col);
    let mut b_gmem = g.b(from + row, col);
    let mut p = from;
    while p < to {
        // SAFETY: inside A and B by the caller's promise, or guarded; a thread's copies of A are below BK * BM, those
        // of B below BK * BN, its rows below BM and its columns below BN.
        unsafe {
            // Load.
            let load_rows = |source: *const f32, ld: usize, left: u32| -> [_; COPIES] {
                let source = |i: usize| source.wrapping_add(i * COPY_ROWS as usize * ld);
                core::array::from_fn(|i| load::<EDGE>(source(i), p + row + i as u32 * COPY_ROWS < g.k, left))
            };
            let a = load_rows(a_gmem, g.lda, g.m.saturating_sub(col));
            let b = load_rows(b_gmem, g.ldb, g.n.saturating_sub(col));
            for i in 0..COPIES {
                let row = row + i as u32 * COPY_ROWS;
                f32x4::store(a_smem.add((row * BM + col) as usize), a[i]);
                f32x4::store(b_smem.add((row * BN + swizzle(col)) as usize), b[i]);
            }
            thread::sync_threads(); // the slices are complete

            // Compute.
            for d in 0..BK {
                let a_frag: [f32; TM as usize] = fragment(|i| a_smem.add((d * BM + thread_row + i) as usize));
                let b_frag: [f32; TN as usize] = fragment(|j| b_smem.add((d * BN + swizzle(thread_col + j)) as usize));
                for i in 0..TM as usize {
                    for j in 0..TN as usize {
                        acc[i][j] = a_frag[i].mul_add(b_frag[j], acc[i][j]);
                    }
                }
            }
            thread::sync_threads(); // the slices are free for the next ones
        }
        a_gmem = a_gmem.wrapping_add(BK as usize * g.lda);
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

#[address_space(shared)]
static mut TILE: MaybeUninit<[f32; (SIDE * (SIDE + 1)) as usize]> = MaybeUninit::uninit();

/// The target is the source, transposed: see [`Prepass`].
///
/// # Safety
/// `source` is a device buffer of `rows` x `columns`, `target` one of `columns` x `rows`; launched as [`STEP`] says.
#[kernel]
#[launch_bounds(THREADS)]
pub unsafe fn transpose(rows: u32, columns: u32, source: *const f32, ld: u32, target: *mut f32, target_ld: u32) {
    let tile = (&raw mut TILE).cast::<f32>(); // (SIDE, SIDE + 1): neither rows nor columns meet in a bank
    let (tile_row, tile_col) = (thread::block_idx_y() * SIDE, thread::block_idx_x() * SIDE);
    let (x, y) = (thread::thread_idx_x() % SIDE, thread::thread_idx_x() / SIDE);
    // SAFETY: both indices are below SIDE; in the source and the target they are guarded.
    unsafe {
        for y in (y..SIDE).step_by((THREADS / SIDE) as usize) {
            let (row, col) = (tile_row + y, tile_col + x);
            if row < rows && col < columns {
                *tile.add((y * (SIDE + 1) + x) as usize) = *source.add(row as usize * ld as usize + col as usize);
            }
        }
        thread::sync_threads(); // the tile is complete
        for y in (y..SIDE).step_by((THREADS / SIDE) as usize) {
            let (row, col) = (tile_row + x, tile_col + y);
            if row < rows && col < columns {
                *target.add(col as usize * target_ld as usize + row as usize) =
                    *tile.add((x * (SIDE + 1) + y) as usize);
            }
        }
    }
}
