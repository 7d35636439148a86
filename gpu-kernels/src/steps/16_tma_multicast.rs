//! tma-multicast: TMA loads k-tiles for a cluster of blocks at once; a producer warp does nothing but issue the loads.
//!
//! ```text
//!   cluster of two blocks: the same rows of A          each block
//!        B (BK, BN)   B (BK, BN)                         producer warp ── full ──► 8 consumer warps
//!   A   ┌──────────┐ ┌──────────┐   each block loads         ▲                        │
//!   BM  │ block 0  │ │ block 1  │   half of A's k-tile,      └──────── empty ─────────┘   of both blocks
//!       └──────────┘ └──────────┘   multicast to both
//! ```
//!
//! Changed since ilp: no thread copies. One thread issues TMA loads of boxes of the operands. Tensor maps hold sizes and
//! strides; elements out of bounds are zero, so no k-tile needs bounds checks. Barriers in shared memory count the bytes
//! written (`full`) and the warps that have read a stage (`empty`). Each block of a cluster loads half of A's k-tile into the
//! shared memory of both (multicast). A pre-pass transposes A; another aligns rows of B to 16 bytes where they are not.
//!
//! A ninth warp leaves 168 registers per thread, too few for 128 accumulators and two sets of fragments: see autotuned.
//!
//! Source: the B200 notes' to-do list, "multi-casted sub-tiles with cluster-launch"; CUTLASS's warp-specialised kernels.

use crate::hardware::WARP;
use crate::prepass::align::align;
use crate::prepass::transpose::TRANSPOSE_A;
use crate::{Ab, Element, Extent, Operand, Step, Target, Tile, TmaBox};

const BM: u32 = 256;
const BN: u32 = 128;
const BK: u32 = 32;
const TM: usize = 8;
const TN: usize = 16;
const CONSUMER_THREADS: u32 = BM / TM as u32 * (BN / TN as u32);
const THREADS: u32 = CONSUMER_THREADS + WARP;
/// Blocks that share A's k-tiles.
const CLUSTER: u32 = 2;
/// Rows of A that each of them loads.
const SHARE: u32 = BM / CLUSTER;
const STAGES: u32 = 4;
const STAGE: u32 = BK * (BM + BN);

/// This step's entry in the registry.
pub const STEP: Step = Step {
    slug: "tma-multicast",
    kernel: "sgemm_tma_multicast",
    base: Some("ilp"),
    summary: "TMA loads, multicast to a cluster of blocks; one producer warp, eight consumer warps",
    source: "B200 SGEMM notes, to do: clusters and multicast; CUTLASS, warp-specialised kernels",
    target: Target::Sm90a,
    tile: Tile { bm: BM, bn: BN, bk: BK, tm: TM as u32, tn: TN as u32 },
    block: [THREADS, 1, 1],
    cluster: [CLUSTER, 1, 1],
    prepasses: &[TRANSPOSE_A, align(Operand::B, Element::F32)],
    maps: Some(Ab {
        a: TmaBox { element: Element::F32, extent: Extent { rows: BK, cols: SHARE }, swizzled: false },
        b: TmaBox { element: Element::F32, extent: Extent { rows: BK, cols: BN }, swizzled: false },
    }),
    dynamic_smem_bytes: STAGES * STAGE * 4 + 2 * STAGES * 8,
    ..Step::PLAIN
};

/// What runs on the device.
#[cfg(feature = "device")]
pub mod kernel {
    use super::*;
    use crate::Coord;
    use crate::epilogue::simt::{is_full_tile, store_4};
    use crate::gemm::{Gemm, gemm_kernel};
    use crate::mainloop::warp_tile::{for_each, fragment, outer_product, thread_coord};
    use crate::mainloop::{LANES_M, LANES_N};
    use crate::ptx::cluster;
    use crate::ptx::mbarrier::Mbarrier;
    use crate::ptx::tensor::{self, TensorMap};
    use cuda_std::prelude::*;

    /// Warps along n.
    const WARPS_N: u32 = BN / (LANES_N * TN as u32);

    /// Depth of the unrolled loop body: more would not fit into the instruction cache.
    const UNROLLED: u32 = 8;

    gemm_kernel! {
        sgemm_tma_multicast, launch_bounds(THREADS, 1), sgemm, a_map: &TensorMap, b_map: &TensorMap
    }

    /// One block tile: C = alpha*A*B + beta*C, where `g.a` is A transposed: (k, m).
    ///
    /// # Safety
    /// As the kernel's.
    #[inline(always)]
    unsafe fn sgemm(g: Gemm, a_map: *const TensorMap, b_map: *const TensorMap) {
        // SAFETY: the barriers are made before anybody uses them, and no block ends before its cluster.
        unsafe {
            // tile coordinates: whole clusters are launched, so a block may be out of bounds of C, and still loads for the other
            let (row, col) = (thread::block_idx_y() * BM, thread::block_idx_x() * BN);
            let k_tiles = g.k.div_ceil(BK);

            // shared memory
            let smem = shared::dynamic_shared_mem::<f32>(); // (STAGES, STAGE)
            let full = Mbarrier::at(smem.wrapping_add((STAGES * STAGE) as usize).cast());
            let stages = Stages { smem, full, empty: full.add(STAGES) };
            if thread::thread_idx_x() == 0 {
                for stage in 0..STAGES {
                    stages.full.add(stage).init(1);
                    stages.empty.add(stage).init(CONSUMER_THREADS / WARP * CLUSTER);
                }
                cluster::fence_barrier_init();
            }
            cluster::sync(); // the barriers of all blocks are initialised

            if thread::thread_idx_x() < CONSUMER_THREADS {
                // mainloop
                let mut acc = [[0.0f32; TN]; TM];
                consume(&stages, k_tiles, &mut acc);
                // epilogue
                if row < g.m && col < g.n {
                    let g = g.block_at(row, col);
                    let is_full_tile = is_full_tile(&g, BM, BN);
                    let thread = thread_coord::<WARPS_N, TM, TN>();
                    for_each(thread, false, &acc, |row, col, acc| store_4(&g, is_full_tile, row, col, acc));
                }
            } else {
                // global to shared (producer)
                produce(&stages, k_tiles, Coord { row, col }, Ab { a: a_map, b: b_map });
                warp::sync_warp(u32::MAX); // the producer lane has rejoined its warp
            }
            cluster::sync(); // no block writes to this one's shared memory any more, nor arrives at its barriers
        }
    }

    /// A ring of stages, and their barriers.
    struct Stages {
        smem: *mut f32,
        /// Completes a phase when the TMA loads have written all bytes of a stage.
        full: Mbarrier,
        /// Completes a phase when the consumer warps of the whole cluster have read a stage.
        empty: Mbarrier,
    }

    impl Stages {
        #[inline(always)]
        fn a_smem(&self, stage: u32) -> *mut f32 {
            self.smem.wrapping_add((stage * STAGE) as usize) // (CLUSTER, BK, SHARE)
        }

        #[inline(always)]
        fn b_smem(&self, stage: u32) -> *mut f32 {
            self.a_smem(stage).wrapping_add((BK * BM) as usize) // (BK, BN)
        }
    }

    /// Issues the TMA loads of the k-tiles, each as soon as its stage is empty.
    ///
    /// # Safety
    /// The producer warp calls it.
    #[inline(always)]
    unsafe fn produce(stages: &Stages, k_tiles: u32, Coord { row, col }: Coord, maps: Ab<*const TensorMap>) {
        if !thread::thread_idx_x().is_multiple_of(WARP) {
            return;
        }
        let rank = cluster::rank();
        for k_tile in 0..k_tiles {
            let (stage, phase) = (k_tile % STAGES, k_tile / STAGES % 2);
            let full = stages.full.add(stage);
            // SAFETY: the boxes are those of the maps, and fill this block's share of A's k-tile, and B's.
            unsafe {
                let a_smem = stages.a_smem(stage).add((rank * BK * SHARE) as usize);
                stages.empty.add(stage).wait(phase ^ 1); // in both blocks
                full.arrive_and_expect(STAGE * 4);
                let (a_smem, blocks) = (shared::address(a_smem), (1 << CLUSTER) - 1); // all of the cluster
                tensor::load_multicast(a_smem, maps.a, k_tile * BK, row + rank * SHARE, full, blocks);
                tensor::load(shared::address(stages.b_smem(stage)), maps.b, k_tile * BK, col, full);
            }
        }
    }

    /// acc += A*B over the k-tiles.
    ///
    /// # Safety
    /// The consumer warps call it.
    #[inline(always)]
    unsafe fn consume(stages: &Stages, k_tiles: u32, acc: &mut [[f32; TN]; TM]) {
        let lane = thread::thread_idx_x() % WARP;
        let Coord { row, col } = thread_coord::<WARPS_N, TM, TN>();
        let (share, row) = (row / SHARE, row % SHARE);
        // BK, opaque to the compilers: the whole k-tile, unrolled, would not fit into the instruction cache.
        let depth = BK + thread::block_dim_x() - THREADS;
        for k_tile in 0..k_tiles {
            let (stage, phase) = (k_tile % STAGES, k_tile / STAGES % 2);
            // SAFETY: row and col are a fragment's in SHARE x BN, and the rows that are read are below BK.
            unsafe {
                let a_smem = stages.a_smem(stage).add((share * BK * SHARE + row) as usize).cast_const();
                let b_smem = stages.b_smem(stage).add(col as usize).cast_const();
                stages.full.add(stage).wait(phase);
                let mut p = 0;
                while p < depth {
                    for d in (p..p + UNROLLED).map(|d| d as usize) {
                        let a_frag = fragment(a_smem.add(d * SHARE as usize), LANES_M);
                        let b_frag = fragment(b_smem.add(d * BN as usize), LANES_N);
                        outer_product(acc, &a_frag, &b_frag);
                    }
                    p += UNROLLED;
                }
                warp::sync_warp(u32::MAX);
                if lane < CLUSTER {
                    stages.empty.add(stage).arrive_at(lane); // each block loads for both
                }
            }
        }
    }
}
