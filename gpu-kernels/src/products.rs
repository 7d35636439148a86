//! fp32-accurate products of parts on the tensor cores: what fp16x3 and tf32x3 share.
//!
//! ```text
//!   a slice of four: high*low, low*high, high*high ──► even sums ─┐
//!   the next one:                                  ──► odd sums  ─┴► + ──► sums in f32, one's while the other's are computed
//! ```

use crate::fragment::{self, OCTET};
use crate::gemm::Gemm;
use crate::parts::Part;
use crate::ptx::tensor::{self, TensorMap};
use crate::ptx::wgmma::{self, Matrix, ROW_BYTES, ROWS, STEP_BYTES};
use crate::ptx::{cluster, compiler, mbarrier::Mbarrier};
use crate::range::powers;
use crate::ring::{self, BLOCK_ROWS, Ring, Stage};
use crate::{MapBox, NOT_SPLIT, Precision, Schedule, Step, Target, Tile};
use core::marker::PhantomData;
use cuda_std::prelude::*;

const BM: u32 = BLOCK_ROWS;
const A_BYTES: u32 = BM * ROW_BYTES;
/// Bytes from a row's high parts to its low parts.
const LOW: u32 = ROW_BYTES / 2;

/// A kernel for tiles of 128 x 2 ACC, in clusters of so many blocks, which share B.
pub(crate) struct ThreeProducts<P: Part, const ACC: usize, const CLUSTER: u32, const STAGES: u32>(PhantomData<P>);

impl<P: Part, const ACC: usize, const CLUSTER: u32, const STAGES: u32> ThreeProducts<P, ACC, CLUSTER, STAGES> {
    const BN: u32 = 2 * ACC as u32;
    /// A chunk: as deep as a sum in the tensor cores is long.
    const BK: u32 = P::DEPTH;
    const STAGE_BYTES: u32 = A_BYTES + Self::BN * ROW_BYTES;
    /// Parts in a row of a stage.
    const ROW: u32 = 2 * P::DEPTH;
    /// Rows of B that each block of a cluster brings.
    const SHARE: u32 = Self::BN / CLUSTER;

    /// A step of this shape: its names are to be filled in.
    pub const STEP: Step = Step {
        precision: Precision::Fp16x3,
        target: Target::Sm90a,
        tile: Tile { bm: BM, bn: Self::BN, bk: Self::BK, tm: 2, tn: ACC as u32 / 2 },
        block: [ring::THREADS, 1, 1],
        cluster: [CLUSTER, 1, 1],
        schedule: Schedule::Persistent,
        prepasses: P::PREPASSES,
        maps: Some([
            MapBox { element: P::ELEMENT, rows: BM, columns: Self::ROW, swizzled: true },
            MapBox { element: P::ELEMENT, rows: Self::SHARE, columns: Self::ROW, swizzled: true },
        ]),
        dynamic_smem_bytes: ring::smem_bytes(STAGES, Self::STAGE_BYTES),
        ..Step::PLAIN
    };

    /// # Safety
    /// As the kernels.
    #[inline(always)]
    pub unsafe fn run(g: &Gemm, maps: [*const TensorMap; 2], scales: [*const i32; 2]) {
        let (rows, columns) = (g.m.div_ceil(BM), g.n.div_ceil(Self::BN));
        let fours = g.k.div_ceil(4 * Self::BK);
        // SAFETY: what is copied to a stage fills it, and is read before it is released; no block ends before its cluster.
        unsafe {
            let mut ring = Ring::<CLUSTER>::start(STAGES, Self::STAGE_BYTES);
            if ring::feeds() {
                ring::give_registers();
                if thread::thread_idx_x() == 0 {
                    for [row, column] in ring::tiles::<CLUSTER>(rows, columns) {
                        for slice in 0..4 * fours {
                            let (stage, full) = ring.fill();
                            Self::copy(stage, full, [row * BM, column * Self::BN, slice * Self::ROW], maps);
                        }
                    }
                }
            } else {
                ring::take_registers();
                for [row, column] in ring::tiles::<CLUSTER>(rows, columns) {
                    let mut sums = [0.0; ACC];
                    if fours > 0 {
                        Self::accumulate(&mut ring, fours, &mut sums);
                    }
                    let (row, col) = (row * BM + ring::consumer() * ROWS, column * Self::BN);
                    Self::store(g, row + wgmma::row(), col + wgmma::column(), scales, &mut sums);
                }
            }
            ring::finish();
        }
    }

    /// Has the copy engine bring a slice of A, and this block's share of B's.
    #[inline(always)]
    unsafe fn copy(stage: Stage, full: Mbarrier, [row, col, part]: [u32; 3], [a_map, b_map]: [*const TensorMap; 2]) {
        let b = stage.address + A_BYTES;
        // SAFETY: the boxes fill the stage, which is free in all blocks of the cluster.
        unsafe {
            tensor::copy(stage.address, a_map, row, part, full);
            let share = if CLUSTER == 1 { 0 } else { cluster::rank() * Self::SHARE };
            ring::bring::<CLUSTER>(b + share * ROW_BYTES, b_map, [col + share, part], full);
        }
    }

    /// Adds the products of fours of slices. Neighbours have registers of their own, so that one is summed while the other's
    /// sums are added.
    #[inline(always)]
    unsafe fn accumulate(ring: &mut Ring<CLUSTER>, fours: u32, sums: &mut [f32; ACC]) {
        let (mut even, mut odd) = ([0.0; ACC], [0.0; ACC]);
        // SAFETY: a stage is full when it is read, and released when its products are done.
        unsafe {
            for _ in 0..fours {
                let first = Self::multiply(ring, &mut even);
                let second = Self::multiply(ring, &mut odd);
                Self::promote::<1>(ring, first, &mut even, sums);
                let third = Self::multiply(ring, &mut even);
                Self::promote::<1>(ring, second, &mut odd, sums);
                let fourth = Self::multiply(ring, &mut odd);
                Self::promote::<1>(ring, third, &mut even, sums);
                Self::promote::<0>(ring, fourth, &mut odd, sums);
            }
        }
    }

    /// Starts the products of the next slice: those with low parts first, so that less of them is cut off.
    #[inline(always)]
    unsafe fn multiply(ring: &mut Ring<CLUSTER>, acc: &mut [f32; ACC]) -> Stage {
        // SAFETY: the stage is full, and nobody releases it before the products are waited for.
        unsafe {
            let stage = ring.take();
            let a = Matrix::along_k(stage.address + ring::consumer() * ROWS * ROW_BYTES);
            let b = Matrix::along_k(stage.address + A_BYTES);
            wgmma::fence();
            let mut adds = false;
            for parts in 0..3 {
                let (part_a, part_b) = [(0, LOW), (LOW, 0), (0, 0)][parts];
                for step in 0..LOW / STEP_BYTES {
                    P::product(acc, a.add(part_a + step * STEP_BYTES), b.add(part_b + step * STEP_BYTES), adds);
                    adds = true;
                }
            }
            wgmma::commit();
            stage
        }
    }

    /// Waits until all but the last N slices are multiplied, and adds the sums of the one before.
    #[inline(always)]
    unsafe fn promote<const N: u32>(ring: &Ring<CLUSTER>, stage: Stage, acc: &mut [f32; ACC], sums: &mut [f32; ACC]) {
        wgmma::wait::<N, ACC>(acc);
        // SAFETY: its products are done.
        unsafe { ring.release(stage) };
        for i in 0..ACC {
            sums[i] += acc[i];
        }
    }

    /// C = alpha*sums + beta*C, the scaling undone, where this thread's sums begin at `row` and `col`.
    #[inline(always)]
    unsafe fn store(g: &Gemm, row: u32, col: u32, [of_rows, of_columns]: [*const i32; 2], sums: &mut [f32; ACC]) {
        // SAFETY: exponents are read inside A's rows and B's columns, and were written if there was anything to split.
        unsafe {
            // Not before: what is computed of them would be kept in registers all along.
            let (row, col, k) = (compiler::anew(row), compiler::anew(col), compiler::anew(g.k));
            // Beyond the ends the last one's: there is no branch between these loads.
            let of_row = |row: u32| *of_rows.add(row.min(g.m - 1) as usize);
            let of_column = |i: usize| *of_columns.add((col + (i / OCTET * 8 + i % 2) as u32).min(g.n - 1) as usize);
            let mut is_split = true;
            if k > 0 {
                let rows = [of_row(row), of_row(row + 8)];
                is_split = !rows.contains(&NOT_SPLIT);
                for i in 0..ACC / 2 {
                    let i = i / 2 * OCTET + i % 2;
                    let of_column = of_column(i);
                    is_split &= of_column != NOT_SPLIT;
                    for half in 0..2 {
                        let [first, second] = powers(rows[half].wrapping_add(of_column).wrapping_neg());
                        sums[i + 2 * half] = sums[i + 2 * half] * first * second;
                    }
                }
            }
            if is_split {
                fragment::store::<f32, ACC>(g, row, col, sums);
            } else {
                for octet in 0..(ACC / OCTET) as u32 {
                    Self::in_f32(g, row, col + 8 * octet);
                }
            }
        }
    }

    /// An octet's sums, the first one at `row` and `col`, on the CUDA cores; sums of sums, since long ones lose more.
    #[allow(clippy::needless_range_loop)] // an iterator would keep the sums in memory
    #[inline(always)]
    unsafe fn in_f32(g: &Gemm, row: u32, col: u32) {
        let place = |i: usize| (row + i as u32 / 2 * 8, col + i as u32 % 2);
        let mut sums = [0.0; OCTET];
        for first in (0..g.k).step_by(Self::BK as usize) {
            let mut part = [0.0; OCTET];
            for p in first..g.k.min(first + Self::BK) {
                for i in 0..OCTET {
                    let (row, col) = place(i);
                    // SAFETY: rows and columns are cut off at the ends.
                    part[i] = unsafe { (*g.a(row.min(g.m - 1), p)).mul_add(*g.b(p, col.min(g.n - 1)), part[i]) };
                }
            }
            for i in 0..OCTET {
                sums[i] += part[i];
            }
        }
        for i in 0..OCTET {
            let (row, col) = place(i);
            // SAFETY: guarded, and the thread's own.
            unsafe { g.store(row, col, sums[i]) };
        }
    }
}

/// Makes a kernel and a [`Step`] of each shape, out of what they have in common.
macro_rules! kernels {
    ($common:expr; $($kernel:ident $slug:literal $shape:ty;)*) => {
        const ALL: &[Step] = &[$(Step {
            slug: $slug,
            kernel: stringify!($kernel),
            base: $common.base,
            summary: $common.summary,
            source: $common.source,
            precision: $common.precision,
            ..<$shape>::STEP
        }),*];

        $($crate::gemm::gemm_kernel! {
            $kernel, $crate::ring::THREADS, 1, f32 => f32,
            |g, a_map: *const TensorMap, b_map: *const TensorMap, a_scales: *const i32, b_scales: *const i32|
                <$shape>::run(&g, [a_map, b_map], [a_scales, b_scales])
        })*
    };
}
pub(crate) use kernels;
