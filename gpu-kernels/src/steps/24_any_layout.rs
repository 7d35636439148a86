//! any-layout: small, thin, deep and unaligned problems, transposed or not, in batches or not, without a pre-pass.
//!
//! ```text
//!   A (m, k) or (k, m)   ┐ cp.async,        ┌ a_smem (BK, BM) ┐            z: problems x planes x ranks of a cluster
//!                        ├ which transposes ┤                 ├─► acc ─► partial tile ┐
//!   B (k, n) or (n, k)   ┘                  └ b_smem (BK, BN) ┘          partial tile ├─► C
//!                                                                        partial tile ┘
//! ```
//!
//! Changed since async-copy: both operands are copied in the order that they have, 4 bytes at a time where k is contiguous or rows are
//! not aligned (`mainloop/operand_copy.rs`). So neither TMA nor a pre-pass is needed, which would cost a launch: as long as most of
//! these problems take. Tiles are small, and several blocks per SM hide the latency of each other. The plan says how many blocks
//! share the k of a tile: a cluster, which reduces its partial tiles through distributed shared memory (`epilogue/partial_tile.rs`), and
//! several of them where a cluster is not enough.
//!
//! Source: CUTLASS's SIMT kernels for any layout, with split-K; none of the seeds.

use crate::hardware::VEC;
use crate::mainloop::{LANES_M, LANES_N};
use crate::{Schedule, Step, Target, Tile, Transposed};

/// Floats between the rows of a_smem and of b_smem: copies that transpose go to 32 banks.
const PAD: u32 = VEC;

/// Tiles of BM x BN with TM x TN elements per thread, BK deep. While one k-tile is computed, AHEAD are in flight, and one more is
/// issued.
struct AnyLayout<
    const BM: u32,
    const BN: u32,
    const TM: usize,
    const TN: usize,
    const THREADS: u32,
    const BK: u32,
    const AHEAD: u32,
>;

impl<
    const BM: u32,
    const BN: u32,
    const TM: usize,
    const TN: usize,
    const THREADS: u32,
    const BK: u32,
    const AHEAD: u32,
> AnyLayout<BM, BN, TM, TN, THREADS, BK, AHEAD>
{
    const THREADS: u32 = THREADS;
    /// Rows and columns of a warp tile.
    const WM: u32 = LANES_M * TM as u32;
    const WN: u32 = LANES_N * TN as u32;
    /// Floats from one row of a_smem, and of b_smem and a partial tile, to the next.
    const A_PITCH: u32 = BM + PAD;
    const B_PITCH: u32 = BN + PAD;
    const STAGES: u32 = AHEAD + 2;
    const STAGE: u32 = BK * (Self::A_PITCH + Self::B_PITCH);

    /// A step of this shape, without its names.
    const fn step(blocks_per_sm: u32) -> Step {
        assert!(BM.is_multiple_of(Self::WM) && BN.is_multiple_of(Self::WN), "warp tiles fill the block tile");
        assert!(BM * BN == THREADS * TM as u32 * TN as u32, "and threads fill them");
        let (stages, partial_tile) = (Self::STAGES * Self::STAGE, BM * Self::B_PITCH);
        Step {
            tile: Tile { bm: BM, bn: BN, bk: BK, tm: TM as u32, tn: TN as u32 },
            block: [Self::THREADS, 1, 1],
            dynamic_smem_bytes: 4 * if stages > partial_tile { stages } else { partial_tile },
            schedule: Schedule::PlannedSplitK { blocks_per_sm, least_k: 64 },
            ..Step::PLAIN
        }
    }
}

/// This step's entry in the registry.
pub const STEP: Step = Step { variants: ALL.split_at(1).1, ..ALL[0] };

/// Declares a kernel and a [`Step`] for each shape, with its CTA slots per SM.
macro_rules! kernels {
    ($($kernel:ident $slug:literal $shape:ty, $blocks:literal;)*) => {
        const ALL: &[Step] = &[$(Step {
            slug: $slug,
            kernel: stringify!($kernel),
            fused: Some(concat!(stringify!($kernel), "_fused")),
            base: Some("async-copy"),
            summary: "any order and alignment of A and B, batches, and as many splits of k as the plan says: no pre-pass",
            source: "CUTLASS, SIMT kernels and split-K; none of the seeds",
            target: Target::Sm90a,
            transposed: Transposed::Read,
            ..<$shape>::step($blocks)
        }),*];

        $(
            #[cfg(feature = "device")]
            crate::epilogue::fusion::gemm_kernels! {
                $kernel, launch_bounds(<$shape>::THREADS, $blocks), <$shape>::run,
                a_transposed: u32, b_transposed: u32, a_stride: u64, b_stride: u64, c_stride: u64, c_is_f32: u32,
                planes: u32, plane_stride: u64
            }
        )*
    };
}

kernels! {
    sgemm_any_layout "any-layout" AnyLayout<64, 64, 8, 4, 128, 16, 2>, 4;
    sgemm_any_layout_32x32 "any-layout/32x32" AnyLayout<32, 32, 4, 4, 64, 16, 3>, 8;
    sgemm_any_layout_32x64 "any-layout/32x64" AnyLayout<32, 64, 4, 8, 64, 16, 2>, 8;
    sgemm_any_layout_64x32 "any-layout/64x32" AnyLayout<64, 32, 8, 4, 64, 16, 2>, 8;
    sgemm_any_layout_64x128 "any-layout/64x128" AnyLayout<64, 128, 8, 8, 128, 16, 2>, 3;
    sgemm_any_layout_128x64 "any-layout/128x64" AnyLayout<128, 64, 8, 8, 128, 16, 2>, 3;
    sgemm_any_layout_128x128 "any-layout/128x128" AnyLayout<128, 128, 8, 8, 256, 16, 1>, 2;
    sgemm_any_layout_128x16 "any-layout/128x16" AnyLayout<128, 16, 4, 4, 128, 32, 2>, 4;
}

/// What runs on the device.
#[cfg(feature = "device")]
pub mod kernel {
    use super::*;
    use crate::Coord;
    use crate::epilogue::fusion::Fusion;
    use crate::epilogue::partial_tile::{self, PartialTile};
    use crate::gemm::Gemm;
    use crate::mainloop::operand_copy::{OperandCopy, Source};
    use crate::mainloop::warp_tile::{for_each, fragment, outer_product, thread_coord_in_quads};
    use crate::planned::PlannedBlock;
    use crate::ptx::{compiler, cp_async, f32x4};
    use cuda_std::prelude::*;

    /// Outer products that are unrolled.
    const DEPTH: u32 = 8;

    impl<
        const BM: u32,
        const BN: u32,
        const TM: usize,
        const TN: usize,
        const THREADS: u32,
        const BK: u32,
        const AHEAD: u32,
    > AnyLayout<BM, BN, TM, TN, THREADS, BK, AHEAD>
    {
        /// # Safety
        /// As of the kernels.
        #[allow(clippy::too_many_arguments)] // those of the kernels
        #[inline(always)]
        pub(super) unsafe fn run(
            g: Gemm,
            fusion: impl Fusion<f32>,
            a_transposed: u32,
            b_transposed: u32,
            a_stride: u64,
            b_stride: u64,
            c_stride: u64,
            _c_is_f32: u32,
            planes: u32,
            plane_stride: u64,
        ) {
            // tile coordinates
            let block = PlannedBlock::new(planes);
            let tile = Coord { row: thread::block_idx_y() * BM, col: thread::block_idx_x() * BN };
            let thread = thread_coord_in_quads(BN / Self::WN, TM as u32, TN as u32); // (TM, TN) of (BM, BN)
            let k_tiles = block.k_tiles(g.k.div_ceil(BK));
            let first_k = k_tiles.start * BK;

            // mainloop
            let [a, b, c] = [a_stride, b_stride, c_stride].map(|stride| u64::from(block.problem) * stride);
            let (a, b) = (g.a.wrapping_add(a as usize), g.b.wrapping_add(b as usize));
            let a = Source::new(a, g.lda, a_transposed == 0, g.m, [tile.row, first_k]);
            let b = Source::new(b, g.ldb, b_transposed != 0, g.n, [tile.col, first_k]);
            let mut acc = [[0.0; TN]; TM];
            // SAFETY: every thread of the block is here. The partial tile is where the stages were, which every warp has read; a
            // thread's elements are in it.
            unsafe {
                Self::mainloop([a, b], g.k.saturating_sub(first_k), k_tiles.end - k_tiles.start, thread, &mut acc);

                // epilogue
                let partial = PartialTile::<BM, BN, PAD>::new(shared::dynamic_shared_mem());
                for_each(thread, false, &acc, |row, col, values| f32x4::store(partial.at(Coord { row, col }), values));
                let offset = c + u64::from(block.plane) * plane_stride;
                partial.reduce(block, partial_tile::Target { g: &g, tile, offset, is_f32: true }, fusion);
            }
        }

        /// acc += A (BM, k) * B (k, BN), of so many k-tiles. Zeros replace what is out of bounds. No warp reads a stage any more.
        ///
        /// # Safety
        /// Every thread of the block calls it.
        #[inline(always)]
        unsafe fn mainloop([a, b]: [Source; 2], mut k: u32, k_tiles: u32, thread: Coord, acc: &mut [[f32; TN]; TM]) {
            // shared memory
            let smem = shared::dynamic_shared_mem::<f32>(); // (STAGES, STAGE)

            // global to shared
            // SAFETY: shared memory.
            let stages = unsafe { shared::address(smem) };
            let mut a_copy = OperandCopy::<BM, BK, PAD, THREADS>::new(a, stages);
            let mut b_copy = OperandCopy::<BN, BK, PAD, THREADS>::new(b, stages + BK * Self::A_PITCH * 4);
            let mut stage = 0;

            // mainloop
            for step in 0..k_tiles + Self::STAGES - 1 {
                let is_full = step >= Self::STAGES - 1; // the prologue is over
                if is_full {
                    cp_async::wait_group::<AHEAD>();
                    thread::sync_threads(); // this k-tile is complete, and every warp has read the one before
                }

                // global to shared
                if step < k_tiles {
                    // SAFETY: the stage is free.
                    unsafe {
                        a_copy.issue(k, stage * Self::STAGE * 4);
                        b_copy.issue(k, stage * Self::STAGE * 4);
                    }
                    k = k.saturating_sub(BK);
                }
                cp_async::commit_group();
                stage = if stage == Self::STAGES - 1 { 0 } else { stage + 1 };

                if is_full {
                    // SAFETY: upheld by the caller (see `# Safety`).
                    unsafe { Self::compute(smem.wrapping_add((stage * Self::STAGE) as usize), thread, acc) }
                }
            }
            thread::sync_threads(); // every warp has read the last stage
        }

        /// acc += A (BM, BK) * B (BK, BN), from a stage.
        ///
        /// # Safety
        /// The stage is complete.
        #[inline(always)]
        unsafe fn compute(stage: *const f32, thread: Coord, acc: &mut [[f32; TN]; TM]) {
            let mut a_smem = stage.wrapping_add(thread.row as usize); // (BK, A_PITCH)
            let mut b_smem = stage.wrapping_add((BK * Self::A_PITCH + thread.col) as usize); // (BK, B_PITCH)
            for _ in 0..compiler::opaque(BK / DEPTH) {
                for d in 0..DEPTH {
                    // SAFETY: fragments lie in BM and BN.
                    unsafe {
                        let a_frag: [f32; TM] = fragment(a_smem.add((d * Self::A_PITCH) as usize), LANES_M);
                        let b_frag: [f32; TN] = fragment(b_smem.add((d * Self::B_PITCH) as usize), LANES_N);
                        outer_product(acc, &a_frag, &b_frag);
                    }
                }
                a_smem = a_smem.wrapping_add((DEPTH * Self::A_PITCH) as usize);
                b_smem = b_smem.wrapping_add((DEPTH * Self::B_PITCH) as usize);
            }
        }
    }
}
