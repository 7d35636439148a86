//! gemv: a matrix times a few vectors, at the speed of memory.
//!
//! ```text
//!   n few:                          m few:
//!        k            FEW                 k           columns in blocks of 64
//!   A ┌───────┐     B ┌─┐ k           A ┌───────┐     B ┌──┬──┬──┐
//!     ├───────┤ 64    │ │           FEW └───────┘       │  │  │  │ k
//!     ├───────┤       │ │                               │  │  │  │
//!     └───────┘       └─┘                               └──┴──┴──┘
//! ```
//!
//! Changed since split-k: nothing is tiled for reuse, since each element of the matrix is used FEW times at most, from a register. What
//! counts is the bytes in flight: a thread loads 64 of them ahead, in vectors of 16 bytes along k or along the rows, whichever are
//! adjacent in memory. So no operand has to be transposed. Where vectors are not aligned, adjacent lanes load adjacent words, or
//! elements. The vectors are in shared memory, where threads that share a k read them. The threads of a block share k as well as
//! rows, and the plan may divide it further: over the blocks of a cluster, and over clusters.
//!
//! A block has 64 rows of the matrix, and of k, what its split has of it. Where there are fewer rows, more threads share k. All sums
//! are made in one order: of a thread along k, of the threads of a block, of the blocks of a cluster. A block of `narrow` has 64 bytes of
//! rows, so that a few hundred rows are enough for all SMs, without a second launch.
//!
//! Source: none of the seeds; what cuBLAS has as `gemv` and `gemmk1`, and the worklog's rule that such products are bound by memory.

use crate::mainloop::gemv::reduction::smem_bytes;
use crate::mainloop::gemv::{BK, ROWS, SIDE, THREADS};
use crate::{Element, Precision, Schedule, Step, Target, Tile, Transposed};
#[cfg(feature = "device")]
use half::{bf16, f16};

/// Up to FEW vectors.
struct Gemv<const FEW: usize>;

impl<const FEW: usize> Gemv<FEW> {
    /// The vectors are columns of B.
    const COLUMNS: Tile = Tile { bm: ROWS, bn: FEW as u32, bk: BK, tm: SIDE, tn: FEW as u32 };
    /// The vectors are rows of A.
    const ROWS: Tile = Tile { bm: FEW as u32, bn: ROWS, bk: BK, tm: FEW as u32, tn: SIDE };

    /// Rows of A again, with 64 bytes of columns: more blocks where there are few columns.
    const fn narrow(element_bytes: u32) -> Tile {
        Tile { bn: 64 / element_bytes, ..Self::ROWS }
    }

    /// A step of one of these tiles, without its names, with so many CTA slots per SM.
    const fn step(tile: Tile, blocks_per_sm: u32, precision: Precision, output: Element) -> Step {
        // For more vectors, there is more to multiply, and to reduce.
        let reduction_k = if FEW == 1 { 16 * BK } else { 4 * BK };
        Step {
            base: Some("split-k"),
            summary: "a matrix times a few vectors at the speed of memory: many loads in flight, k divided until the SMs are busy",
            source: "cuBLAS, gemv; none of the seeds",
            precision,
            output,
            target: Target::Sm90a,
            tile,
            block: [THREADS, 1, 1],
            schedule: Schedule::PlannedSplitK { blocks_per_sm, reduction_k, is_busy: false },
            transposed: Transposed::Read,
            dynamic_smem_bytes: smem_bytes(FEW as u32, precision.input().bytes()),
            sides: [if FEW == 1 { 1 } else { 2 }, u32::MAX],
            ..Step::PLAIN
        }
    }
}

/// This step's entry in the registry: one column.
pub const STEP: Step = Step { variants: ALL.split_at(1).1, ..ALL[0] };

/// A step without its slug.
macro_rules! named {
    ($kernel:ident, $shape:ty, $blocks:literal, $tile:expr, $precision:ident, $element:ident) => {
        Step {
            kernel: stringify!($kernel),
            fused: Some(stringify!($kernel)),
            ..<$shape>::step($tile, $blocks, Precision::$precision, Element::$element)
        }
    };
}

/// Declares a kernel for each element type and number of vectors, and two or three [`Step`]s of it: the grid tells the kernel which.
macro_rules! kernels {
    ($($kernel:ident $columns:literal $rows:literal $($narrow:literal)? $shape:ty, $blocks:literal, $precision:ident $input:ident $element:ident;)*) => {
        const ALL: &[Step] = &[$(
            Step { slug: $columns, ..named!($kernel, $shape, $blocks, <$shape>::COLUMNS, $precision, $element) },
            Step { slug: $rows, ..named!($kernel, $shape, $blocks, <$shape>::ROWS, $precision, $element) },
            $(Step {
                slug: $narrow,
                ..named!($kernel, $shape, $blocks, <$shape>::narrow(Element::$element.bytes()), $precision, $element)
            },)?
        )*];

        $(
            #[cfg(feature = "device")]
            crate::epilogue::fusion::planned_kernel! {
                $kernel, launch_bounds(THREADS, $blocks), $input => $input, <$shape>::run::<$input>,
                a_transposed: u32, b_transposed: u32
            }
        )*
    };
}

kernels! {
    sgemm_gemv "gemv" "gemv/row" "gemv/row-narrow" Gemv<1>, 4, Fp32 f32 F32;
    sgemm_gemv_8 "gemv/8" "gemv/8-rows" Gemv<8>, 2, Fp32 f32 F32;
    gemv_f16 "gemv/f16" "gemv/f16-row" "gemv/f16-row-narrow" Gemv<1>, 3, F16 f16 F16;
    gemv_f16_8 "gemv/f16-8" "gemv/f16-8-rows" Gemv<8>, 2, F16 f16 F16;
    gemv_bf16 "gemv/bf16" "gemv/bf16-row" "gemv/bf16-row-narrow" Gemv<1>, 3, Bf16 bf16 Bf16;
    gemv_bf16_8 "gemv/bf16-8" "gemv/bf16-8-rows" Gemv<8>, 2, Bf16 bf16 Bf16;
}

/// What runs on the device.
#[cfg(feature = "device")]
pub mod kernel {
    use super::*;
    use crate::Coord;
    use crate::epilogue::fused::Fused;
    use crate::epilogue::partial_tile::Target;
    use crate::gemm::Gemm;
    use crate::mainloop::gemv::{Load, Share, Strided, publish_sums, reduction};
    use crate::planned::Planned;
    use cuda_std::prelude::*;

    impl<const FEW: usize> Gemv<FEW> {
        /// # Safety
        /// As of the kernels.
        #[inline(always)]
        pub(super) unsafe fn run<I: Load>(
            g: Gemm,
            fused: Fused<I>,
            a_transposed: u32,
            b_transposed: u32,
            planned: Planned,
        ) {
            let block = planned.begin();
            reduction::begin(block);

            // tile coordinates
            let is = |tile: Tile| {
                (thread::grid_dim_x(), thread::grid_dim_y()) == (g.n.div_ceil(tile.bn), g.m.div_ceil(tile.bm))
            };
            let are_columns = is(Self::COLUMNS); // where it is both, there is one block
            let tile = match are_columns {
                true => Self::COLUMNS,
                false if is(Self::ROWS) => Self::ROWS,
                false => Self::narrow(size_of::<I>() as u32),
            };
            let most_rows = if are_columns { tile.bm } else { tile.bn };
            let (row, col) = (thread::block_idx_y() * tile.bm, thread::block_idx_x() * tile.bn);
            let problem = block.problem as usize;
            let strides = |transposed: bool, ld: usize| if transposed { (ld as u32, 1) } else { (1, ld as u32) };
            let operand = |start: *const f32, stride: u64, first: u32, (along_k, across): (u32, u32)| Strided {
                start: start.cast::<I>().wrapping_add(problem * stride as usize + first as usize * across as usize),
                along_k,
                across,
            };
            let a = operand(g.a, planned.a_stride, row, strides(a_transposed != 0, g.lda));
            let b = operand(g.b, planned.b_stride, col, strides(b_transposed == 0, g.ldb));
            let (m, n) = (g.m - row, g.n - col);
            let ((matrix, rows), (vectors, few)) = if are_columns { ((a, m), (b, n)) } else { ((b, n), (a, m)) };
            let k_tiles = block.k_tiles(g.k.div_ceil(BK));
            let k = (k_tiles.start * BK).min(g.k)..(k_tiles.end * BK).min(g.k);

            // shared memory
            let smem = shared::dynamic_shared_mem::<f32>();

            // SAFETY: every thread of the cluster is here, with this step's shared memory; the grid covers C, so the tile starts in
            // bounds, and what is stored is in bounds of it.
            unsafe {
                // mainloop
                let placement =
                    publish_sums::<I, FEW>(Share { matrix, vectors, rows: rows.min(most_rows), few, k }, smem);

                // epilogue
                let (offset, tile) = (planned.offset_of_c(block), Coord { row, col });
                let target = Target { g: &g, tile, offset, is_f32: planned.c_is_f32 };
                reduction::reduce::<I, FEW>(block, placement, few.min(FEW as u32), smem, |i, f, sum| {
                    if i < rows.min(most_rows) && f < few {
                        let at = if are_columns { Coord { row: i, col: f } } else { Coord { row: f, col: i } };
                        reduction::store(target, fused, at, sum);
                    }
                });
            }
        }
    }
}
