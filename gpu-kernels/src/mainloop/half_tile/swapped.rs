//! The tiles of [`HalfTile`], each of which is of the transpose of C, and whose k-tiles may be divided among slices of the consumers.
//!
//! ```text
//!   C = A*B        ROWS x COLS           `wgmma` multiplies 64 rows at once, and any multiple of 8 columns: a C of few rows leaves
//!   Cᵀ = Bᵀ*Aᵀ     COLS x ROWS           less of a tile unused where these are the columns of a tile of Cᵀ
//!
//!   k-tiles   0   1   2   3   4   5      A k-tile of a small tile takes its MMAs less time than their latency, and the wait for it:
//!   slice     0   1   0   1   0   1      the slices' overlap. The first one adds the other's accumulators to its own.
//! ```
//!
//! Operands change places, and each is then stored transposed that was not, which costs nothing. The accumulators are published as rows
//! of C.
//!
//! Source: NVIDIA's cuBLAS, CUTLASS's mixed-input GEMM and vLLM's kernels for decoding, which swap A and B; CUTLASS, sliced-K.

use super::{Ab, HalfTile, Precision, Step, Transposed, WARP};

/// Words between the rows of a partial tile in shared memory: those of four rows that a warp stores at once lie in different banks, eight
/// in each.
pub(crate) const PAD: u32 = 4;

/// Tiles of ROWS x COLS, by COLS / 64 warpgroups of ACC accumulators per thread in each of so many slices.
pub(crate) struct SwappedTile<const ROWS: u32, const COLS: u32, const ACC: usize, const STAGES: u32, const SLICES: u32>;

impl<const ROWS: u32, const COLS: u32, const ACC: usize, const STAGES: u32, const SLICES: u32>
    SwappedTile<ROWS, COLS, ACC, STAGES, SLICES>
{
    pub const THREADS: u32 = SLICES * HalfTile::<COLS, ROWS, ACC, STAGES>::CONSUMER_THREADS + WARP;

    /// A step of this shape, of which an SM holds so many blocks, without its names.
    pub const fn step(precision: Precision, blocks_per_sm: u32) -> Step {
        let step = HalfTile::<COLS, ROWS, ACC, STAGES>::step(precision, blocks_per_sm);
        assert!(ROWS * (COLS + PAD) * 4 <= step.dynamic_smem_bytes, "the partial tile fits where the stages were");
        let (Some(stored), Transposed::Mapped(transposed)) = (step.maps, step.transposed) else {
            panic!("both operands are read through tensor maps");
        };
        Step {
            tile: step.tile.transposed(),
            block: [Self::THREADS, 1, 1],
            maps: Some(Ab { a: transposed.b, b: transposed.a }),
            transposed: Transposed::Mapped(Ab { a: stored.b, b: stored.a }),
            ..step
        }
    }
}
