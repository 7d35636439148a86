//! lane-sharing: four lanes load the columns of B that they share once, and pass them on by shuffles.
//!
//! ```text
//!   lanes (4 x 8)                      b_smem: what lanes 0, 1, 16, 17 load, of the TN columns that they share
//!      0  2  4  6  8 10 12 14             ┌───┬───┐     neighbours exchange their pieces, of 4 columns each; then
//!      1  3  5  7  9 11 13 15         d   │ 0 │ 1 │     each lane gets the piece of the one 16 further or before,
//!     16 18 20 22 24 26 28 30       d + 1 │16 │17 │     and neighbours exchange these
//!     17 19 21 23 25 27 29 31             └───┴───┘
//!
//!   for each slice                          bank-conflicts   `lane-sharing/6144`   here
//!   requests of threads to load from smem       8192               6144            5120
//!   wavefronts of a warp's loads                  64                 64              48
//!   shuffles of a warp                             0                 32              48
//! ```
//!
//! Changed since bank-conflicts: the lanes of a warp stand 4 x 8, so that four lanes share their columns. In the variant,
//! of the two pieces of TN columns an even lane loads one and an odd lane the other, and they exchange them; here four
//! lanes share two rows, one load each. A lane keeps its sums in the order in which values reach it, its own first, so
//! that nothing has to be put in order.
//!
//! Source: A. Atluri's note on DPP, by which shared-memory requests fall from 8192 to 6144, then 5120, on AMD hardware:
//! there an FMA reads a neighbour's register at no cost. And the tutorial's kernel 8 (USE_SHUFFLE), which was slower for
//! it. So it is here: a shuffle is an instruction, passes through the same pipe as a load, and brings 4 bytes, not 16.

use crate::f32x4::{self, VEC};
use crate::gemm::Gemm;
use crate::{Step, Tile};
use cuda_std::prelude::*;
use cuda_std::shared_array;

const BM: u32 = 128;
const BN: u32 = 128;
const BK: u32 = 8;
const TM: u32 = 8;
const TN: u32 = 8;
/// Floats from one row of A's slice to the next.
const A_PITCH: u32 = BM + VEC;
const THREADS: u32 = (BM / TM) * (BN / TN);
const _: () = assert!(THREADS * VEC == BM * BK && THREADS * VEC == BK * BN, "each thread copies VEC of A and of B");
const _: () =
    assert!(TN == 2 * VEC && BN == 16 * TN, "two lanes share a row of TN columns, and two warps stand side by side");

/// This step's entry in the registry: lanes share two rows at once.
pub const STEP: Step = Step { slug: "lane-sharing", kernel: "sgemm_lane_sharing", variants: &[ONE_ROW], ..ONE_ROW };

/// Lanes share one row.
const ONE_ROW: Step = Step {
    slug: "lane-sharing/6144",
    kernel: "sgemm_lane_sharing_6144",
    base: Some("bank-conflicts"),
    summary: "four lanes load the columns of B that they share once, and pass them on by shuffles",
    source: "A. Atluri, GEMM with DPP on AMD GPUs; C. Nugteren, OpenCL SGEMM tutorial (2014), kernel 8, USE_SHUFFLE",
    tile: Tile { bm: BM, bn: BN, bk: BK, tm: TM, tn: TN },
    block: [THREADS, 1, 1],
    smem_bytes: (BK * A_PITCH + BK * BN) * 4,
    vector_loads: true,
    ..Step::PLAIN
};

macro_rules! kernel {
    ($name:ident, $rows:literal) => {
        /// C = alpha*A*B + beta*C: [`crate::KERNEL_ARGUMENTS`].
        ///
        /// # Safety
        /// `a`, `b` and `c` are device buffers of m x k, k x n and m x n with those leading dimensions; launched as
        /// [`STEP`] says.
        #[kernel]
        #[launch_bounds(THREADS, 2)] // 128 registers a thread, so that one block computes while the other waits
        pub unsafe fn $name(
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
            let a_smem = shared_array![f32; (BK * A_PITCH) as usize];
            let b_smem = shared_array![f32; (BK * BN) as usize];
            // SAFETY: the same conditions.
            unsafe { sgemm::<$rows>(&Gemm::new(m, n, k, alpha, a, lda, b, ldb, beta, c, ldc), a_smem, b_smem) }
        }
    };
}

kernel!(sgemm_lane_sharing, 2);
kernel!(sgemm_lane_sharing_6144, 1);

/// What a block does, with B's rows shared ROWS at once.
///
/// # Safety
/// As of [`sgemm_lane_sharing`]; the arrays are the block's own.
#[inline(always)]
unsafe fn sgemm<const ROWS: u32>(g: &Gemm, a_smem: *mut f32, b_smem: *mut f32) {
    // SAFETY: the grid covers C, so the block starts inside it, and what `accumulate` does not guard is inside A and B.
    unsafe {
        // Placement.
        let g = g.block_at(thread::block_idx_y() * BM, thread::block_idx_x() * BN);
        let aligned = f32x4::aligned(g.a, g.lda) && f32x4::aligned(g.b, g.ldb) && f32x4::aligned(g.c, g.ldc);
        let fits = g.m >= BM && g.n >= BN && aligned;
        let inside = if fits { g.k - g.k % BK } else { 0 };

        let mut acc = [[0.0f32; TN as usize]; TM as usize];
        accumulate::<false, ROWS>(&g, 0, inside, a_smem, b_smem, &mut acc);
        accumulate::<true, ROWS>(&g, inside, g.k, a_smem, b_smem, &mut acc);

        // Store.
        let (thread_row, thread_col) = placement();
        for i in 0..TM {
            for j in (0..TN).step_by(VEC as usize) {
                let (row, col) = (thread_row + i, thread_col + (j ^ own_piece()));
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

/// The first row and column of this thread's TM x TN, in the block's BM x BN. Lanes that differ in bits 0 and 4 share their
/// columns.
#[inline(always)]
fn placement() -> (u32, u32) {
    let tid = thread::thread_idx_x();
    ((tid % 2 + tid / 16 % 2 * 2 + tid / 64 * 4) * TM, (tid / 2 % 8 + tid / 32 % 2 * 8) * TN)
}

/// The first of the VEC columns that this lane loads, of the TN that it shares; its neighbour loads the others.
#[inline(always)]
fn own_piece() -> u32 {
    thread::thread_idx_x() % 2 * VEC
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
unsafe fn accumulate<const EDGE: bool, const ROWS: u32>(
    g: &Gemm,
    from: u32,
    to: u32,
    a_smem: *mut f32, // (BK, A_PITCH)
    b_smem: *mut f32, // (BK, BN)
    acc: &mut [[f32; TN as usize]; TM as usize],
) {
    let tid = thread::thread_idx_x();
    let (a_row, a_col) = (tid / (BK / VEC), tid % (BK / VEC) * VEC);
    let (b_row, b_col) = (tid / (BN / VEC), tid % (BN / VEC) * VEC);
    let (thread_row, thread_col) = placement();
    let own_row = tid / 16 % ROWS;

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
            for d in (0..BK).step_by(ROWS as usize) {
                let own = f32x4::load(b_smem.add(((d + own_row) * BN + swizzle(thread_col + own_piece())) as usize));
                for passed in 0..ROWS {
                    let d = d + (own_row ^ passed);
                    let piece = if passed == 0 { own } else { of_lane(own, 16) };
                    let pieces = [piece, of_lane(piece, 1)];
                    let b_frag: [f32; TN as usize] = core::array::from_fn(|j| pieces.as_flattened()[j]);
                    let a_frag: [f32; TM as usize] = fragment(|i| a_smem.add((d * A_PITCH + thread_row + i) as usize));
                    for i in 0..TM as usize {
                        for j in 0..TN as usize {
                            acc[i][j] = a_frag[i].mul_add(b_frag[j], acc[i][j]);
                        }
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

/// The values of the lane whose number differs from this one's in these bits.
///
/// # Safety
/// The whole warp makes this call.
#[inline(always)]
unsafe fn of_lane(piece: [f32; VEC as usize], bits: u32) -> [f32; VEC as usize] {
    // SAFETY: the mask has all lanes, and all lanes are here.
    piece.map(|value| unsafe { warp::warp_shuffle_xor(u32::MAX, value, bits, 32).0 })
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
