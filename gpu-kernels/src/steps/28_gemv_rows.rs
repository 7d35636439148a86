//! gemv-rows: a warp for each row of the matrix.
//!
//! ```text
//!        k                        B (k, 1)
//!   A ┌────────────────────┐       ┌─┐
//!     │0 1 2 .. 31 0 1 2 ..│ warp 0│ │   a lane: vectors of 16 bytes, 128 elements apart
//!     ├────────────────────┤       │ │
//!     │0 1 2 .. 31 0 1 2 ..│ warp 1│ │
//!     └────────────────────┘       └─┘
//! ```
//!
//! Changed since gemv: no thread waits for another warp. Where a row is short, a product takes little more than the latency of its
//! loads, and barriers, shared memory and sums of other warps would be most of the rest. A warp has one row, whose elements are adjacent,
//! and reads the vector itself: it is in the L1 cache after the first. Blocks are small, so that a few hundred rows are enough for all
//! SMs. A long k may still be divided over a cluster.
//!
//! Source: none of the seeds; cuBLAS's `gemvNSP`, which has a warp for each row.

use crate::hardware::WARP;
use crate::mainloop::gemv::SIDE;
use crate::{Element, Precision, Schedule, Step, Target, Tile};
#[cfg(feature = "device")]
use half::{bf16, f16};

/// Rows of a block, each a warp's.
const ROWS: u32 = 8;
const THREADS: u32 = ROWS * WARP;
/// What a split's k is a multiple of: elements that a warp loads at once.
const BK: u32 = WARP * SIDE;

/// A step, without its names.
const fn step(precision: Precision, element: Element) -> Step {
    Step {
        base: Some("gemv"),
        summary: "a matrix times a vector, a warp for each row: short rows take little more than the latency of their loads",
        source: "cuBLAS, gemv; none of the seeds",
        precision,
        output: element,
        target: Target::Sm90a,
        tile: Tile { bm: ROWS, bn: 1, bk: BK, tm: 1, tn: 1 },
        block: [THREADS, 1, 1],
        schedule: Schedule::PlannedSplitK { blocks_per_sm: 4, reduction_k: 1024 },
        dynamic_smem_bytes: crate::Splits::MAX_CLUSTER * ROWS * 4,
        ..Step::PLAIN
    }
}

/// This step's entry in the registry: f32.
pub const STEP: Step = Step { variants: ALL.split_at(1).1, ..ALL[0] };

/// Declares a kernel and a [`Step`] for each element type.
macro_rules! kernels {
    ($($kernel:ident $slug:literal $precision:ident $input:ident $element:ident;)*) => {
        const ALL: &[Step] = &[$(Step {
            slug: $slug,
            kernel: stringify!($kernel),
            fused: Some(stringify!($kernel)),
            ..step(Precision::$precision, Element::$element)
        }),*];

        $(
            #[cfg(feature = "device")]
            crate::planned::planned_kernel! {
                $kernel, launch_bounds(THREADS, 4), $input => $input, kernel::run::<$input>
            }
        )*
    };
}

kernels! {
    sgemm_gemv_rows "gemv-rows" Fp32 f32 F32;
    gemv_rows_f16 "gemv-rows/f16" F16 f16 F16;
    gemv_rows_bf16 "gemv-rows/bf16" Bf16 bf16 Bf16;
}

/// What runs on the device.
#[cfg(feature = "device")]
pub mod kernel {
    use super::*;
    use crate::Coord;
    use crate::epilogue::fused::Fused;
    use crate::epilogue::partial_tile::Target;
    use crate::gemm::Gemm;
    use crate::mainloop::gemv::{Load, Strided, reduction, warp_row};
    use crate::planned::{Planned, PlannedBlock};
    use crate::ptx::cluster;
    use cuda_std::prelude::*;
    use cuda_std::warp;

    /// # Safety
    /// As of the kernels.
    #[inline(always)]
    pub(super) unsafe fn run<I: Load>(g: Gemm, fused: Fused<I>, planned: Planned) {
        planned.wait();
        let block = PlannedBlock::new(planned.planes);
        reduction::begin(block);

        // tile coordinates
        let warp = thread::thread_idx_x() / WARP;
        let (row, col) = (thread::block_idx_y() * ROWS + warp, thread::block_idx_x());
        let problem = block.problem as usize;
        let a = g.a.cast::<I>().wrapping_add(problem * planned.a_stride as usize + row as usize * g.lda); // (1, k)
        let b = g.b.cast::<I>().wrapping_add(problem * planned.b_stride as usize + col as usize);
        let vector = Strided { start: b, along_k: g.ldb as u32, across: 1 };
        let k_tiles = block.k_tiles(g.k.div_ceil(BK));
        let k = (k_tiles.start * BK).min(g.k)..(k_tiles.end * BK).min(g.k);

        // SAFETY: every lane of a warp has the same row, in bounds or with nothing to load; the column is in bounds.
        unsafe {
            // mainloop
            let k = if row < g.m { k } else { 0..0 };
            let mut sum = warp_row::sum(a, vector, k);

            // epilogue
            if block.cluster > 1 {
                let sums = shared::dynamic_shared_mem::<f32>(); // (cluster, ROWS), of the first block
                cluster::wait(); // that block has begun
                if warp::lane_id() == 0 {
                    let place = sums.add((block.rank * ROWS + warp) as usize);
                    cluster::store(shared::address(place), 0, sum);
                }
                cluster::sync(); // all sums are there
                if block.rank > 0 {
                    return;
                }
                sum = 0.0;
                for rank in 0..block.cluster {
                    sum += *sums.add((rank * ROWS + warp) as usize);
                }
            }
            if row < g.m && warp::lane_id() == 0 {
                let (offset, tile) = (planned.offset_of_c(block), Coord { row, col });
                let target = Target { g: &g, tile, offset, is_f32: planned.c_is_f32 };
                reduction::store(target, fused, Coord { row: 0, col: 0 }, sum);
            }
        }
    }
}
