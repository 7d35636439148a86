//! lane-sharing: four lanes load the columns of B that they share once and exchange them by shuffles.
//!
//! ```text
//!   lanes (4 x 8)                      b_smem: what lanes 0, 1, 16, 17 load, of the TN columns that they share
//!      0  2  4  6  8 10 12 14             ┌───┬───┐     adjacent lanes exchange their chunks of VEC columns; then
//!      1  3  5  7  9 11 13 15         d   │ 0 │ 1 │     lanes that are 16 apart exchange theirs,
//!     16 18 20 22 24 26 28 30       d + 1 │16 │17 │     and adjacent lanes these
//!     17 19 21 23 25 27 29 31             └───┴───┘
//!
//!   per k-tile                              bank-conflicts   `lane-sharing/6144`   here
//!   load requests of threads to smem            8192               6144            5120
//!   wavefronts of a warp's loads                  64                 64              48
//!   shuffles of a warp                             0                 32              48
//! ```
//!
//! Changed since bank-conflicts: a warp's lanes form 4 x 8 thread tiles, so that four lanes share their columns. In the variant
//! an even lane loads one chunk of TN columns and an odd lane the other, and they exchange them; here four lanes share two
//! rows, one load each. A lane keeps its accumulators in the order in which values arrive, its own first: nothing is permuted.
//!
//! Source: A. Atluri's note on DPP, by which shared-memory requests fall from 8192 to 6144, then 5120, on AMD hardware, where
//! an FMA reads an adjacent lane's register at no cost. The tutorial's kernel 8 (USE_SHUFFLE) was slower for it. So is this: a
//! shuffle is an instruction, uses the pipe of a load, and moves 4 bytes instead of 16.

use crate::hardware::VEC;
use crate::{Step, Tile};

const BM: u32 = 128;
const BN: u32 = 128;
const BK: u32 = 8;
const TM: u32 = 8;
const TN: u32 = 8;
/// Floats from one row of a_smem to the next.
const A_PITCH: u32 = BM + VEC;
const THREADS: u32 = (BM / TM) * (BN / TN);
const _: () = assert!(THREADS * VEC == BM * BK && THREADS * VEC == BK * BN, "each thread copies VEC of A and of B");
const _: () = assert!(TN == 2 * VEC && BN == 16 * TN, "two lanes share a row of TN columns; two warps side by side");

/// This step's entry in the registry: lanes share two rows at once.
pub const STEP: Step = Step {
    slug: "lane-sharing",
    kernel: "sgemm_lane_sharing",
    adds_in_order: false, // of two rows, half of the lanes begin with the second
    variants: &[ONE_ROW],
    ..ONE_ROW
};

/// Lanes share one row.
const ONE_ROW: Step = Step {
    slug: "lane-sharing/6144",
    kernel: "sgemm_lane_sharing_6144",
    base: Some("bank-conflicts"),
    summary: "four lanes load the columns of B that they share once and exchange them by shuffles",
    source: "A. Atluri, GEMM with DPP on AMD GPUs; C. Nugteren, OpenCL SGEMM tutorial (2014), kernel 8, USE_SHUFFLE",
    tile: Tile { bm: BM, bn: BN, bk: BK, tm: TM, tn: TN },
    block: [THREADS, 1, 1],
    smem_bytes: (BK * A_PITCH + BK * BN) * 4,
    vector_loads: true,
    ..Step::PLAIN
};

/// What runs on the device.
#[cfg(feature = "device")]
pub mod kernel {
    use super::*;
    use crate::Coord;
    use crate::epilogue::simt::store;
    use crate::gemm::{Gemm, gemm_kernel};
    use crate::mainloop::gmem::{is_full_tile, load};
    use crate::mainloop::thread_tile::{copy_coord, element, fragment, swizzle};
    use crate::ptx::f32x4;
    use cuda_std::prelude::*;
    use cuda_std::shared_array;

    // 128 registers per thread: one block computes while the other waits.
    gemm_kernel! {
        sgemm_lane_sharing, launch_bounds(THREADS, 2),
        |g| sgemm::<2>(g, shared_array![f32; (BK * A_PITCH) as usize], shared_array![f32; (BK * BN) as usize])
    }
    gemm_kernel! {
        sgemm_lane_sharing_6144, launch_bounds(THREADS, 2),
        |g| sgemm::<1>(g, shared_array![f32; (BK * A_PITCH) as usize], shared_array![f32; (BK * BN) as usize])
    }

    /// One block tile: C = alpha*A*B + beta*C, with ROWS rows of B shared at once.
    ///
    /// # Safety
    /// As the kernel's. a_smem (BK, A_PITCH) and b_smem (BK, BN) are the block's own.
    #[inline(always)]
    unsafe fn sgemm<const ROWS: u32>(g: Gemm, a_smem: *mut f32, b_smem: *mut f32) {
        // SAFETY: the grid covers C, so the block tile starts in bounds, and what `mainloop` does not check is in bounds.
        unsafe {
            // tile coordinates
            let g = g.block_at(thread::block_idx_y() * BM, thread::block_idx_x() * BN);
            let is_full_tile = is_full_tile::<BM, BN>(&g);

            // mainloop
            let k_unchecked = if is_full_tile { g.k - g.k % BK } else { 0 };
            let mut acc = [[0.0f32; TN as usize]; TM as usize];
            mainloop::<false, ROWS>(&g, 0, k_unchecked, a_smem, b_smem, &mut acc);
            mainloop::<true, ROWS>(&g, k_unchecked, g.k, a_smem, b_smem, &mut acc);

            // epilogue
            let thread = thread_coord();
            store(&g, is_full_tile, &acc, |i, j| element(thread, i, j ^ own_chunk()));
        }
    }

    /// The first element of this thread's TM x TN tile. Lanes that differ in bits 0 and 4 share their columns.
    #[inline(always)]
    fn thread_coord() -> Coord {
        let tid = thread::thread_idx_x();
        Coord { row: (tid % 2 + tid / 16 % 2 * 2 + tid / 64 * 4) * TM, col: (tid / 2 % 8 + tid / 32 % 2 * 8) * TN }
    }

    /// The first of the VEC columns that this lane loads, of the TN that it shares; the adjacent lane loads the others.
    #[inline(always)]
    fn own_chunk() -> u32 {
        thread::thread_idx_x() % 2 * VEC
    }

    /// acc += A (BM, k_begin..k_end) * B (k_begin..k_end, BN). If BOUNDS_CHECKED, zeros replace what is out of bounds.
    ///
    /// # Safety
    /// Every thread of the block calls it. Without BOUNDS_CHECKED, BM rows of A, BN columns of B and `k_end` are in bounds, and the
    /// rows of both are aligned to 16 bytes.
    #[inline(always)]
    unsafe fn mainloop<const BOUNDS_CHECKED: bool, const ROWS: u32>(
        g: &Gemm,
        k_begin: u32,
        k_end: u32,
        a_smem: *mut f32,
        b_smem: *mut f32,
        acc: &mut [[f32; TN as usize]; TM as usize],
    ) {
        // tile coordinates
        let a_copy = copy_coord::<BK>(); // VEC of (BM, BK)
        let b_copy = copy_coord::<BN>(); // VEC of (BK, BN)
        let thread = thread_coord(); // (TM, TN) of (BM, BN)
        let own_row = thread::thread_idx_x() / 16 % ROWS;

        let mut a_gmem = g.a(a_copy.row, k_begin + a_copy.col);
        let mut b_gmem = g.b(k_begin + b_copy.row, b_copy.col);
        let mut p = k_begin;
        while p < k_end {
            // SAFETY: in bounds, upheld by the caller, or checked; copies lie in BM x BK and BK x BN, fragments in BM and BN.
            unsafe {
                // global to shared
                let a = load::<BOUNDS_CHECKED>(a_gmem, a_copy.row < g.m, g.k.saturating_sub(p + a_copy.col));
                let b = load::<BOUNDS_CHECKED>(b_gmem, p + b_copy.row < g.k, g.n.saturating_sub(b_copy.col));
                // B first, and few addresses: with registers to spare, ptxas issues both loads before anything else.
                f32x4::store(b_smem.add((b_copy.row * BN + swizzle(b_copy.col)) as usize), b);
                let a_column = a_smem.add((a_copy.col * A_PITCH + a_copy.row) as usize); // (VEC, 1)
                for v in 0..VEC {
                    *a_column.add((v * A_PITCH) as usize) = a[v as usize];
                }
                thread::sync_threads(); // the k-tiles are complete

                // mainloop
                for d in (0..BK).step_by(ROWS as usize) {
                    let own =
                        f32x4::load(b_smem.add(((d + own_row) * BN + swizzle(thread.col + own_chunk())) as usize));
                    for row in 0..ROWS {
                        let a_row = a_smem.add(((own_row ^ row) * A_PITCH + thread.row) as usize);
                        let a_frag: [f32; TM as usize] = fragment(|i| a_row.add((d * A_PITCH + i) as usize));
                        let chunk = if row == 0 { own } else { shuffle_xor(own, 16) };
                        let chunks = [chunk, shuffle_xor(chunk, 1)];
                        let b_frag = chunks.as_flattened(); // (TN)
                        for i in 0..TM as usize {
                            for j in 0..TN as usize {
                                acc[i][j] = a_frag[i].mul_add(b_frag[j], acc[i][j]);
                            }
                        }
                    }
                }
                thread::sync_threads(); // every warp has read the k-tiles: the next may be stored
            }
            a_gmem = a_gmem.wrapping_add(BK as usize);
            b_gmem = b_gmem.wrapping_add(BK as usize * g.ldb);
            p += BK;
        }
    }

    /// The values of the lane whose index differs from this one's in the bits of `mask`.
    ///
    /// # Safety
    /// All lanes of the warp call it.
    #[inline(always)]
    unsafe fn shuffle_xor(chunk: [f32; VEC as usize], mask: u32) -> [f32; VEC as usize] {
        // SAFETY: all lanes take part, upheld by the caller.
        chunk.map(|value| unsafe { warp::warp_shuffle_xor(u32::MAX, value, mask, 32).0 })
    }
}
