//! gemv-rows: threads of one warp, or of one block, for each row of the matrix.
//!
//! ```text
//!        k                        B (k, 1)
//!   A ┌────────────────────┐       ┌─┐
//!     │0 1 2 .. 31 0 1 2 ..│ warp 0│ │   a lane: 16 bytes of each of four rows, and of these twice as many
//!     │0 1 2 .. 31 0 1 2 ..│       │ │
//!     ├────────────────────┤       │ │
//!     │0 1 2 .. 31 0 1 2 ..│ warp 1│ │
//!     └────────────────────┘       └─┘
//! ```
//!
//! Changed since gemv: a row is read by threads that are adjacent, each of which reads the vector itself: it is in the L1 cache after the
//! first. Where a row is short, a product takes little more than the latency of its loads, and barriers, shared memory and sums of other
//! warps would be most of the rest. So the threads of a row are as many as there is to load:
//!
//! - a warp, which waits for no other, for four rows: so many loads are in flight, however short rows are, and what a lane has of the
//!   vector it has for all four;
//! - a warp, for one row, where there are not as many rows as that;
//! - a block, where rows are few or long: all SMs have some, before k is divided over a cluster;
//! - two lanes at least, where rows are many and short. A block copies its rows to shared memory, as the one array that they are.
//!
//! Rows of 16-bit elements are loaded 16 bytes at a time wherever they begin: what belongs to them of the vector is shifted to them.
//!
//! Source: none of the seeds; cuBLAS's `gemvNSP`, which has a warp for each row.

use crate::hardware::WARP;
use crate::mainloop::gemv::{SIDE, staged_rows};
use crate::{Element, Precision, Schedule, Splits, Step, Target, Tile};
#[cfg(feature = "device")]
use half::{bf16, f16};

/// So many threads have as many rows at once, with so many loads of each in flight.
struct Rows<const LANES: u32, const AT_ONCE: usize, const LOADS: usize>;

type OfWarp = Rows<WARP, 4, 2>;
type Single = Rows<WARP, 1, 4>;
type OfBlock = Rows<BLOCK, 1, 4>;
type Staged = Rows<STAGED, 1, 4>;

/// As many as have a row of a block that stages its rows, and a whole block.
const STAGED: u32 = 2;
const BLOCK: u32 = 256;

impl<const LANES: u32, const AT_ONCE: usize, const LOADS: usize> Rows<LANES, AT_ONCE, LOADS> {
    const THREADS: u32 = if LANES == STAGED { 128 } else { BLOCK };
    /// Blocks of an SM: as many as have shared memory there, or 80 registers for each thread, or 64.
    const BLOCKS_PER_SM: u32 = match LANES {
        STAGED => 7,
        WARP if AT_ONCE > 1 => 3,
        _ => 4,
    };
    /// Rows of a block.
    const ROWS: u32 = Self::THREADS / LANES * AT_ONCE as u32;
    /// What a split's k is a multiple of: elements that the threads of a row load at once.
    const BK: u32 = LANES * SIDE;
    /// Values of shared memory: sums of the blocks of a cluster, then of a block's warps or rows, and the rows.
    const CLUSTER_VALUES: u32 = Splits::MAX_CLUSTER * Self::ROWS;
    const BLOCK_VALUES: u32 = if LANES == STAGED { Self::ROWS } else { Self::THREADS / WARP };
    const STAGED_VALUES: u32 = if LANES == STAGED { staged_rows::VALUES } else { 0 };

    /// A step, without its names.
    const fn step(precision: Precision, element: Element) -> Step {
        let reduction_k = match LANES {
            STAGED => 1024,
            WARP => 512,
            _ => 2048,
        };
        Step {
            base: Some("gemv"),
            summary: "a matrix times a vector, a warp or a block for each row: short rows take little more than the latency of their loads",
            source: "cuBLAS, gemv; none of the seeds",
            precision,
            output: element,
            target: Target::Sm90a,
            tile: Tile { bm: Self::ROWS, bn: 1, bk: Self::BK, tm: AT_ONCE as u32, tn: 1 },
            block: [Self::THREADS, 1, 1],
            schedule: Schedule::PlannedSplitK { blocks_per_sm: Self::BLOCKS_PER_SM, reduction_k, is_busy: false },
            // Of several vectors, the others share what a warp or block loads of the matrix better.
            sides: [1, if LANES == WARP && AT_ONCE == 1 { 1 } else { u32::MAX }],
            dynamic_smem_bytes: (Self::CLUSTER_VALUES + Self::BLOCK_VALUES + Self::STAGED_VALUES) * 4,
            ..Step::PLAIN
        }
    }
}

/// This step's entry in the registry: f32, a warp for each row.
pub const STEP: Step = Step { variants: ALL.split_at(1).1, ..ALL[0] };

/// Declares a kernel and a [`Step`] for each number of threads and element type.
macro_rules! kernels {
    ($($kernel:ident $slug:literal $rows:ident, $precision:ident $input:ident $element:ident;)*) => {
        const ALL: &[Step] = &[$(Step {
            slug: $slug,
            kernel: stringify!($kernel),
            fused: Some(stringify!($kernel)),
            ..<$rows>::step(Precision::$precision, Element::$element)
        }),*];

        $(
            #[cfg(feature = "device")]
            crate::epilogue::fusion::planned_kernel! {
                $kernel, launch_bounds(<$rows>::THREADS, <$rows>::BLOCKS_PER_SM), $input => $input, <$rows>::run::<$input>
            }
        )*
    };
}

kernels! {
    sgemm_gemv_rows "gemv-rows" OfWarp, Fp32 f32 F32;
    sgemm_gemv_rows_single "gemv-rows/single" Single, Fp32 f32 F32;
    sgemm_gemv_rows_block "gemv-rows/block" OfBlock, Fp32 f32 F32;
    sgemm_gemv_rows_staged "gemv-rows/staged" Staged, Fp32 f32 F32;
    gemv_rows_f16 "gemv-rows/f16" OfWarp, F16 f16 F16;
    gemv_rows_f16_single "gemv-rows/f16-single" Single, F16 f16 F16;
    gemv_rows_f16_block "gemv-rows/f16-block" OfBlock, F16 f16 F16;
    gemv_rows_f16_staged "gemv-rows/f16-staged" Staged, F16 f16 F16;
    gemv_rows_bf16 "gemv-rows/bf16" OfWarp, Bf16 bf16 Bf16;
    gemv_rows_bf16_single "gemv-rows/bf16-single" Single, Bf16 bf16 Bf16;
    gemv_rows_bf16_block "gemv-rows/bf16-block" OfBlock, Bf16 bf16 Bf16;
    gemv_rows_bf16_staged "gemv-rows/bf16-staged" Staged, Bf16 bf16 Bf16;
}

/// What runs on the device.
#[cfg(feature = "device")]
pub mod kernel {
    use super::*;
    use crate::Coord;
    use crate::epilogue::fused::Fused;
    use crate::epilogue::partial_tile::Target;
    use crate::gemm::Gemm;
    use crate::mainloop::gemv::{Load, Strided, reduction, row};
    use crate::planned::Planned;
    use crate::ptx::cluster;
    use cuda_std::prelude::*;

    impl<const LANES: u32, const AT_ONCE: usize, const LOADS: usize> Rows<LANES, AT_ONCE, LOADS> {
        /// # Safety
        /// As of the kernels.
        #[inline(always)]
        pub(super) unsafe fn run<I: Load>(g: Gemm, fused: Fused<I>, planned: Planned) {
            const { assert!(Self::BK.is_multiple_of(row::ALIGNED)) }
            let block = planned.begin();
            reduction::begin(block);

            // tile coordinates
            let tid = thread::thread_idx_x();
            let (first, col) = (thread::block_idx_y() * Self::ROWS, thread::block_idx_x());
            // Each of the first lanes has the sum of a row of the block.
            let (first_row, lane) = (tid / LANES * AT_ONCE as u32, tid % LANES);
            let (mut row, mut has_row) = (first_row + lane, lane < AT_ONCE as u32);
            let rows = (g.m - first).min(Self::ROWS);
            let problem = block.problem as usize;
            let a = g.a.cast::<I>().wrapping_add(problem * planned.a_stride as usize + first as usize * g.lda); // (rows, k)
            let b = g.b.cast::<I>().wrapping_add(problem * planned.b_stride as usize + col as usize);
            let vector = Strided { start: b, along_k: g.ldb as u32, across: 1 };
            let k_tiles = block.k_tiles(g.k.div_ceil(Self::BK));
            let k = (k_tiles.start * Self::BK).min(g.k)..(k_tiles.end * Self::BK).min(g.k);

            // shared memory
            let cluster_sums = shared::dynamic_shared_mem::<f32>(); // (cluster, ROWS), of the first block
            let block_sums = cluster_sums.wrapping_add(Self::CLUSTER_VALUES as usize);
            let staged = block_sums.wrapping_add(Self::BLOCK_VALUES as usize);

            // SAFETY: every thread is here, with this step's shared memory; rows are in bounds, or have nothing to load; the column is
            // in bounds.
            unsafe {
                // mainloop
                let mut sum;
                if LANES == STAGED && k.len() == g.k as usize && staged_rows::is_possible::<I>(g.k, g.lda) {
                    staged_rows::sums::<I, { Staged::ROWS }, { Staged::THREADS }>(
                        a, vector, rows, g.k, staged, block_sums,
                    );
                    (row, has_row) = (tid, tid < rows);
                    sum = if has_row { *block_sums.add(tid as usize) } else { 0.0 };
                } else {
                    let left = rows.saturating_sub(first_row);
                    let k = if left > 0 { k } else { 0..0 };
                    let of_rows = a.wrapping_add(first_row as usize * g.lda);
                    let of_thread = row::sums::<I, LANES, AT_ONCE, LOADS>(of_rows, g.lda, left, vector, k);
                    let sums = of_thread.map(|of_row| reduction::sum_of_lanes(of_row, LANES.min(WARP)));
                    sum = sums[0];
                    for (other, of_row) in sums.into_iter().enumerate().skip(1) {
                        sum = if lane == other as u32 { of_row } else { sum };
                    }
                    if LANES > WARP {
                        if tid.is_multiple_of(WARP) {
                            *block_sums.add((tid / WARP) as usize) = sum;
                        }
                        thread::sync_threads(); // the sums of all warps are there
                        sum = (0..Self::BLOCK_VALUES as usize).map(|warp| *block_sums.add(warp)).sum();
                    }
                }

                // epilogue
                if block.cluster > 1 {
                    cluster::wait(); // the first block has begun
                    if has_row {
                        let place = cluster_sums.add((block.rank * Self::ROWS + row) as usize);
                        cluster::store(shared::address(place), 0, sum);
                    }
                    cluster::sync(); // all sums are there
                    if block.rank > 0 {
                        return;
                    }
                    sum = 0.0;
                    if has_row {
                        for rank in 0..block.cluster {
                            sum += *cluster_sums.add((rank * Self::ROWS + row) as usize);
                        }
                    }
                }
                if has_row && row < rows {
                    let (offset, tile) = (planned.offset_of_c(block), Coord { row: first + row, col });
                    let target = Target { g: &g, tile, offset, is_f32: planned.c_is_f32 };
                    reduction::store(target, fused, Coord { row: 0, col: 0 }, sum);
                }
            }
        }
    }
}
