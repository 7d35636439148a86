//! autotuned: the tile's shape is measured, not chosen.
//!
//! ```text
//!     256 x 128        128 x 256      128 x 128   128 x 64   64 x 64       A transposed before, or on its way;
//!     ┌───────┐    ┌───────────────┐  ┌───────┐    ┌───┐     ┌───┐         one block on a multiprocessor, or several
//!     │       │    │               │  │       │    │   │     └───┘
//!     │       │    └───────────────┘  └───────┘    └───┘
//!     └───────┘
//! ```
//!
//! Changed since tma-multicast: no warp only feeds. A ninth warp leaves each thread 168 registers, into which 8 x 16 sums and
//! two fragments do not fit; and where `setmaxnreg` moves registers from warp to warp, ptxas no longer keeps the operands of
//! an FMA in different register banks. So one thread of those that compute tells the copy engine what to bring, and all
//! transpose A on its way, or a pre-pass has transposed it: `src/pipeline.rs`. The shape is a parameter of the kernel;
//! `cargo xtask tune` measures the variants, and notes the best for each device and shape.
//!
//! Source: the worklog's repository, kernels 9 and 10, whose tuned tile gained a few percent; the tutorial's sequel, CLTune
//! and CLBlast. Here the shape decides between half and all of the speed where C is small.

use crate::Step;
use crate::gemm::Gemm;
use crate::pipeline::{Pipeline, Work, pipeline_kernel};
use cuda_std::prelude::*;

const BASE: &str = "tma-multicast";
const SUMMARY: &str = "every warp computes and transposes; the tile's shape is measured for each device and shape";
const SOURCE: &str = "S. Boehm's repository to the worklog (2022), kernels 9 and 10; C. Nugteren, CLTune and CLBlast";

/// This step's entry in the registry: the shape for large matrices.
pub const STEP: Step = Step { variants: ALL.split_at(1).1, ..ALL[0] };

/// Makes a kernel and a [`Step`] of each shape, given with the blocks that a multiprocessor is to hold.
macro_rules! kernels {
    ($($kernel:ident $slug:literal $shape:ty, $blocks:literal;)*) => {
        const ALL: &[Step] = &[$(Step {
            slug: $slug,
            kernel: stringify!($kernel),
            base: Some(BASE),
            summary: SUMMARY,
            source: SOURCE,
            ..<$shape>::STEP
        }),*];

        $(pipeline_kernel! { $kernel, $shape, $blocks, (), tile() })*
    };
}

kernels! {
    sgemm_autotuned "autotuned" Pipeline<4, 2, 8, 16, 48, 3, false>, 1;
    sgemm_autotuned_256x128x32 "autotuned/256x128x32" Pipeline<4, 2, 8, 16, 32, 4, false>, 1;
    sgemm_autotuned_256x128t "autotuned/256x128t" Pipeline<4, 2, 8, 16, 32, 3, true>, 1;
    sgemm_autotuned_256x128_16x8 "autotuned/256x128-16x8" Pipeline<2, 4, 16, 8, 48, 3, false>, 1;
    sgemm_autotuned_128x256 "autotuned/128x256" Pipeline<2, 4, 8, 16, 24, 4, false>, 1;
    sgemm_autotuned_128x128 "autotuned/128x128" Pipeline<2, 4, 8, 8, 24, 4, false>, 2;
    sgemm_autotuned_128x128_8x16 "autotuned/128x128-8x16" Pipeline<2, 2, 8, 16, 24, 4, false>, 2;
    sgemm_autotuned_128x128t "autotuned/128x128t" Pipeline<2, 4, 8, 8, 16, 4, true>, 1;
    sgemm_autotuned_128x64t "autotuned/128x64t" Pipeline<2, 2, 8, 8, 16, 4, true>, 3;
    sgemm_autotuned_64x128t "autotuned/64x128t" Pipeline<1, 4, 8, 8, 16, 4, true>, 3;
    sgemm_autotuned_64x64t "autotuned/64x64t" Pipeline<1, 2, 8, 8, 16, 4, true>, 4;
}

impl<
    const WARPS_M: u32,
    const WARPS_N: u32,
    const TM: usize,
    const TN: usize,
    const BK: u32,
    const STAGES: u32,
    const TRANSPOSES: bool,
> Pipeline<WARPS_M, WARPS_N, TM, TN, BK, STAGES, TRANSPOSES>
{
    /// The tile at this block's place.
    ///
    /// # Safety
    /// As the kernels.
    #[inline(always)]
    unsafe fn tile(mut self, g: &Gemm) {
        let (row, col) = (thread::block_idx_y() * Self::BM, thread::block_idx_x() * Self::BN);
        let mut acc = Self::zeros();
        // SAFETY: the grid covers C, so the block starts inside it.
        unsafe {
            self.accumulate(&Work { row, col, slices: 0..g.k.div_ceil(BK) }, &mut acc);
            Self::store(g, row, col, &acc);
        }
    }
}
