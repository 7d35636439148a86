//! The mainloop of the fastest SIMT steps: TMA loads k-tiles of A and B, and the consumer warps also transpose A.
//!
//! ```text
//!   TMA ──► a_stage_raw (BM, BK) ── every warp transposes a share ──► a_smem (BK, BM) ──┐
//!    │                                                                                  ├──► fragments of every warp
//!    └────────────────────────────────────────────────────► b_smem (BK, BN) ────────────┘
//! ```
//!
//! While k-tile t is computed, k-tile t+1 is transposed into its stage, and the TMA loads of later ones are in flight. One
//! `full` barrier per stage suffices. A warp arrives on k-tile t+1's barrier while it computes k-tile t. Hence, when `full[t]`
//! completes, every warp has (a) finished reading k-tile t-2, so its stage may be refilled, and (b) finished transposing A of
//! k-tile t, so its raw stage may be refilled. No `empty` barrier is needed, and no producer warp: it would leave fewer
//! registers to the warps that compute.

use crate::hardware::{VEC, WARP};
use crate::mainloop::{LANES_M, LANES_N};
use crate::prepass::align::align;
use crate::prepass::transpose::TRANSPOSE_A;
use crate::{Ab, Element, Extent, Operand, Step, Target, Tile, TmaBox};

#[cfg(feature = "device")]
mod pipeline;

/// A block of `WARPS_M` x `WARPS_N` warps, each with 8 x 4 lanes of TM x TN accumulators, in k-tiles of BK.
pub(crate) struct Pipeline<
    const WARPS_M: u32,
    const WARPS_N: u32,
    const TM: usize,
    const TN: usize,
    const BK: u32,
    const STAGES: u32,
    const TRANSPOSES: bool,
>;

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
    pub const BM: u32 = WARPS_M * LANES_M * TM as u32;
    pub const BN: u32 = WARPS_N * LANES_N * TN as u32;
    pub const THREADS: u32 = WARPS_M * WARPS_N * WARP;
    const STAGE: u32 = BK * (Self::BM + Self::BN);
    /// k-tiles from the TMA load to its use: of the stages, one is computed, and one may still be read.
    const AHEAD: u32 = STAGES - 2;
    /// Stages of A as TMA loads it, before it is transposed.
    const RAW_STAGES: u32 = Self::AHEAD + 1;
    const RAW_STAGE: u32 = if TRANSPOSES { Self::BM * BK } else { 0 };
    pub const SMEM_BYTES: u32 =
        (STAGES * Self::STAGE + Self::RAW_STAGES * Self::RAW_STAGE) * 4 + (STAGES + Self::RAW_STAGES) * 8;

    /// A step of this shape, without its names.
    pub const STEP: Step = {
        assert!(TM.is_multiple_of(VEC as usize) && TN.is_multiple_of(VEC as usize), "fragments are read VEC at a time");
        assert!(STAGES >= 3, "one stage is computed, one filled, and one may still be read");
        assert!(!TRANSPOSES || BK == 16 || BK == 32, "a row of A's k-tile has 64 or 128 bytes: a TMA swizzle");
        assert!(Self::BN <= 256, "a TMA box has at most 256 columns");
        Step {
            target: Target::Sm90a,
            tile: Tile { bm: Self::BM, bn: Self::BN, bk: BK, tm: TM as u32, tn: TN as u32 },
            block: [Self::THREADS, 1, 1],
            prepasses: if TRANSPOSES {
                &[align(Operand::A, Element::F32), align(Operand::B, Element::F32)]
            } else {
                &[TRANSPOSE_A, align(Operand::B, Element::F32)]
            },
            maps: Some(Ab {
                a: if TRANSPOSES {
                    TmaBox { element: Element::F32, extent: Extent { rows: Self::BM, cols: BK }, swizzled: true }
                } else {
                    TmaBox { element: Element::F32, extent: Extent { rows: BK, cols: Self::BM }, swizzled: false }
                },
                b: TmaBox { element: Element::F32, extent: Extent { rows: BK, cols: Self::BN }, swizzled: false },
            }),
            dynamic_smem_bytes: Self::SMEM_BYTES,
            ..Step::PLAIN
        }
    };
}
