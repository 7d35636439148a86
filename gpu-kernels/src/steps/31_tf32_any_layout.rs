//! tf32-any-layout: TF32 on the tensor cores, in any order and at any alignment, without a pre-pass.
//!
//! ```text
//!   A (m, k) or (k, m)   ┐ cp.async by     ┌ a stage: order and ┐ fragments            z: problems x planes x ranks of a cluster
//!                        ├ 16 bytes, at    ┤ alignment that the ├───────────► mma.sync ─► acc ─► partial tile ─► C
//!   B (k, n) or (n, k)   ┘ any alignment   └ operand has        ┘
//! ```
//!
//! Changed since tf32-split-k: no TMA, which wants rows at multiples of 16 bytes, and a k-major A. All threads copy the k-tiles, as in
//! any-layout and hgemm-any-layout, and no pre-pass aligns or transposes an operand: a line in shared memory begins as many words behind a
//! multiple of 16 bytes as it does in global memory, so that copies are of 16 bytes at any alignment. `wgmma` reads elements of 32 bits k-major only;
//! `mma.sync` takes fragments in registers, which warps load from lines of either order (`mainloop/square_tile`). Its rate is lower, but
//! results that are narrow wait for memory. Of a narrow tile, no more is copied and multiplied than there is, whichever operand it is.
//!
//! Source: CUTLASS, `mma.sync` kernels for Ampere with operands aligned to one element; none of the seeds.

use crate::Step;
use crate::mainloop::square_tile::SquareTile;

/// This step's entry in the registry.
pub const STEP: Step = Step { variants: ALL.split_at(1).1, ..ALL[0] };

/// Declares a kernel and a [`Step`] for each shape, with its CTA slots per SM.
macro_rules! kernels {
    ($($kernel:ident $slug:literal $shape:ty, $blocks:literal;)*) => {
        const ALL: &[Step] = &[$(Step {
            slug: $slug,
            kernel: stringify!($kernel),
            fused: Some(stringify!($kernel)),
            base: Some("tf32-split-k"),
            summary: "TF32 on the tensor cores in any order and at any alignment, narrow results included: no pre-pass",
            source: "CUTLASS, mma.sync kernels for operands aligned to one element",
            ..<$shape>::step($blocks)
        }),*];

        $(
            #[cfg(feature = "device")]
            crate::epilogue::fusion::planned_kernel! {
                $kernel, launch_bounds(<$shape>::THREADS, $blocks), f32 => f32,
                <$shape>::any_layout,
                a_transposed: u32, b_transposed: u32
            }
        )*
    };
}

kernels! {
    sgemm_tf32_any_layout "tf32-any-layout" SquareTile<128, 4, 3>, 2;
    sgemm_tf32_any_layout_64x64 "tf32-any-layout/64x64" SquareTile<64, 2, 3>, 4;
}
