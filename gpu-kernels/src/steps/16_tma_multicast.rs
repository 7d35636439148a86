//! tma-multicast: the copy engine brings tiles to a cluster of blocks at once, and a warp does nothing but tell it to.
//!
//! ```text
//!   cluster of two blocks: the same rows of A          each block
//!        B (BK, BN)   B (BK, BN)                         feeding warp ── full ──► 8 computing warps
//!   A   ┌──────────┐ ┌──────────┐   one half of A's          ▲                        │
//!   BM  │ block 0  │ │ block 1  │   slice from each          └──────── empty ─────────┘   of both blocks
//!       └──────────┘ └──────────┘   block, to both
//! ```
//!
//! Changed since ilp: a thread copies nothing. One thread tells the copy engine which boxes of the operands to bring, by
//! tensor maps, which know sizes and strides: what lies outside is zero, and there are no edges any more. Barriers in shared
//! memory count the bytes that have come (`full`), and the warps that have read a stage (`empty`). Each block of a cluster
//! copies half of A's slice into the shared memory of both. A is transposed before, by a pre-pass; rows of B that do not
//! start at multiples of 16 bytes are copied before.
//!
//! The ninth warp has its price. Three warps of a scheduler share its registers, which leaves 168 for a thread: the sums take
//! 128, so that there are none for the next fragments. autotuned gives the role up.
//!
//! Source: the B200 notes' list of what is to be done, "multi-casted sub-tiles with cluster-launch"; CUTLASS's warp-specialised
//! kernels.

use crate::align::align;
use crate::gemm::Gemm;
use crate::ptx::cluster;
use crate::ptx::mbarrier::Mbarrier;
use crate::ptx::tensor::{self, TensorMap};
use crate::steps::transposed::TRANSPOSE_A;
use crate::tile::{self, LANES_M, LANES_N, WARP};
use crate::{Element, MapBox, Operand, Step, Target, Tile};
use cuda_std::prelude::*;

const BM: u32 = 256;
const BN: u32 = 128;
const BK: u32 = 32;
const TM: usize = 8;
const TN: usize = 16;
/// Warps along n.
const WARPS_N: u32 = BN / (LANES_N * TN as u32);
const COMPUTERS: u32 = BM / TM as u32 * (BN / TN as u32);
const THREADS: u32 = COMPUTERS + WARP;
/// Blocks that share A's slices.
const CLUSTER: u32 = 2;
/// Rows of A that each of them copies.
const PART: u32 = BM / CLUSTER;
const STAGES: u32 = 4;
const STAGE: u32 = BK * (BM + BN);
/// Depth that the loop has as straight code: more would not fit into the instruction cache.
const UNROLLED: u32 = 8;

/// This step's entry in the registry.
pub const STEP: Step = Step {
    slug: "tma-multicast",
    kernel: "sgemm_tma_multicast",
    base: Some("ilp"),
    summary: "tiles by the copy engine, to a cluster of blocks at once; one warp feeds, the others compute",
    source: "B200 SGEMM notes, to do: clusters and multicast; CUTLASS, warp-specialised kernels",
    target: Target::Sm90a,
    tile: Tile { bm: BM, bn: BN, bk: BK, tm: TM as u32, tn: TN as u32 },
    block: [THREADS, 1, 1],
    cluster: [CLUSTER, 1, 1],
    prepasses: &[TRANSPOSE_A, align(Operand::B)],
    maps: Some([
        MapBox { element: Element::F32, rows: BK, columns: PART, swizzled: false },
        MapBox { element: Element::F32, rows: BK, columns: BN, swizzled: false },
    ]),
    dynamic_smem_bytes: STAGES * STAGE * 4 + 2 * STAGES * 8,
    ..Step::PLAIN
};

/// C = alpha*A*B + beta*C: [`crate::KERNEL_ARGUMENTS`], [`crate::MAP_ARGUMENTS`].
///
/// # Safety
/// `a`, `b` and `c` are device buffers of k x m (A is transposed), k x n and m x n with those leading dimensions, the maps
/// are of `a` and `b`; launched as [`STEP`] says.
#[kernel]
#[launch_bounds(THREADS, 1)]
pub unsafe fn sgemm_tma_multicast(
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
    a_map: *const TensorMap,
    b_map: *const TensorMap,
) {
    // SAFETY: the barriers are made before anybody uses them, and no block ends before its cluster.
    unsafe {
        // Placement. Whole clusters are launched: a block may lie outside C, and still copies for the other.
        let g = Gemm::new(m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
        let (row, col) = (thread::block_idx_y() * BM, thread::block_idx_x() * BN);
        let slices = g.k.div_ceil(BK);

        // Shared memory.
        let stages = Stages::new();
        if thread::thread_idx_x() == 0 {
            for stage in 0..STAGES {
                stages.full.add(stage).init(1);
                stages.empty.add(stage).init(COMPUTERS / WARP * CLUSTER);
            }
            cluster::fence_barrier_init();
        }
        cluster::sync(); // the barriers of all blocks are made

        if thread::thread_idx_x() < COMPUTERS {
            let mut acc = [[0.0f32; TN]; TM];
            compute(&stages, slices, &mut acc);
            if row < m && col < n {
                store(&g.block_at(row, col), &acc);
            }
        } else {
            feed(&stages, slices, row, col, a_map, b_map);
            warp::sync_warp(u32::MAX); // the lane that has fed is back
        }
        cluster::sync(); // no block copies to this one any more, nor arrives at its barriers
    }
}

/// A ring of slices, and the barriers of each.
struct Stages {
    smem: *mut f32,
    /// Ends a phase when a stage has all bytes of its slices.
    full: Mbarrier,
    /// ... when the computing warps of the whole cluster have read a stage.
    empty: Mbarrier,
}

impl Stages {
    #[inline(always)]
    unsafe fn new() -> Self {
        let smem = shared::dynamic_shared_mem::<f32>();
        let barriers = smem.wrapping_add((STAGES * STAGE) as usize).cast::<u64>();
        // SAFETY: behind the stages, at a multiple of 8 bytes.
        let full = unsafe { Mbarrier::at(barriers) };
        Self { smem, full, empty: full.add(STAGES) }
    }

    #[inline(always)]
    fn a_smem(&self, stage: u32) -> *mut f32 {
        self.smem.wrapping_add((stage * STAGE) as usize) // (CLUSTER, BK, PART)
    }

    #[inline(always)]
    fn b_smem(&self, stage: u32) -> *mut f32 {
        self.a_smem(stage).wrapping_add((BK * BM) as usize) // (BK, BN)
    }
}

/// Tells the copy engine to bring the slices, each as soon as its stage is empty.
///
/// # Safety
/// The feeding warp calls it.
#[inline(always)]
unsafe fn feed(stages: &Stages, slices: u32, row: u32, col: u32, a_map: *const TensorMap, b_map: *const TensorMap) {
    if !thread::thread_idx_x().is_multiple_of(WARP) {
        return;
    }
    let rank = cluster::rank();
    for slice in 0..slices {
        let (stage, parity) = (slice % STAGES, slice / STAGES % 2);
        let full = stages.full.add(stage);
        // SAFETY: the boxes are those of the maps, and fill this block's part of A's slices, and B's.
        unsafe {
            let a_smem = stages.a_smem(stage).add((rank * BK * PART) as usize);
            stages.empty.add(stage).wait(parity ^ 1); // in both blocks
            full.arrive_and_expect(STAGE * 4);
            tensor::multicast(shared::address(a_smem), a_map, slice * BK, row + rank * PART, full, (1 << CLUSTER) - 1);
            tensor::copy(shared::address(stages.b_smem(stage)), b_map, slice * BK, col, full);
        }
    }
}

/// Adds the products of the slices.
///
/// # Safety
/// The computing warps call it.
#[inline(always)]
unsafe fn compute(stages: &Stages, slices: u32, acc: &mut [[f32; TN]; TM]) {
    let lane = thread::thread_idx_x() % WARP;
    let (row, col) = tile::place::<WARPS_N, TM, TN>();
    let (part, row) = (row / PART, row % PART);
    // No compiler knows that this is BK: a loop over all of it, unrolled, would not fit into the instruction cache.
    let depth = BK + thread::block_dim_x() - THREADS;
    for slice in 0..slices {
        let (stage, parity) = (slice % STAGES, slice / STAGES % 2);
        // SAFETY: row and col are a fragment's in PART x BN, and the rows that are read are below BK.
        unsafe {
            let a_smem = stages.a_smem(stage).add((part * BK * PART + row) as usize).cast_const();
            let b_smem = stages.b_smem(stage).add(col as usize).cast_const();
            stages.full.add(stage).wait(parity);
            let mut p = 0;
            while p < depth {
                for d in (p..p + UNROLLED).map(|d| d as usize) {
                    let a_frag = tile::fragment(a_smem.add(d * PART as usize), LANES_M);
                    let b_frag = tile::fragment(b_smem.add(d * BN as usize), LANES_N);
                    tile::multiply(acc, &a_frag, &b_frag);
                }
                p += UNROLLED;
            }
            warp::sync_warp(u32::MAX);
            if lane < CLUSTER {
                stages.empty.add(stage).arrive_at(lane); // each block copies to both
            }
        }
    }
}

/// C = alpha*acc + beta*C for the tile at the start of `g`.
///
/// # Safety
/// The computing warps call it, and no other block touches this tile of C.
#[inline(always)]
unsafe fn store(g: &Gemm, acc: &[[f32; TN]; TM]) {
    let fits = tile::fits(g, BM, BN);
    // SAFETY: the thread's own elements.
    tile::for_each(tile::place::<WARPS_N, TM, TN>(), false, acc, |row, col, sums| unsafe {
        tile::store(g, fits, row, col, sums);
    });
}
