//! hgemm: f16 or bf16 operands on the tensor cores, with f32 accumulators.
//!
//! ```text
//!   a stage: A (BM, 64)    k-major           ─┐   two consumer warpgroups, each 64 x BN of C:
//!            B (64, BN)    n-major,          ─┴►  four MMAs of 64 x BN x 16 per k-tile, asynchronous
//!                          panels of 64 columns
//! ```
//!
//! Changed since tma-multicast: no thread multiplies. A warpgroup issues `wgmma`, whose operands the tensor cores read from
//! shared memory; its threads hold the accumulators. Two warpgroups are consumers, one is the producer
//! (`mainloop/warp_specialized`). B needs no transposition: elements of 16 bits may be n-major. A cluster of two blocks shares
//! B. Blocks are persistent, and two things of a tile overlap another one's mainloop: its first TMA loads, and its epilogue.
//! Two sets of accumulators do not fit into the registers; but as elements of 16 bits C takes half of theirs, and is stored
//! behind the MMAs of the next tile (`epilogue/deferred.rs`). It goes through shared memory, so that every store writes whole
//! 128-byte lines.
//!
//! Bound by power on an H200: within a few launches the clock falls from 1980 to 1500 MHz, under sustained load to 1400. By
//! clock stamps at 4096, a tile's MMAs of 65 536 cycles take 66 200, and packing C 270; undeferred stores took 2700. One tile
//! per warpgroup (ping-pong) is bound by shared memory, whose bandwidth is 128 bytes per cycle: MMAs read 80 of them, TMA loads
//! write 48. Measured without gain: tiles of 256 x 192 and, at 4096, of 128 x 128; C^T = B^T A^T; two MMAs of 64 x 128 for each of
//! 64 x 256; a lag between the warpgroups; bulk copies of rows of C; k back and forth; clusters of four, which leave SMs over.
//! Stores straight from registers (half sectors) are far slower.
//!
//! Source: the worklog's closing words, "I may look into tensor cores"; CUTLASS's persistent cooperative kernels for Hopper.

use crate::epilogue::staged_smem_bytes;
use crate::hardware::SWIZZLE_BYTES;
use crate::mainloop::warp_specialized::{self, BLOCK_ROWS};
use crate::prepass::align::align;
use crate::{Ab, Element, Extent, Group, Operand, Precision, Schedule, Step, Target, Tile, TmaBox};
#[cfg(feature = "device")]
use half::{bf16, f16};

const BM: u32 = BLOCK_ROWS;
/// Elements in a row of shared memory.
const ROW: u32 = SWIZZLE_BYTES / 2;
const BK: u32 = ROW;

/// Tiles of 128 x 2 ACC, in clusters of CLUSTER blocks, which share B.
struct Hgemm<const ACC: usize, const CLUSTER: u32, const STAGES: u32>;

impl<const ACC: usize, const CLUSTER: u32, const STAGES: u32> Hgemm<ACC, CLUSTER, STAGES> {
    const BN: u32 = 2 * ACC as u32;
    const TILE: Tile = Tile { bm: BM, bn: Self::BN, bk: BK, tm: 2, tn: ACC as u32 / 2 };
    const A_BYTES: u32 = BM * SWIZZLE_BYTES;
    /// A panel: ROW columns of B.
    const PANEL_BYTES: u32 = BK * SWIZZLE_BYTES;
    const PANELS: u32 = Self::BN / ROW;
    const STAGE_BYTES: u32 = Self::A_BYTES + Self::PANELS * Self::PANEL_BYTES;
    const GROUP: Group = Group::sharing(Operand::B, CLUSTER);
    const RING_BYTES: u32 = warp_specialized::smem_bytes(STAGES, Self::STAGE_BYTES);

    /// A step of this shape, without its names.
    const fn step(precision: Precision, output: Element) -> Step {
        assert!(Self::PANELS.is_multiple_of(CLUSTER), "each block of a cluster loads as many panels of B");
        let element = precision.input();
        Step {
            base: Some("tma-multicast"),
            summary: "f16 or bf16 on the tensor cores: wgmma, two consumer warpgroups and a producer, persistent blocks",
            source: "S. Boehm (2022), closing words; CUTLASS, persistent cooperative kernels for Hopper",
            precision,
            output,
            target: Target::Sm90a,
            tile: Self::TILE,
            block: [warp_specialized::THREADS, 1, 1],
            cluster: [CLUSTER, 1, 1],
            schedule: Schedule::Persistent { group: Self::GROUP },
            prepasses: const { &[align(Operand::A, Element::F16), align(Operand::B, Element::F16)] },
            maps: Some(Ab {
                a: TmaBox { element, extent: Extent { rows: BM, cols: ROW }, swizzled: true },
                b: TmaBox { element, extent: Extent { rows: BK, cols: ROW }, swizzled: true },
            }),
            dynamic_smem_bytes: staged_smem_bytes(Self::RING_BYTES, warp_specialized::CONSUMERS),
            ..Step::PLAIN
        }
    }
}

/// This step's entry in the registry: f16.
pub const STEP: Step = Step { variants: ALL.split_at(1).1, ..ALL[0] };

/// Declares a kernel and a [`Step`] for each element type and shape.
macro_rules! kernels {
    ($($kernel:ident $slug:literal $shape:ty, $precision:ident $input:ident => $element:ident $output:ident;)*) => {
        const ALL: &[Step] = &[$(Step {
            slug: $slug,
            kernel: stringify!($kernel),
            fused: Some(concat!(stringify!($kernel), "_fused")),
            ..<$shape>::step(Precision::$precision, Element::$element)
        }),*];

        $(
            #[cfg(feature = "device")]
            crate::epilogue::fusion::gemm_kernels! {
                $kernel, launch_bounds(warp_specialized::THREADS, 1), $input => $output,
                <$shape>::run::<$input, $output>,
                a_map: &crate::ptx::tensor::TensorMap, b_map: &crate::ptx::tensor::TensorMap
            }
        )*
    };
}

kernels! {
    hgemm_f16 "hgemm" Hgemm<128, 2, 4>, F16 f16 => F16 f16;
    hgemm_f16_no_cluster "hgemm/no-cluster" Hgemm<128, 1, 4>, F16 f16 => F16 f16;
    hgemm_f16_128x128 "hgemm/128x128" Hgemm<64, 1, 6>, F16 f16 => F16 f16;
    hgemm_f16_f32 "hgemm/f32" Hgemm<128, 1, 4>, F16 f16 => F32 f32;
    hgemm_bf16 "hgemm/bf16" Hgemm<128, 2, 4>, Bf16 bf16 => Bf16 bf16;
    hgemm_bf16_no_cluster "hgemm/bf16-no-cluster" Hgemm<128, 1, 4>, Bf16 bf16 => Bf16 bf16;
    hgemm_bf16_128x128 "hgemm/bf16-128x128" Hgemm<64, 1, 6>, Bf16 bf16 => Bf16 bf16;
    hgemm_bf16_f32 "hgemm/bf16-f32" Hgemm<128, 1, 4>, Bf16 bf16 => F32 f32;
}

/// What runs on the device.
#[cfg(feature = "device")]
pub mod kernel {
    use super::*;
    use crate::epilogue::deferred::Deferred;
    use crate::epilogue::direct::Output;
    use crate::epilogue::fusion::Fusion;
    use crate::epilogue::staged::StagingBuffer;
    use crate::gemm::Gemm;
    use crate::hardware::WGMMA_M;
    use crate::mainloop::warp_specialized::{CONSUMER_REGS, CONSUMER_THREADS, PRODUCER_REGS, Ring, Stage};
    use crate::ptx::tensor::{self, TensorMap};
    use crate::ptx::wgmma::{self, Descriptor, Input, WGMMA_K_BYTES};
    use crate::ptx::{cluster, compiler};
    use crate::{Coord, persistent_tile};

    /// Depth of an MMA.
    const DEPTH: u32 = WGMMA_K_BYTES / 2;

    impl<const ACC: usize, const CLUSTER: u32, const STAGES: u32> Hgemm<ACC, CLUSTER, STAGES> {
        /// # Safety
        /// As of the kernels.
        #[inline(always)]
        pub(super) unsafe fn run<I: Input, O: Output>(
            g: Gemm,
            fusion: impl Fusion<O>,
            a_map: *const TensorMap,
            b_map: *const TensorMap,
        ) {
            // tile coordinates
            let tiles = Extent { rows: g.m.div_ceil(BM), cols: g.n.div_ceil(Self::BN) };
            let k_tiles = g.k.div_ceil(BK);
            // SAFETY: TMA loads fill a stage, which is read before it is released; no block exits before its cluster.
            unsafe {
                let mut ring = Ring::<CLUSTER>::new(STAGES, Self::STAGE_BYTES, CONSUMER_THREADS);
                if warp_specialized::is_producer() {
                    // global to shared (producer)
                    wgmma::setmaxnreg_dec::<PRODUCER_REGS>();
                    let work = warp_specialized::work_tiles(tiles, Self::TILE, Self::GROUP, k_tiles);
                    warp_specialized::produce(&mut ring, work, |stage, tile, k_tile| {
                        Self::load(stage, tile, k_tile, Ab { a: a_map, b: b_map });
                    });
                } else {
                    wgmma::setmaxnreg_inc::<CONSUMER_REGS>();
                    let mut deferred = Deferred::new(StagingBuffer::behind(Self::RING_BYTES));
                    let pace = <Deferred<O, ACC>>::pace(k_tiles);
                    let mut acc = [0.0; ACC];
                    let mut indices = warp_specialized::tile_indices(tiles, Self::GROUP);
                    loop {
                        let index = indices.next();
                        if index.is_none() || k_tiles < <Deferred<O, ACC>>::K_TILES {
                            deferred.store(&g); // no mainloop follows that is long enough
                        }
                        let Some(index) = index else { break };
                        // mainloop
                        let last = Self::mainloop::<I>(&mut ring, k_tiles, &mut acc, |k_tile| {
                            deferred.store_behind(&g, k_tile, pace);
                        });
                        // While the last MMAs execute.
                        let Coord { row, col } = persistent_tile(compiler::opaque(index), tiles, BM, Self::GROUP);
                        wgmma::wait_acc::<0, ACC>(&mut acc);
                        ring.consumer_release_previous(last);

                        // epilogue
                        let row = row * BM + warp_specialized::consumer() * WGMMA_M;
                        let at = Coord { row, col: col * Self::BN };
                        fusion.store_or_defer(&g, &mut deferred, at, &mut acc);
                    }
                }
                warp_specialized::finish();
            }
        }

        /// Issues the TMA loads of a k-tile: A, and this block's share of the panels of B.
        #[inline(always)]
        unsafe fn load(stage: Stage, Coord { row, col }: Coord, k_tile: u32, maps: Ab<*const TensorMap>) {
            let k = k_tile * BK;
            // SAFETY: the boxes fill the stage, which is empty in all blocks of the cluster.
            unsafe {
                tensor::load(stage.address, maps.a, row, k, stage.full);
                for panel in (0..Self::PANELS).filter(|panel| CLUSTER == 1 || panel % CLUSTER == cluster::rank()) {
                    let target = stage.address + Self::A_BYTES + panel * Self::PANEL_BYTES;
                    let at = Coord { row: k, col: col + panel * ROW };
                    warp_specialized::load_multicast::<CLUSTER>(target, maps.b, at, stage.full);
                }
            }
        }

        /// acc = A*B over the k-tiles. The MMAs of a k-tile are issued before those of the one before it complete, and execute while
        /// `meanwhile` is called; the stage that the last ones read is returned.
        #[inline(always)]
        unsafe fn mainloop<I: Input>(
            ring: &mut Ring<CLUSTER>,
            k_tiles: u32,
            acc: &mut [f32; ACC],
            mut meanwhile: impl FnMut(u32),
        ) -> Option<Stage> {
            // SAFETY: a stage is full when it is read, and released when its MMAs are complete.
            unsafe {
                let mut previous = None;
                for k_tile in 0..k_tiles {
                    let stage = ring.consumer_wait();
                    let a_smem = stage.address + warp_specialized::consumer() * WGMMA_M * SWIZZLE_BYTES;
                    let a = Descriptor::k_major(a_smem); // (64, BK)
                    let b = Descriptor::mn_major(stage.address + Self::A_BYTES, Self::PANEL_BYTES); // (BK, BN)
                    wgmma::fence();
                    for i in 0..BK / DEPTH {
                        let accumulate = previous.is_some() || i > 0;
                        I::mma::<ACC, 0, 1>(
                            acc,
                            a.add(i * WGMMA_K_BYTES),
                            b.add(i * DEPTH * SWIZZLE_BYTES),
                            accumulate,
                        );
                    }
                    wgmma::commit_group();
                    wgmma::wait_group::<1>();
                    ring.consumer_release_previous(previous.replace(stage));
                    meanwhile(k_tile);
                }
                previous
            }
        }
    }
}
