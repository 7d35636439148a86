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
    use crate::mainloop::warp_specialized::{Ring, Stage, finish, load_multicast, produce};
    use crate::mainloop::warp_tile::{for_each, fragment, outer_product, thread_coord};
    use crate::mainloop::{LANES_M, LANES_N, WorkTile};
    use crate::ptx::cluster;
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
            let mut ring = Ring::new(STAGES, STAGE * 4, CONSUMER_THREADS); // stages of (CLUSTER, BK, SHARE) of A, (BK, BN) of B

            if thread::thread_idx_x() < CONSUMER_THREADS {
                // mainloop
                let mut acc = [[0.0f32; TN]; TM];
                consume(&ring, k_tiles, &mut acc);
                // epilogue
                if row < g.m && col < g.n {
                    let g = g.block_at(row, col);
                    let is_full_tile = is_full_tile(&g, BM, BN);
                    let thread = thread_coord::<WARPS_N, TM, TN>();
                    for_each(thread, false, &acc, |row, col, acc| store_4(&g, is_full_tile, row, col, acc));
                }
            } else {
                // global to shared (producer)
                let tile = WorkTile { row, col, k_tiles: 0..k_tiles };
                produce(&mut ring, core::iter::once(tile), |stage, tile, k_tile| {
                    load(stage, tile, k_tile, Ab { a: a_map, b: b_map })
                });
            }
            finish();
        }
    }

    /// Issues the TMA loads of a k-tile: this block's share of A's to all blocks of the cluster, and B's.
    #[inline(always)]
    fn load(stage: Stage, Coord { row, col }: Coord, k_tile: u32, maps: Ab<*const TensorMap>) {
        let (rank, k) = (cluster::rank(), k_tile * BK);
        let a = stage.address + rank * BK * SHARE * 4;
        // SAFETY: the boxes are those of the maps, and fill the stage, together with what the other blocks load.
        unsafe {
            load_multicast::<CLUSTER>(a, maps.a, Coord { row: k, col: row + rank * SHARE }, stage.full);
            tensor::load(stage.address + BK * BM * 4, maps.b, k, col, stage.full);
        }
    }

    /// acc += A*B over the k-tiles. Stage and phase are computed from the k-tile: with the ring's own state
    /// (`Ring::consumer_wait`) the kernel is 1.4 % slower at 2048 on an H200.
    ///
    /// # Safety
    /// The consumer warps call it.
    #[inline(always)]
    unsafe fn consume(ring: &Ring<CLUSTER>, k_tiles: u32, acc: &mut [[f32; TN]; TM]) {
        let lane = thread::thread_idx_x() % WARP;
        let Coord { row, col } = thread_coord::<WARPS_N, TM, TN>();
        let (share, row) = (row / SHARE, row % SHARE);
        // BK, opaque to the compilers: the whole k-tile, unrolled, would not fit into the instruction cache.
        let depth = BK + thread::block_dim_x() - THREADS;
        let smem = shared::dynamic_shared_mem::<f32>(); // (STAGES, STAGE)
        for k_tile in 0..k_tiles {
            let (stage, phase) = (k_tile % STAGES, k_tile / STAGES % 2);
            // SAFETY: row and col are a fragment's in SHARE x BN, and the rows that are read are below BK.
            unsafe {
                let a_smem = smem.wrapping_add((stage * STAGE) as usize); // (CLUSTER, BK, SHARE)
                let b_smem = a_smem.wrapping_add((BK * BM) as usize).add(col as usize).cast_const(); // (BK, BN)
                let a_smem = a_smem.add((share * BK * SHARE + row) as usize).cast_const();
                ring.full.add(stage).wait(phase);
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
                    ring.empty.add(stage).arrive_at(lane); // each block loads for both
                }
            }
        }
    }
}
