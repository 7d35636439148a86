//! autotuned: the tile's shape is measured, not chosen.
//!
//! ```text
//!     256 x 128        128 x 256      128 x 128   128 x 64   64 x 64       A transposed by a pre-pass, or by the mainloop;
//!     ┌───────┐    ┌───────────────┐  ┌───────┐    ┌───┐     ┌───┐         one CTA slot per SM, or several
//!     │       │    │               │  │       │    │   │     └───┘
//!     │       │    └───────────────┘  └───────┘    └───┘
//!     └───────┘
//! ```
//!
//! Changed since tma-multicast: no producer warp, so the registers hold two sets of fragments. (Where `setmaxnreg` moves
//! registers between warps, ptxas no longer keeps the operands of an FMA in different register banks.) One consumer thread
//! issues the TMA loads, and all consumers transpose A, unless a pre-pass has done so (`mainloop/simt_tma`). The shape is a
//! parameter of the kernel; `cargo xtask tune` measures the variants, and records the fastest for each device and shape.
//!
//! Source: the worklog's repository, kernels 9 and 10, whose tuned tile gained a few percent; the tutorial's sequel, CLTune
//! and CLBlast. Here the shape decides between half and all of the speed where C is small.

use crate::Step;
use crate::mainloop::simt_tma::Pipeline;

const BASE: &str = "tma-multicast";
const SUMMARY: &str =
    "no producer warp: every warp computes and transposes; the tile's shape is measured per device and shape";
const SOURCE: &str = "S. Boehm's repository to the worklog (2022), kernels 9 and 10; C. Nugteren, CLTune and CLBlast";

/// This step's entry in the registry: the shape for large matrices.
pub const STEP: Step = Step { variants: ALL.split_at(1).1, ..ALL[0] };

/// Declares a kernel and a [`Step`] for each shape, with its CTA slots per SM.
macro_rules! kernels {
    ($($kernel:ident $slug:literal $shape:ty, $blocks:literal;)*) => {
        const ALL: &[Step] = &[$(Step {
            slug: $slug,
            kernel: stringify!($kernel),
            fused: Some(concat!(stringify!($kernel), "_fused")),
            base: Some(BASE),
            summary: SUMMARY,
            source: SOURCE,
            ..<$shape>::STEP
        }),*];

        $(
            #[cfg(feature = "device")]
            crate::epilogue::fusion::gemm_kernels! {
                $kernel, launch_bounds(<$shape>::THREADS, $blocks), <$shape>::autotuned,
                a_map: &crate::ptx::tensor::TensorMap, b_map: &crate::ptx::tensor::TensorMap
            }
        )*
    };
}

kernels! {
    sgemm_autotuned "autotuned" Pipeline<4, 2, 8, 16, 48, 3, false>, 1;
    sgemm_autotuned_256x128x32 "autotuned/256x128x32" Pipeline<4, 2, 8, 16, 32, 4, false>, 1;
    sgemm_autotuned_128x128 "autotuned/128x128" Pipeline<2, 4, 8, 8, 24, 4, false>, 2;
    sgemm_autotuned_64x128t "autotuned/64x128t" Pipeline<1, 4, 8, 8, 16, 4, true>, 3;
    sgemm_autotuned_64x64t "autotuned/64x64t" Pipeline<1, 2, 8, 8, 16, 4, true>, 4;
}

/// What runs on the device.
#[cfg(feature = "device")]
pub mod kernel {
    use super::*;
    use crate::epilogue::fusion::Fusion;
    use crate::gemm::Gemm;
    use crate::mainloop::WorkTile;
    use crate::ptx::tensor::TensorMap;
    use cuda_std::prelude::*;

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
        /// The tile at this block's coordinates.
        ///
        /// # Safety
        /// As of the kernels.
        #[inline(always)]
        pub(super) unsafe fn autotuned(
            g: Gemm,
            fusion: impl Fusion<f32>,
            a_map: *const TensorMap,
            b_map: *const TensorMap,
        ) {
            // SAFETY: every thread of the block is here, with this step's shared memory and maps.
            let mut stages = unsafe { Self::start(a_map, b_map) };
            let (row, col) = (thread::block_idx_y() * Self::BM, thread::block_idx_x() * Self::BN);
            let mut acc = Self::zeros();
            // SAFETY: the grid covers C, so the block starts inside it.
            unsafe {
                Self::mainloop(&mut stages, &WorkTile { row, col, k_tiles: 0..g.k.div_ceil(BK) }, &mut acc);
                Self::store(&g, fusion, row, col, &acc);
            }
        }
    }
}
