//! vectorized: A transposed in shared memory, 128-bit loads and stores.
//!
//! ```text
//!   a_smem (BK, BM)            b_smem (BK, BN)
//!     ┌───────────┐            ┌───────────┐
//!     │  ████████ │ ← d        │  ████████ │ ← d      TM and TN adjacent values: two 128-bit loads each
//!     └────TM─────┘            └────TN─────┘
//! ```
//!
//! Changed since 2d-tiling: a_smem is transposed, so that a thread's TM values are adjacent, like its TN values of B. Fragment
//! loads, global loads and stores of C have 128 bits. (Before, the compiler already joins loads of A along k, for four d at
//! once; it cannot know that global rows are aligned.) Where rows are not aligned to 16 bytes, or out of bounds, copies are
//! bounds-checked, one value at a time.
//!
//! Source: the worklog's kernel 6, 1.26 times its kernel 5; the tutorial's kernels 4 and 7.

use crate::hardware::VEC;
use crate::{Step, Tile};

const BM: u32 = 128;
const BN: u32 = 128;
const BK: u32 = 8;
const TM: u32 = 8;
const TN: u32 = 8;
/// Floats from one row of a_smem to the next.
const A_PITCH: u32 = BM;
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
    smem_bytes: (BK * A_PITCH + BK * BN) * 4,
    vector_loads: true,
    ..Step::PLAIN
};

/// What runs on the device.
#[cfg(feature = "device")]
pub mod kernel {
    use super::*;
    use crate::Coord;
    use crate::gemm::{Gemm, gemm_kernel};
    use crate::ptx::f32x4;
    use cuda_std::prelude::*;

    #[address_space(shared)]
    static mut A_SMEM: MaybeUninit<[f32; (BK * A_PITCH) as usize]> = MaybeUninit::uninit();
    #[address_space(shared)]
    static mut B_SMEM: MaybeUninit<[f32; (BK * BN) as usize]> = MaybeUninit::uninit();

    // 128 registers per thread: one block computes while the other waits.
    gemm_kernel! { sgemm_vectorized, launch_bounds(THREADS, 2), sgemm }

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
            let is_aligned = f32x4::aligned(g.a, g.lda) && f32x4::aligned(g.b, g.ldb) && f32x4::aligned(g.c, g.ldc);
            let is_full_tile = g.m >= BM && g.n >= BN && is_aligned;

            // mainloop
            let k_unchecked = if is_full_tile { g.k - g.k % BK } else { 0 };
            let mut acc = [[0.0f32; TN as usize]; TM as usize];
            mainloop::<false>(&g, 0, k_unchecked, &mut acc);
            mainloop::<true>(&g, k_unchecked, g.k, &mut acc);

            // epilogue
            let thread = thread_coord();
            for i in 0..TM {
                for j in (0..TN).step_by(VEC as usize) {
                    let (row, col) = (thread.row + i, thread.col + j);
                    let acc: [f32; VEC as usize] = core::array::from_fn(|v| acc[i as usize][j as usize + v]);
                    if is_full_tile {
                        let c = g.c(row, col); // (1, VEC)
                        let old = if g.beta == 0.0 { [0.0; VEC as usize] } else { f32x4::load(c) };
                        f32x4::store(c, core::array::from_fn(|v| g.axpby(acc[v], old[v])));
                    } else {
                        for v in 0..VEC {
                            g.store(row, col + v, acc[v as usize]);
                        }
                    }
                }
            }
        }
    }

    /// The row and column of this thread's TM x TN tile in the block tile.
    #[inline(always)]
    fn thread_coord() -> Coord {
        let tid = thread::thread_idx_x();
        Coord { row: tid / (BN / TN) * TM, col: tid % (BN / TN) * TN }
    }

    /// acc += A (BM, k_begin..k_end) * B (k_begin..k_end, BN). If BOUNDS_CHECKED, zeros replace what is out of bounds.
    ///
    /// # Safety
    /// Every thread of the block calls it. Without BOUNDS_CHECKED, BM rows of A, BN columns of B and `k_end` are in bounds, and the
    /// rows of both are aligned to 16 bytes.
    #[inline(always)]
    unsafe fn mainloop<const BOUNDS_CHECKED: bool>(
        g: &Gemm,
        k_begin: u32,
        k_end: u32,
        acc: &mut [[f32; TN as usize]; TM as usize],
    ) {
        // tile coordinates
        let tid = thread::thread_idx_x();
        let a_copy = Coord { row: tid / (BK / VEC), col: tid % (BK / VEC) * VEC }; // VEC of (BM, BK)
        let b_copy = Coord { row: tid / (BN / VEC), col: tid % (BN / VEC) * VEC }; // VEC of (BK, BN)
        let thread = thread_coord(); // (TM, TN) of (BM, BN)

        // shared memory
        let a_smem = (&raw mut A_SMEM).cast::<f32>(); // (BK, A_PITCH)
        let b_smem = (&raw mut B_SMEM).cast::<f32>(); // (BK, BN)

        let mut a_gmem = g.a(a_copy.row, k_begin + a_copy.col);
        let mut b_gmem = g.b(k_begin + b_copy.row, b_copy.col);
        let mut p = k_begin;
        while p < k_end {
            // SAFETY: in bounds, upheld by the caller, or checked; copies lie in BM x BK and BK x BN, fragments in BM and BN.
            unsafe {
                // global to shared
                let a = load::<BOUNDS_CHECKED>(a_gmem, a_copy.row < g.m, g.k.saturating_sub(p + a_copy.col));
                let b = load::<BOUNDS_CHECKED>(b_gmem, p + b_copy.row < g.k, g.n.saturating_sub(b_copy.col));
                for v in 0..VEC {
                    *a_smem.add(((a_copy.col + v) * A_PITCH + a_copy.row) as usize) = a[v as usize];
                }
                f32x4::store(b_smem.add((b_copy.row * BN + b_copy.col) as usize), b);
                thread::sync_threads(); // the k-tiles are complete

                // mainloop
                for d in 0..BK {
                    let a_frag: [f32; TM as usize] = fragment(a_smem.add((d * A_PITCH + thread.row) as usize));
                    let b_frag: [f32; TN as usize] = fragment(b_smem.add((d * BN + thread.col) as usize));
                    for i in 0..TM as usize {
                        for j in 0..TN as usize {
                            acc[i][j] = a_frag[i].mul_add(b_frag[j], acc[i][j]);
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

    /// Loads VEC adjacent values of a row. If BOUNDS_CHECKED, zeros replace those out of bounds: all of them if the row is, or
    /// those from `cols_left` on.
    ///
    /// # Safety
    /// What is in bounds may be read; without BOUNDS_CHECKED all VEC values may, at a multiple of 16 bytes.
    #[inline(always)]
    unsafe fn load<const BOUNDS_CHECKED: bool>(source: *const f32, is_row_in_bounds: bool, cols_left: u32) -> [f32; 4] {
        // SAFETY: in bounds and aligned, upheld by the caller, or checked.
        unsafe {
            if BOUNDS_CHECKED {
                core::array::from_fn(|v| if is_row_in_bounds && (v as u32) < cols_left { *source.add(v) } else { 0.0 })
            } else {
                f32x4::load(source)
            }
        }
    }

    /// Loads a fragment of N adjacent values from shared memory by 128-bit loads.
    ///
    /// # Safety
    /// All N are in bounds of the array, the first at a multiple of 16 bytes.
    #[inline(always)]
    unsafe fn fragment<const N: usize>(smem: *const f32) -> [f32; N] {
        let mut frag = [0.0; N];
        for (v, vector) in frag.as_chunks_mut().0.iter_mut().enumerate() {
            // SAFETY: in bounds of the array and aligned, upheld by the caller.
            *vector = unsafe { f32x4::load(smem.add(v * VEC as usize)) };
        }
        frag
    }
}
