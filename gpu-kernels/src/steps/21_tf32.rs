//! tf32: f32 operands on the tensor cores, which read their first 19 bits (a significand of 11).
//!
//! ```text
//!   wgmma reads 32-bit elements k-major only: A is, B is not.
//!   C^T = B^T * A^T:    the left operand comes from registers; the way it is read transposes B:
//!        B (32, 128) in shared memory ──► fragments of B^T ─┐
//!        A (256, 32) in shared memory ─────────────────────┴► 64 columns x 256 rows of C per warpgroup
//! ```
//!
//! Changed since hgemm: the roles of A and B. A warpgroup computes 256 rows and 64 columns of C. It loads fragments of B from
//! shared memory, in TMA's swizzle, while the MMAs of the k-tile before execute. The assignment of columns to lanes makes these
//! loads free of bank conflicts. A cluster of two blocks shares A.
//!
//! By measurement the TMA of an SM takes 1.9 cycles for each line of 128 bytes, and a row of a box that begins between lines is two.
//! The 384 rows of a k-tile are too many then, beside 1024 cycles of MMAs; with half of A's they are 256. At 4092 on an H200 this
//! takes 388 us, without clusters 501.
//!
//! Bound by the tensor cores on an H200 at 4096 (Nsight Compute): active in 90 % of all cycles, those of cuBLAS's kernel in
//! 88 %. Then the power limit: this kernel needs fewer cycles, and its clock is lower in proportion.
//!
//! Source: the worklog's closing words; CUTLASS's kernels with one operand in registers.

use crate::epilogue::staged_smem_bytes;
use crate::hardware::SWIZZLE_BYTES;
use crate::mainloop::warp_specialized::{self, BLOCK_ROWS};
use crate::prepass::align::align;
use crate::{Ab, Element, Extent, Group, Operand, Precision, Schedule, Step, Target, Tile, TmaBox};

const BN: u32 = BLOCK_ROWS;
/// Elements in a row of shared memory.
const BK: u32 = SWIZZLE_BYTES / 4;
/// A panel: BK columns of B.
const PANEL_BYTES: u32 = BK * SWIZZLE_BYTES;
const PANELS: u32 = BN / BK;

/// Tiles of 2 ACC x 128, computed as C^T, in clusters of CLUSTER blocks, which share A.
struct Transposed<const ACC: usize, const CLUSTER: u32, const STAGES: u32>;

impl<const ACC: usize, const CLUSTER: u32, const STAGES: u32> Transposed<ACC, CLUSTER, STAGES> {
    const BM: u32 = 2 * ACC as u32;
    const TILE: Tile = Tile { bm: Self::BM, bn: BN, bk: BK, tm: ACC as u32 / 2, tn: 2 };
    const A_BYTES: u32 = Self::BM * SWIZZLE_BYTES;
    const STAGE_BYTES: u32 = Self::A_BYTES + PANELS * PANEL_BYTES;
    /// Rows of A that each block of a cluster loads.
    const SHARE: u32 = Self::BM / CLUSTER;
    const GROUP: Group = Group::sharing(Operand::A, CLUSTER);
    const RING_BYTES: u32 = warp_specialized::smem_bytes(STAGES, Self::STAGE_BYTES);

    /// A step of this shape, without its names.
    const STEP: Step = Step {
        base: Some("hgemm"),
        summary: "f32 on the tensor cores, truncated to TF32 (19 bits); B through registers, which transposes it",
        source: "S. Boehm (2022), closing words; CUTLASS, wgmma with one operand in registers",
        precision: Precision::Tf32,
        target: Target::Sm90a,
        tile: Self::TILE,
        block: [warp_specialized::THREADS, 1, 1],
        cluster: [CLUSTER, 1, 1],
        schedule: Schedule::Persistent { group: Self::GROUP },
        prepasses: &[align(Operand::A, Element::F32), align(Operand::B, Element::F32)],
        maps: Some(Ab {
            a: TmaBox { element: Element::F32, extent: Extent { rows: Self::SHARE, cols: BK }, swizzled: true },
            b: TmaBox { element: Element::F32, extent: Extent { rows: BK, cols: BK }, swizzled: true },
        }),
        dynamic_smem_bytes: staged_smem_bytes(Self::RING_BYTES, warp_specialized::CONSUMERS),
        ..Step::PLAIN
    };
}

/// This step's entry in the registry.
pub const STEP: Step = Step { variants: ALL.split_at(1).1, ..ALL[0] };

/// Declares a kernel and a [`Step`] for each shape.
macro_rules! kernels {
    ($($kernel:ident $slug:literal $shape:ty;)*) => {
        const ALL: &[Step] = &[$(Step {
            slug: $slug,
            kernel: stringify!($kernel),
            fused: Some(concat!(stringify!($kernel), "_fused")),
            ..<$shape>::STEP
        }),*];

        $(
            #[cfg(feature = "device")]
            crate::epilogue::fusion::gemm_kernels! {
                $kernel, launch_bounds(warp_specialized::THREADS, 1), <$shape>::run,
                a_map: &crate::ptx::tensor::TensorMap, b_map: &crate::ptx::tensor::TensorMap
            }
        )*
    };
}

kernels! {
    sgemm_tf32 "tf32" Transposed<128, 2, 4>;
    sgemm_tf32_no_cluster "tf32/no-cluster" Transposed<128, 1, 4>;
    sgemm_tf32_128x128 "tf32/128x128" Transposed<64, 1, 6>;
}

/// What runs on the device.
#[cfg(feature = "device")]
pub mod kernel {
    use super::*;
    use crate::epilogue::columns::{Columns, column};
    use crate::epilogue::fusion::Fusion;
    use crate::epilogue::staged::StagingBuffer;
    use crate::gemm::Gemm;
    use crate::hardware::WGMMA_M;
    use crate::mainloop::tf32_tile::fragments::{Fragments, MMAS, of_panel};
    use crate::mainloop::warp_specialized::{CONSUMER_REGS, CONSUMER_THREADS, PRODUCER_REGS, Ring, Stage};
    use crate::ptx::tensor::{self, TensorMap};
    use crate::ptx::wgmma::{self, Descriptor, WGMMA_K_BYTES};
    use crate::ptx::{cluster, compiler};
    use crate::{Coord, persistent_tile};

    impl<const ACC: usize, const CLUSTER: u32, const STAGES: u32> Transposed<ACC, CLUSTER, STAGES> {
        /// # Safety
        /// As of the kernels.
        #[inline(always)]
        pub(super) unsafe fn run(g: Gemm, fusion: impl Fusion<f32>, a_map: *const TensorMap, b_map: *const TensorMap) {
            // tile coordinates: opaque, since values that both roles share would occupy registers of the accumulators
            let tiles = || {
                let [rows, cols] = [(g.m, Self::BM), (g.n, BN)].map(|(of, by)| compiler::opaque(of).div_ceil(by));
                (Extent { rows, cols }, compiler::opaque(g.k).div_ceil(2 * BK))
            };
            // SAFETY: TMA loads fill a stage, which is read before it is released; no block exits before its cluster.
            unsafe {
                let mut ring = Ring::<CLUSTER>::new(STAGES, Self::STAGE_BYTES, CONSUMER_THREADS);
                if warp_specialized::is_producer() {
                    // global to shared (producer)
                    wgmma::setmaxnreg_dec::<PRODUCER_REGS>();
                    let (tiles, k_tile_pairs) = tiles();
                    let work = warp_specialized::work_tiles(tiles, Self::TILE, Self::GROUP, 2 * k_tile_pairs);
                    warp_specialized::produce(&mut ring, work, |stage, tile, k_tile| {
                        Self::load(stage, tile, k_tile, Ab { a: a_map, b: b_map });
                    });
                } else {
                    wgmma::setmaxnreg_inc::<CONSUMER_REGS>();
                    let (tiles, k_tile_pairs) = tiles();
                    let staging = StagingBuffer::behind(Self::RING_BYTES);
                    let mut acc = [0.0; ACC];
                    for index in warp_specialized::tile_indices(tiles, Self::GROUP) {
                        // mainloop
                        let (last, fragments) = Self::mainloop(&mut ring, k_tile_pairs, &mut acc);
                        // While the last MMAs execute.
                        let Coord { row, col } = persistent_tile(compiler::opaque(index), tiles, Self::BM, Self::GROUP);
                        wgmma::wait_acc::<0, ACC>(&mut acc);
                        wgmma::pin_fragments(&fragments);
                        ring.consumer_release_previous(last);

                        // epilogue
                        let col = col * BN + warp_specialized::consumer() * WGMMA_M;
                        let at = Coord { row: row * Self::BM, col };
                        fusion.store_staged::<Columns, ACC>(&g, staging, at, &acc);
                    }
                }
                warp_specialized::finish();
            }
        }

        /// Issues the TMA loads of a k-tile: this block's share of A, and B.
        #[inline(always)]
        unsafe fn load(stage: Stage, Coord { row, col }: Coord, k_tile: u32, maps: Ab<*const TensorMap>) {
            let (k, b_smem) = (k_tile * BK, stage.address + Self::A_BYTES);
            // SAFETY: the boxes fill the stage, which is empty in all blocks of the cluster.
            unsafe {
                let share = if CLUSTER == 1 { 0 } else { cluster::rank() * Self::SHARE };
                let (a_smem, at) = (stage.address + share * SWIZZLE_BYTES, Coord { row: row + share, col: k });
                warp_specialized::load_multicast::<CLUSTER>(a_smem, maps.a, at, stage.full);
                for panel in 0..PANELS {
                    tensor::load(b_smem + panel * PANEL_BYTES, maps.b, k, col + panel * BK, stage.full);
                }
            }
        }

        /// acc = (A*B)^T over pairs of k-tiles: the fragments of one are loaded while the MMAs of the other execute.
        #[inline(always)]
        unsafe fn mainloop(ring: &mut Ring<CLUSTER>, pairs: u32, acc: &mut [f32; ACC]) -> (Option<Stage>, Fragments) {
            let (mut previous, mut odd) = (None, [[0.0; 4]; MMAS]);
            let column = warp_specialized::uniform_consumer() * WGMMA_M + column();
            // SAFETY: a stage is full when it is read, and released when its MMAs are complete.
            unsafe {
                for _ in 0..pairs {
                    let (even_stage, even) = Self::issue_mmas(ring, column, acc, previous.is_some());
                    wgmma::wait_group::<1>();
                    wgmma::pin_fragments(&odd);
                    ring.consumer_release_previous(previous);
                    let next = Self::issue_mmas(ring, column, acc, true);
                    wgmma::wait_group::<1>();
                    wgmma::pin_fragments(&even);
                    ring.consumer_release(even_stage);
                    (previous, odd) = (Some(next.0), next.1);
                }
                (previous, odd)
            }
        }

        /// Issues the MMAs of the next k-tile, where this thread has that column. Its fragments must not change until these complete.
        #[allow(clippy::needless_range_loop)] // an iterator would keep the fragments in memory
        #[inline(always)]
        unsafe fn issue_mmas(
            ring: &mut Ring<CLUSTER>,
            column: u32,
            acc: &mut [f32; ACC],
            accumulate: bool,
        ) -> (Stage, Fragments) {
            // SAFETY: the stage is full, and nobody releases it before the MMAs are waited for.
            unsafe {
                let stage = ring.consumer_wait();
                let (b_frag, a) = (Self::fragments(stage, column), Descriptor::k_major(stage.address)); // (BM, BK)
                wgmma::fence();
                for i in 0..MMAS {
                    let a = a.add(i as u32 * WGMMA_K_BYTES);
                    wgmma::tf32_fragments(acc, b_frag[i], a, accumulate || i > 0);
                }
                wgmma::commit_group();
                (stage, b_frag)
            }
        }

        /// This thread's fragments of B^T, whose rows are the columns at `column`, as of [`column`].
        #[inline(always)]
        unsafe fn fragments(stage: Stage, column: u32) -> Fragments {
            let (panel, col) = (column / BK, column % BK);
            let b_smem = stage.words(Self::A_BYTES + panel * PANEL_BYTES); // (BK, BK)
            // SAFETY: it is that panel.
            unsafe { of_panel(b_smem, col) }
        }
    }
}
