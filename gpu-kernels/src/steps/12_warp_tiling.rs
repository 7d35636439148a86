//! warp-tiling: warp tiles between block and thread tiles.
//!
//! ```text
//!   a block's BM x BN: 2 x 4 warps       a warp's WM x WN: 8 x 4 lanes, repeated in each quarter
//!     ┌────┬────┬────┬────┐                ┌────────────┬────────────┐
//!     │ w0 │ w1 │ w2 │ w3 │                │  0  1  4  5│  0  1  4  5│    lane 0: VEC x VEC here, VEC columns there,
//!     │    │    │    │    │                │  2  3  6  7│  2  3  6  7│
//!     ├────┼────┼────┼────┤                │  8  9 12 13│     ...    │
//!     │ w4 │ w5 │ w6 │ w7 │                │     ...    │            │
//!     │    │    │    │    │                ├────────────┼────────────┤
//!     └────┴────┴────┴────┘                │  0  1  4  5│  0  1  4  5│    VEC rows here
//!                                          └────────────┴────────────┘
//! ```
//!
//! Changed since prefetch: a warp computes WM x WN instead of 2 TM rows by BN columns. Per d it loads WM + WN values instead of
//! 2 TM + BN. Adjacent lanes load adjacent chunks of VEC columns, which lie in different banks without a swizzle. Lanes that
//! share an address stay adjacent or two apart, so that each load takes two wavefronts. The gain is small, since 16 lanes
//! could share a wavefront before; larger thread tiles need it, and a warp's stores of C now fill whole sectors.
//!
//! Source: the B200 notes, which have it to do; kernel 10 of the worklog's repository, its fastest.

use crate::hardware::VEC;
use crate::mainloop::{LANES_M, LANES_N};
use crate::{Step, Tile};

const BM: u32 = 128;
const BN: u32 = 128;
const BK: u32 = 8;
const TM: u32 = 8;
const TN: u32 = 8;
/// Floats from one row of a_smem to the next.
const A_PITCH: u32 = BM + VEC;
const THREADS: u32 = (BM / TM) * (BN / TN);
/// Rows and columns of a warp tile.
const WM: u32 = LANES_M * TM;
const WN: u32 = LANES_N * TN;
const _: () = assert!(BM.is_multiple_of(WM) && BN.is_multiple_of(WN), "warp tiles fill the block tile");
const _: () = assert!(THREADS * VEC == BM * BK && THREADS * VEC == BK * BN, "each thread copies VEC of A and of B");

/// This step's entry in the registry.
pub const STEP: Step = Step {
    slug: "warp-tiling",
    kernel: "sgemm_warp_tiling",
    base: Some("prefetch"),
    summary: "warp tiles between block and thread tiles",
    source: "B200 SGEMM notes, to do; S. Boehm, SGEMM_CUDA (2022), kernel 10",
    tile: Tile { bm: BM, bn: BN, bk: BK, tm: TM, tn: TN },
    block: [THREADS, 1, 1],
    smem_bytes: 2 * (BK * A_PITCH + BK * BN) * 4,
    vector_loads: true,
    ..Step::PLAIN
};

/// What runs on the device.
#[cfg(feature = "device")]
pub mod kernel {
    use super::*;
    use crate::epilogue::simt::store;
    use crate::gemm::{Gemm, gemm_kernel};
    use crate::mainloop::gmem::{is_full_tile, load};
    use crate::mainloop::thread_tile::{copy_coord, fragment};
    use crate::mainloop::warp_tile::{element, thread_coord_in_quads};
    use crate::ptx::f32x4;
    use cuda_std::prelude::*;

    /// The d of a k-tile at which the next one is stored: its loads are complete by then, and its stores by the barrier.
    const STORE_AT: u32 = BK * 3 / 4;

    #[address_space(shared)]
    static mut A_SMEM: MaybeUninit<[f32; (2 * BK * A_PITCH) as usize]> = MaybeUninit::uninit();
    #[address_space(shared)]
    static mut B_SMEM: MaybeUninit<[f32; (2 * BK * BN) as usize]> = MaybeUninit::uninit();

    // 128 registers per thread: one block computes while the other waits.
    gemm_kernel! { sgemm_warp_tiling, launch_bounds(THREADS, 2), sgemm }

    /// One block tile: C = alpha*A*B + beta*C.
    ///
    /// # Safety
    /// As the kernel's.
    #[inline(always)]
    unsafe fn sgemm(g: Gemm) {
        // SAFETY: the grid covers C, so the block tile starts in bounds, and what `mainloop` does not check is in bounds.
        unsafe {
            // tile coordinates
            let g = g.block_at(thread::block_idx_y() * BM, thread::block_idx_x() * BN);
            let is_full_tile = is_full_tile::<BM, BN>(&g);

            // mainloop
            let k_unchecked = if is_full_tile { g.k - g.k % BK } else { 0 };
            let mut acc = [[0.0f32; TN as usize]; TM as usize];
            mainloop::<false>(&g, 0, k_unchecked, &mut acc);
            mainloop::<true>(&g, k_unchecked, g.k, &mut acc);

            // epilogue
            let thread = thread_coord_in_quads(BN / WN, TM, TN);
            store(&g, is_full_tile, &acc, |i, j| element(thread, false, i, j));
        }
    }

    /// acc += A (BM, k_begin..k_end) * B (k_begin..k_end, BN). If BOUNDS_CHECKED, zeros replace what is out of bounds.
    ///
    /// # Safety
    /// Every thread of the block calls it. Without BOUNDS_CHECKED, BM rows of A, BN columns of B and `k_end` are in bounds, and the
    /// rows of both are aligned to 16 bytes. `k_begin` is 0, or the multiple of BK where the call before ended.
    #[inline(always)]
    unsafe fn mainloop<const BOUNDS_CHECKED: bool>(
        g: &Gemm,
        k_begin: u32,
        k_end: u32,
        acc: &mut [[f32; TN as usize]; TM as usize],
    ) {
        // tile coordinates
        let a_copy = copy_coord::<BK>(); // VEC of (BM, BK)
        let b_copy = copy_coord::<BN>(); // VEC of (BK, BN)
        let thread = thread_coord_in_quads(BN / WN, TM, TN); // (TM, TN) of (BM, BN)

        // shared memory
        let half = |p: u32| p / BK % 2;
        let a_smem = |p| (&raw mut A_SMEM).cast::<f32>().wrapping_add((half(p) * BK * A_PITCH) as usize); // (BK, A_PITCH)
        let b_smem = |p| (&raw mut B_SMEM).cast::<f32>().wrapping_add((half(p) * BK * BN) as usize); // (BK, BN)

        // global to shared
        // SAFETY: in bounds, upheld by the caller, or checked.
        let load = |p: u32| unsafe {
            let (a_gmem, b_gmem) = (g.a(a_copy.row, p + a_copy.col), g.b(p + b_copy.row, b_copy.col)); // (1, VEC)
            let a = load::<BOUNDS_CHECKED>(a_gmem, a_copy.row < g.m, g.k.saturating_sub(p + a_copy.col));
            let b = load::<BOUNDS_CHECKED>(b_gmem, p + b_copy.row < g.k, g.n.saturating_sub(b_copy.col));
            (a, b)
        };
        // SAFETY: copies lie in BM x BK and BK x BN; no thread reads that half before the next barrier.
        let store = |p: u32, (a, b): ([f32; VEC as usize], [f32; VEC as usize])| unsafe {
            for v in 0..VEC {
                *a_smem(p).add(((a_copy.col + v) * A_PITCH + a_copy.row) as usize) = a[v as usize];
            }
            f32x4::store(b_smem(p).add((b_copy.row * BN + b_copy.col) as usize), b);
        };
        if k_begin < k_end {
            store(k_begin, load(k_begin));
        }

        // mainloop
        let mut p = k_begin;
        while p < k_end {
            thread::sync_threads(); // this k-tile is complete, and every warp has read the other half
            let next = if p + BK < k_end { load(p + BK) } else { Default::default() };
            for d in 0..BK {
                if d == STORE_AT {
                    store(p + BK, next); // zeros, which no thread reads, after the last k-tile
                }
                // SAFETY: fragments lie in BM and BN.
                unsafe {
                    let a_frag: [f32; TM as usize] =
                        fragment(|i| a_smem(p).add((d * A_PITCH + thread.row + i * LANES_M) as usize));
                    let b_frag: [f32; TN as usize] =
                        fragment(|j| b_smem(p).add((d * BN + thread.col + j * LANES_N) as usize));
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
}
