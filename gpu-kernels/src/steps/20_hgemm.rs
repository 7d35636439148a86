//! hgemm: the tensor cores, on f16 or bf16, with sums in f32.
//!
//! ```text
//!   a stage: A (BM, 64)    rows along k      ─┐   two warpgroups, each 64 x BN of C:
//!            B (64, BN)    rows across k,    ─┴►  four products of 64 x BN x 16, and on to the next stage
//!                          64 columns at a time    while they are computed
//! ```
//!
//! Changed since tma-multicast: no thread multiplies. A warpgroup tells the tensor cores where in shared memory its operands
//! are (`wgmma`), and goes on; its threads keep the sums. Two warpgroups multiply, and one warp of a third feeds them
//! (`src/ring.rs`). B needs no transposition: for elements of 16 bits the tensor cores read it either way. A block stays on
//! its multiprocessor and goes from tile to tile, so that the next tile's operands come while C is written. A thread's sums are
//! pairs in many rows; they go to C through shared memory, so that whole lines are stored (`src/staging.rs`).
//!
//! What bounds it on an H200 (Nsight Compute, at 4096): the tensor cores are at work in 90 % of all cycles, in those of cuBLAS's
//! kernel of the same tile in 91 %. Of the rest, a third is the last wave, as 512 tiles do not fill 132 multiprocessors evenly;
//! and C is written while nothing is multiplied, because two sets of sums do not fit into the registers. A tile for each
//! warpgroup, one storing while the other multiplies, does not fit through shared memory: products read 80 of its 128 bytes a
//! cycle, and copies write the other 48. At long load it is the chip's power, for which the clock falls. Tried beside this:
//! clusters, which read B once for two blocks (they pay where power is short), tiles of 128 x 128, C straight from the registers
//! (half sectors: far slower), bands of 8, 16 and 32 rows of tiles (no difference).
//!
//! Source: the worklog's closing words, "I may look into tensor cores"; CUTLASS's persistent, cooperative kernels for Hopper.

use crate::align::align;
use crate::fragment::Output;
use crate::gemm::Gemm;
use crate::ptx::tensor::{self, TensorMap};
use crate::ptx::wgmma::{self, Matrix, ROW_BYTES, ROWS, STEP_BYTES};
use crate::ptx::{cluster, compiler, mbarrier::Mbarrier};
use crate::ring::{self, BLOCK_ROWS, Ring, Stage};
use crate::staging::{self, Rows, Staging};
use crate::{Element, MapBox, Operand, Precision, Schedule, Step, Target, Tile, persistent_tile};
use cuda_std::prelude::*;
use half::{bf16, f16};

const BM: u32 = BLOCK_ROWS;
/// Elements in a row of shared memory.
const ROW: u32 = ROW_BYTES / 2;
const BK: u32 = ROW;
/// Depth of a product.
const DEPTH: u32 = STEP_BYTES / 2;

/// What A and B are made of.
trait Input {
    const PRECISION: Precision;

    /// # Safety
    /// As of [`wgmma::f16_across`].
    unsafe fn product<const ACC: usize>(acc: &mut [f32; ACC], a: Matrix, b: Matrix, adds: bool);
}

impl Input for f16 {
    const PRECISION: Precision = Precision::F16;

    #[inline(always)]
    unsafe fn product<const ACC: usize>(acc: &mut [f32; ACC], a: Matrix, b: Matrix, adds: bool) {
        // SAFETY: by the caller's promise.
        unsafe { wgmma::f16_across(acc, a, b, adds) }
    }
}

impl Input for bf16 {
    const PRECISION: Precision = Precision::Bf16;

    #[inline(always)]
    unsafe fn product<const ACC: usize>(acc: &mut [f32; ACC], a: Matrix, b: Matrix, adds: bool) {
        // SAFETY: by the caller's promise.
        unsafe { wgmma::bf16_across(acc, a, b, adds) }
    }
}

/// A kernel for tiles of 128 x 2 ACC, in clusters of so many blocks, which share B.
struct Hgemm<const ACC: usize, const CLUSTER: u32, const STAGES: u32>;

impl<const ACC: usize, const CLUSTER: u32, const STAGES: u32> Hgemm<ACC, CLUSTER, STAGES> {
    const BN: u32 = 2 * ACC as u32;
    const A_BYTES: u32 = BM * ROW_BYTES;
    /// Of ROW columns of B.
    const PANEL_BYTES: u32 = BK * ROW_BYTES;
    const PANELS: u32 = Self::BN / ROW;
    const STAGE_BYTES: u32 = Self::A_BYTES + Self::PANELS * Self::PANEL_BYTES;
    const RING_BYTES: u32 = ring::smem_bytes(STAGES, Self::STAGE_BYTES);

    /// A step of this shape: its names are to be filled in.
    const fn step<I: Input>(output: Element) -> Step {
        assert!(Self::PANELS.is_multiple_of(CLUSTER), "each block of a cluster brings as many panels of B");
        let element = I::PRECISION.input();
        Step {
            base: Some("tma-multicast"),
            summary: "the tensor cores, on f16 or bf16: wgmma, two warpgroups fed by a third, block stays for many tiles",
            source: "S. Boehm (2022), closing words; CUTLASS, persistent cooperative kernels for Hopper",
            precision: I::PRECISION,
            output,
            target: Target::Sm90a,
            tile: Tile { bm: BM, bn: Self::BN, bk: BK, tm: 2, tn: ACC as u32 / 2 },
            block: [ring::THREADS, 1, 1],
            cluster: [CLUSTER, 1, 1],
            schedule: Schedule::Persistent,
            prepasses: const { &[align(Operand::A, Element::F16), align(Operand::B, Element::F16)] },
            maps: Some([
                MapBox { element, rows: BM, columns: ROW, swizzled: true },
                MapBox { element, rows: BK, columns: ROW, swizzled: true },
            ]),
            dynamic_smem_bytes: staging::smem_bytes(Self::RING_BYTES),
            ..Step::PLAIN
        }
    }

    /// # Safety
    /// As the kernels.
    #[inline(always)]
    unsafe fn run<I: Input, O: Output>(g: &Gemm, maps: [*const TensorMap; 2]) {
        let (rows, columns, slices) = (g.m.div_ceil(BM), g.n.div_ceil(Self::BN), g.k.div_ceil(BK));
        // SAFETY: what is copied to a stage fills it, and is read before it is released; no block ends before its cluster.
        unsafe {
            let mut ring = Ring::<CLUSTER>::start(STAGES, Self::STAGE_BYTES);
            if ring::feeds() {
                ring::give_registers();
                if thread::thread_idx_x() == 0 {
                    for [row, column] in ring::tiles::<CLUSTER>(rows, columns, BM) {
                        for slice in 0..slices {
                            let (stage, full) = ring.fill();
                            Self::copy(stage, full, [row * BM, column * Self::BN, slice * BK], maps);
                        }
                    }
                }
            } else {
                ring::take_registers();
                let staging = Staging::behind(Self::RING_BYTES);
                let mut acc = [0.0; ACC];
                for number in ring::numbers::<CLUSTER>(rows, columns) {
                    let last = Self::accumulate::<I>(&mut ring, slices, &mut acc);
                    // While the last products are computed.
                    let [row, column] = persistent_tile(compiler::anew(number), [rows, columns], BM, CLUSTER);
                    wgmma::wait::<0, ACC>(&mut acc);
                    ring.release_before(last);
                    let place = [row * BM + ring::consumer() * ROWS, column * Self::BN];
                    staging.store::<Rows, O, ACC>(g, place, &acc);
                }
            }
            ring::finish();
        }
    }

    /// Has the copy engine bring a slice of A, and this block's share of B's.
    #[inline(always)]
    unsafe fn copy(stage: Stage, full: Mbarrier, [row, col, depth]: [u32; 3], [a_map, b_map]: [*const TensorMap; 2]) {
        // SAFETY: the boxes fill the stage, which is free in all blocks of the cluster.
        unsafe {
            tensor::copy(stage.address, a_map, row, depth, full);
            for panel in (0..Self::PANELS).filter(|panel| CLUSTER == 1 || panel % CLUSTER == cluster::rank()) {
                let target = stage.address + Self::A_BYTES + panel * Self::PANEL_BYTES;
                ring::bring::<CLUSTER>(target, b_map, [depth, col + panel * ROW], full);
            }
        }
    }

    /// The sums of the slices' products. A slice's products are started before those of the one before it are done.
    #[inline(always)]
    unsafe fn accumulate<I: Input>(ring: &mut Ring<CLUSTER>, slices: u32, acc: &mut [f32; ACC]) -> Option<Stage> {
        // SAFETY: a stage is full when it is read, and released when its products are done.
        unsafe {
            let mut before = None;
            for _ in 0..slices {
                let stage = ring.take();
                let a = Matrix::along_k(stage.address + ring::consumer() * ROWS * ROW_BYTES);
                let b = Matrix::across_k(stage.address + Self::A_BYTES, Self::PANEL_BYTES);
                wgmma::fence();
                for step in 0..BK / DEPTH {
                    let adds = before.is_some() || step > 0;
                    I::product(acc, a.add(step * STEP_BYTES), b.add(step * DEPTH * ROW_BYTES), adds);
                }
                wgmma::commit();
                wgmma::wait_before::<1>();
                ring.release_before(before.replace(stage));
            }
            before
        }
    }
}

/// This step's entry in the registry: f16.
pub const STEP: Step = Step { variants: ALL.split_at(1).1, ..ALL[0] };

/// Makes a kernel and a [`Step`] of each kind of elements and shape.
macro_rules! kernels {
    ($($kernel:ident $slug:literal $shape:ty, $input:ty, $output:ty, $element:ident;)*) => {
        const ALL: &[Step] = &[$(Step {
            slug: $slug,
            kernel: stringify!($kernel),
            ..<$shape>::step::<$input>(Element::$element)
        }),*];

        $($crate::gemm::gemm_kernel! {
            $kernel, $crate::ring::THREADS, 1, $input => $output,
            |g, a_map: *const TensorMap, b_map: *const TensorMap| <$shape>::run::<$input, $output>(&g, [a_map, b_map])
        })*
    };
}

kernels! {
    hgemm_f16 "hgemm" Hgemm<128, 1, 4>, f16, f16, F16;
    hgemm_f16_cluster "hgemm/cluster" Hgemm<128, 2, 4>, f16, f16, F16;
    hgemm_f16_128x128 "hgemm/128x128" Hgemm<64, 1, 6>, f16, f16, F16;
    hgemm_f16_f32 "hgemm/f32" Hgemm<128, 1, 4>, f16, f32, F32;
    hgemm_bf16 "hgemm/bf16" Hgemm<128, 1, 4>, bf16, bf16, Bf16;
    hgemm_bf16_cluster "hgemm/bf16-cluster" Hgemm<128, 2, 4>, bf16, bf16, Bf16;
    hgemm_bf16_128x128 "hgemm/bf16-128x128" Hgemm<64, 1, 6>, bf16, bf16, Bf16;
    hgemm_bf16_f32 "hgemm/bf16-f32" Hgemm<128, 1, 4>, bf16, f32, F32;
}
