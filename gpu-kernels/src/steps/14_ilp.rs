//! ilp: instruction-level parallelism: fragments are loaded while those before them are used.
//!
//! ```text
//!   loads    d = 1     d = 2     ...     d = 0 of the next slice        the FMAs of one d: b_frag
//!   FMAs     d = 0     d = 1     ...     d = BK - 1                       a  │ ▲ │ ▲
//!            ────────────────────────────┼───────────────────►            f  │ │ │ │  ...
//!                                        barrier, copies start            r  ▼ │ ▼ │
//! ```
//!
//! Changed since async-copy: there are registers for two fragments of A and of B. Before the FMAs of one d stand the loads
//! for the next, across slices too: the last d of a slice waits for the copies and begins the next slice's first. FMAs
//! seldom wait for a load then, and two warps are enough for a scheduler. With up to 255 registers a thread's tile is twice
//! as large, 128 FMAs to 6 loads where it was 64 to 4, in a block twice as wide, alone on its multiprocessor.
//!
//! The order of the FMAs matters, since the register file delivers one even and one odd register a cycle, and an FMA reads
//! three. One of them must be the last FMA's, which the assembler then marks for reuse (`.reuse`): in columns up and down
//! by turns, each step changes one operand, at the turn too.
//!
//! Source: the B200 notes' v5, there 1.1 times v4, of which packed FMAs are a part.

use crate::f32x4::{self, VEC};
use crate::gemm::Gemm;
use crate::ptx::cp_async;
use crate::{Step, Tile};
use cuda_std::prelude::*;

const BM: u32 = 128;
const BN: u32 = 256;
const BK: u32 = 8;
const TM: u32 = 8;
const TN: u32 = 16;
/// Floats from one row of A's slice to the next.
const A_PITCH: u32 = BM + VEC;
/// Slices of A and of B in shared memory at once.
const STAGES: u32 = 4;
const STAGE: u32 = BK * A_PITCH + BK * BN;
const THREADS: u32 = (BM / TM) * (BN / TN);
/// Rows and columns of a warp.
const WM: u32 = 64;
const WN: u32 = 64;
/// Lanes of a warp below and beside each other.
const LANES_M: u32 = WM / TM;
const LANES_N: u32 = WN / TN;
const _: () = assert!(LANES_M * LANES_N == 32 && BM.is_multiple_of(WM) && BN.is_multiple_of(WN), "warps fill the tile");
const _: () = assert!((BM * BK).is_multiple_of(THREADS) && (BK * BN).is_multiple_of(THREADS * VEC), "equal shares");

/// This step's entry in the registry.
pub const STEP: Step = Step {
    slug: "ilp",
    kernel: "sgemm_ilp",
    base: Some("async-copy"),
    summary: "fragments loaded while those before them are used; larger tiles of threads; FMAs in the order of reuse",
    source: "B200 SGEMM notes, v5",
    tile: Tile { bm: BM, bn: BN, bk: BK, tm: TM, tn: TN },
    block: [THREADS, 1, 1],
    dynamic_smem_bytes: STAGES * STAGE * 4,
    vector_loads: true,
    ..Step::PLAIN
};

/// C = alpha*A*B + beta*C: [`crate::KERNEL_ARGUMENTS`].
///
/// # Safety
/// `a`, `b` and `c` are device buffers of m x k, k x n and m x n with those leading dimensions; launched as [`STEP`] says.
#[kernel]
#[launch_bounds(THREADS, 1)] // 255 registers a thread: 128 sums, and two fragments of A and of B
pub unsafe fn sgemm_ilp(
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
        let is_inside = (g.m >= BM) & (g.n >= BN); // with `&&`, a loop for each way to get there

        let mut acc = [[0.0f32; TN as usize]; TM as usize];
        accumulate(&g, is_inside, &mut acc);

        // Store.
        let fits = is_inside && f32x4::aligned(g.c, g.ldc);
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

/// Adds the products. Zeros stand for what lies outside.
///
/// # Safety
/// Every thread of the block calls it, with what is true of the block.
#[inline(always)]
unsafe fn accumulate(g: &Gemm, is_inside: bool, acc: &mut [[f32; TN as usize]; TM as usize]) {
    let (thread_row, thread_col) = placement();

    // Shared memory: a slice of A, (BK, A_PITCH), and one of B, (BK, BN), in each stage.
    let smem = shared::dynamic_shared_mem::<f32>(); // (STAGES, STAGE)
    // SAFETY: into shared memory.
    let address = unsafe { shared::address(smem) };
    let is_wide = is_inside & f32x4::aligned(g.b, g.ldb);
    let ((a_row, a_col), (b_row, b_col)) = shares(if is_wide { VEC } else { 1 });
    // A slice before the first: each copy begins by moving on, since the one before it may not have read its addresses.
    let mut a_gmem = g.a(a_row, a_col).wrapping_sub(BK as usize);
    let mut b_gmem = g.b(b_row, b_col).wrapping_sub(BK as usize * g.ldb);
    // SAFETY: the stage is free, the pointers are to this thread's shares of the slices at p.
    let mut copy = |p: u32, stage: u32| unsafe {
        a_gmem = a_gmem.wrapping_add(BK as usize);
        b_gmem = b_gmem.wrapping_add(BK as usize * g.ldb);
        let target = address + stage * STAGE * 4;
        if is_wide {
            copy_slices::<VEC, false>(g, p, a_gmem, b_gmem, target);
        } else if is_inside {
            copy_slices::<1, false>(g, p, a_gmem, b_gmem, target);
        } else {
            copy_slices::<1, true>(g, p, a_gmem, b_gmem, target);
        }
        cp_async::commit_group();
    };

    for stage in 0..STAGES {
        copy(stage * BK, stage);
    }
    cp_async::wait_group::<{ STAGES - 1 }>();
    thread::sync_threads(); // the first slices are complete

    // SAFETY: a thread's rows are below BM and its columns below BN.
    let fragments = |stage: u32, d: u32| unsafe {
        let slices = smem.add((stage * STAGE) as usize); // (STAGE)
        let a_smem = slices.add(thread_row as usize).add((d * A_PITCH) as usize); // (1, BM)
        let b_smem = slices.add(thread_col as usize).add((BK * A_PITCH + d * BN) as usize); // (1, BN)
        let b_frag: [f32; TN as usize] = fragment(|j| b_smem.add((j * LANES_N) as usize));
        let a_frag: [f32; TM as usize] = fragment(|i| a_smem.add((i * LANES_M) as usize));
        (a_frag, b_frag)
    };
    let mut stage = 0;
    let mut p = 0;
    let mut next = fragments(stage, 0);
    while p < g.k {
        for d in 0..BK {
            let (a_frag, b_frag) = next;

            // Load.
            if d < BK - 1 {
                next = fragments(stage, d + 1);
            } else {
                let free = stage;
                stage = if stage == STAGES - 1 { 0 } else { stage + 1 };
                cp_async::wait_group::<{ STAGES - 2 }>();
                thread::sync_threads(); // the next slices are complete, and these are free
                next = fragments(stage, 0);
                copy(p + STAGES * BK, free);
            }

            // Compute.
            for j in 0..TN as usize {
                for i in 0..TM as usize {
                    let i = if j % 2 == 0 { i } else { TM as usize - 1 - i };
                    acc[i][j] = a_frag[i].mul_add(b_frag[j], acc[i][j]);
                }
            }
        }
        p += BK;
    }
    cp_async::wait_group::<0>(); // zeros, which nobody reads
}

/// The first elements of the slices of A and of B that this thread copies. Of A, a warp copies 8 values of 4 rows at once,
/// to 32 banks; of B one row's, each lane so many.
#[inline(always)]
fn shares(width: u32) -> ((u32, u32), (u32, u32)) {
    let tid = thread::thread_idx_x();
    ((tid / 8, tid % 8), (tid / 32, tid % 32 * width))
}

/// Starts to copy columns of A, which are transposed, and rows of B from p on, W neighbours of B at a time.
///
/// # Safety
/// `a` and `b` are this thread's [`shares`], nobody uses the stage at `target`. Without EDGE, the block's BM rows and BN
/// columns are inside; where W is VEC, the rows of B are at multiples of 16 bytes.
#[inline(always)]
unsafe fn copy_slices<const W: u32, const EDGE: bool>(g: &Gemm, p: u32, a: *const f32, b: *const f32, target: u32) {
    let ((a_row, a_col), (b_row, b_col)) = shares(W);
    for i in (0..BM).step_by(THREADS as usize / 8) {
        for d in (0..BK).step_by(8) {
            let is_inside = (!EDGE | (a_row + i < g.m)) & (p + a_col + d < g.k);
            let target = target + ((a_col + d) * A_PITCH + a_row + i) * 4;
            // SAFETY: rows below BM, columns below BK; what is not inside A is not read.
            unsafe { cp_async::copy_or_zero::<1>(target, a.wrapping_add(i as usize * g.lda + d as usize), is_inside) };
        }
    }
    for d in (0..BK).step_by(THREADS as usize / 32) {
        for j in (0..BN).step_by(32 * W as usize) {
            let is_inside = (!EDGE | (b_col + j < g.n)) & (p + b_row + d < g.k);
            let target = target + (BK * A_PITCH + (b_row + d) * BN + b_col + j) * 4;
            // SAFETY: rows below BK, columns below BN; what is not inside B is not read; aligned by the caller's promise.
            unsafe { cp_async::copy_or_zero::<W>(target, b.wrapping_add(d as usize * g.ldb + j as usize), is_inside) };
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
