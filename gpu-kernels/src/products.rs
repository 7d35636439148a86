//! fp32-accurate products of parts on the tensor cores: what fp16x3 and tf32x3 share.
//!
//! ```text
//!   warpgroup 1:  a slice's products  │ + sums in f32    │ the next slice's  │ + ...
//!   warpgroup 2:  + sums in f32       │ its products     │ + sums            │ the next slice's ...
//!   after some slices:                   sums ──► + ──► totals
//! ```

use crate::fragment::{self, OCTET};
use crate::gemm::Gemm;
use crate::parts::Part;
use crate::ptx::tensor::{self, TensorMap};
use crate::ptx::wgmma::{self, Matrix, ROW_BYTES, ROWS, STEP_BYTES, WARPGROUP};
use crate::ptx::{barrier, cluster, compiler, lanes, mbarrier::Mbarrier};
use crate::range::powers;
use crate::ring::{self, BLOCK_ROWS, Ring, Stage};
use crate::tile::WARP;
use crate::{Element, MapBox, NOT_SPLIT, Precision, Schedule, Step, Target, Tile};
use core::marker::PhantomData;
use cuda_std::prelude::*;

const BM: u32 = BLOCK_ROWS;
const A_BYTES: u32 = BM * ROW_BYTES;
/// The barrier at which the first warpgroup waits for its turn; the second one's is next to it. Barrier 0 is everybody's.
const FIRST_TURN: u32 = 1;
const TURN_THREADS: u32 = ring::CONSUMERS * WARPGROUP;
/// Bytes from a row's high parts to its low parts.
const LOW: u32 = ROW_BYTES / 2;

/// Of so many slices, those whose sums are added one after another. The rounding errors of a sum grow with its length: so there
/// are about as many such sums as slices in each.
#[inline(always)]
fn long(slices: u32) -> u32 {
    1 << ((u32::BITS - slices.leading_zeros()) / 2)
}

/// A kernel for tiles of 128 x 2 ACC, in clusters of so many blocks, which share B.
pub(crate) struct ThreeProducts<P: Part, const ACC: usize, const CLUSTER: u32, const STAGES: u32>(PhantomData<P>);

/// The exponents that a thread needs of its tile's scaling: those of its two rows, and of each 32nd column, a lane's own.
struct Exponents {
    rows: [i32; 2],
    columns: [i32; 4],
}

impl<P: Part, const ACC: usize, const CLUSTER: u32, const STAGES: u32> ThreeProducts<P, ACC, CLUSTER, STAGES> {
    const BN: u32 = 2 * ACC as u32;
    /// A chunk: as deep as a sum in the tensor cores is long.
    const BK: u32 = P::DEPTH;
    const STAGE_BYTES: u32 = A_BYTES + Self::BN * ROW_BYTES;
    /// Parts in a row of a stage.
    const ROW: u32 = 2 * P::DEPTH;
    /// Rows of B that each block of a cluster brings.
    const SHARE: u32 = Self::BN / CLUSTER;
    /// Whether numbers were scaled: TF32 has the exponents of f32.
    const IS_SCALED: bool = matches!(P::ELEMENT, Element::F16);

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
        let slices = g.k.div_ceil(Self::BK);
        // SAFETY: what is copied to a stage fills it, and is read before it is released; no block ends before its cluster.
        unsafe {
            let mut ring = Ring::<CLUSTER>::start(STAGES, Self::STAGE_BYTES);
            if ring::feeds() {
                ring::give_registers();
                if thread::thread_idx_x() == 0 {
                    for [row, column] in ring::tiles::<CLUSTER>(rows, columns, BM) {
                        for slice in 0..slices {
                            let (stage, full) = ring.fill();
                            Self::copy(stage, full, [row * BM, column * Self::BN, slice * Self::ROW], maps);
                        }
                    }
                }
            } else {
                ring::take_registers();
                if ring::consumer() == 1 {
                    barrier::arrive(FIRST_TURN, TURN_THREADS);
                }
                for [row, column] in ring::tiles::<CLUSTER>(rows, columns, BM) {
                    let (row, col) = (row * BM + ring::consumer() * ROWS + wgmma::row(), column * Self::BN);
                    let mut sums = [0.0; ACC];
                    let mut exponents = Exponents { rows: [0; 2], columns: [0; 4] };
                    if slices > 0 {
                        exponents = Self::exponents(g, row, col, scales);
                        Self::accumulate(&mut ring, slices, &mut sums);
                    }
                    Self::store(g, row, col, &exponents, &mut sums);
                }
                if ring::consumer() == 0 {
                    barrier::sync(FIRST_TURN, TURN_THREADS); // the other one's last
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

    /// Adds the products of the slices. The warpgroups take turns: while one adds its sums in f32, the tensor cores compute the
    /// other one's.
    #[inline(always)]
    unsafe fn accumulate(ring: &mut Ring<CLUSTER>, slices: u32, totals: &mut [f32; ACC]) {
        let mut acc = [0.0; ACC];
        let mut left = slices;
        while left > 0 {
            let now = left.min(long(slices));
            let mut sums = [0.0; ACC];
            for _ in 0..now {
                // SAFETY: a stage is full when it is read, and released when its products are done.
                unsafe {
                    barrier::sync(FIRST_TURN + ring::consumer(), TURN_THREADS);
                    let stage = Self::multiply(ring, &mut acc);
                    barrier::arrive(FIRST_TURN + (ring::consumer() ^ 1), TURN_THREADS);
                    wgmma::wait::<0, ACC>(&mut acc);
                    ring.release(stage);
                }
                add(&mut sums, &acc);
            }
            add(totals, &sums);
            left -= now;
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

    /// The exponents for the tile whose columns begin at `col`, where this thread's first sum is in `row`; the last one's
    /// beyond the ends. They are asked for before the sums are computed, and needed behind them.
    #[inline(always)]
    unsafe fn exponents(g: &Gemm, row: u32, col: u32, [of_rows, of_columns]: [*const i32; 2]) -> Exponents {
        let of_row = |row: u32| of_rows.wrapping_add(row.min(g.m - 1) as usize);
        let of_column = |col: u32| of_columns.wrapping_add(col.min(g.n - 1) as usize);
        let mut exponents = Exponents { rows: [0; 2], columns: [0; 4] };
        // SAFETY: inside A's rows and B's columns, and written, since there was something to split.
        unsafe {
            exponents.rows = [compiler::loaded(*of_row(row)), compiler::loaded(*of_row(row + 8))];
            for i in 0..ACC / 16 {
                exponents.columns[i] = compiler::loaded(*of_column(col + i as u32 * WARP + warp::lane_id()));
            }
        }
        exponents
    }

    /// C = alpha*sums + beta*C, the scaling undone, for the tile whose columns begin at `col`, where this thread's first sum is
    /// in `row`.
    #[inline(always)]
    unsafe fn store(g: &Gemm, row: u32, col: u32, exponents: &Exponents, sums: &mut [f32; ACC]) {
        let mut is_split = exponents.rows[0] != NOT_SPLIT && exponents.rows[1] != NOT_SPLIT;
        for i in 0..ACC / 16 {
            is_split &= exponents.columns[i] != NOT_SPLIT;
        }
        // SAFETY: the warp is whole; what is stored is guarded, and the thread's own.
        unsafe {
            if lanes::all(is_split) {
                if Self::IS_SCALED {
                    Self::unscale(exponents, sums);
                }
                fragment::store::<ACC>(g, row, col + wgmma::column(), sums);
            } else {
                for octet in 0..compiler::anew((ACC / OCTET) as u32) {
                    Self::in_f32(g, row, col + wgmma::column() + 8 * octet);
                }
            }
        }
    }

    /// Undoes the scaling. A power of two may be beyond f32 where its product with a sum is not: it is two factors, either of
    /// which is the row's times the column's, so that a large one meets a small one before they meet a sum.
    #[allow(clippy::needless_range_loop)] // an iterator would keep the sums in memory
    #[inline(always)]
    unsafe fn unscale(exponents: &Exponents, sums: &mut [f32; ACC]) {
        let rows = [powers(-exponents.rows[0]), powers(-exponents.rows[1])];
        let columns = exponents.columns.map(|exponent| {
            let [first, second] = powers(-exponent);
            first.to_bits() >> 16 | second.to_bits() // the first 16 bits of either are all of it
        });
        for octet in 0..ACC / OCTET {
            for right in 0..2 {
                let lane = wgmma::column() + (octet % 4 * 8 + right) as u32;
                // SAFETY: the warp is whole.
                let factors = unsafe { lanes::of(columns[octet / 4], lane) };
                let [first, second] = [f32::from_bits(factors << 16), f32::from_bits(factors & 0xffff_0000)];
                for half in 0..2 {
                    let i = octet * OCTET + 2 * half + right;
                    sums[i] = sums[i] * (rows[half][0] * first) * (rows[half][1] * second);
                }
            }
        }
    }

    /// An octet's sums, the first one at `row` and `col`, on the CUDA cores; sums of sums of sums, since long ones lose more.
    #[allow(clippy::needless_range_loop)] // an iterator would keep the sums in memory
    #[inline(always)]
    unsafe fn in_f32(g: &Gemm, row: u32, col: u32) {
        let place = |i: usize| (row + i as u32 / 2 * 8, col + i as u32 % 2);
        let long = long(g.k.div_ceil(Self::BK)) * Self::BK;
        let mut totals = [0.0; OCTET];
        for first in (0..g.k).step_by(long as usize) {
            let (mut sums, end) = ([0.0; OCTET], g.k.min(first + long));
            for first in (first..end).step_by(Self::BK as usize) {
                let mut part = [0.0; OCTET];
                for p in first..end.min(first + Self::BK) {
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
                totals[i] += sums[i];
            }
        }
        for i in 0..OCTET {
            let (row, col) = place(i);
            // SAFETY: guarded, and the thread's own.
            unsafe { g.store(row, col, totals[i]) };
        }
    }
}

/// Adds up, one by one.
#[inline(always)]
fn add<const ACC: usize>(sums: &mut [f32; ACC], values: &[f32; ACC]) {
    for i in 0..ACC {
        sums[i] += values[i];
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
