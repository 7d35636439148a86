//! The kernel: producer and consumers, hi/lo split MMAs, two-level summation, the epilogue.

use super::{A_BYTES, BM, SplitMma};
use crate::epilogue::direct::OCTET;
use crate::epilogue::fusion::Fusion;
use crate::gemm::Gemm;
use crate::hardware::{SWIZZLE_BYTES, WARP, WGMMA_M};
use crate::mainloop::WorkTile;
use crate::mainloop::warp_specialized::{self, CONSUMER_REGS, CONSUMER_THREADS, PRODUCER_REGS, Ring, Stage};
use crate::prepass::split::hi_lo::HiLo;
use crate::prepass::split::range::powers;
use crate::ptx::tensor::{self, TensorMap};
use crate::ptx::wgmma::{self, Descriptor, WGMMA_K_BYTES};
use crate::ptx::{barrier, cluster, compiler, lanes};
use crate::{Ab, Coord, Element, Extent, NOT_SPLIT};
use cuda_std::prelude::*;

/// The ordered ping-pong barrier of the first consumer warpgroup; the second one's is next to it. Barrier 0 is the block's.
const PING_PONG: u32 = 1;
/// Bytes from a row's hi values to its lo values.
const LO: u32 = SWIZZLE_BYTES / 2;

/// The k-tiles that the inner level of a two-level summation adds: about the square root of their number, so that both levels
/// are equally long. The rounding error of a sum grows with its length.
#[inline(always)]
fn inner_k_tiles(k_tiles: u32) -> u32 {
    1 << ((u32::BITS - k_tiles.leading_zeros()) / 2)
}

/// The exponents of the scaling of a thread's accumulators: of its two rows, and, a lane's own, of every 32nd column.
struct Exponents {
    rows: [i32; 2],
    columns: [i32; 4],
}

impl<P: HiLo, const ACC: usize, const CLUSTER: u32, const STAGES: u32> SplitMma<P, ACC, CLUSTER, STAGES> {
    /// Whether values were scaled: TF32 has the exponents of f32.
    const IS_SCALED: bool = matches!(P::ELEMENT, Element::F16);

    /// # Safety
    /// As of the kernels.
    #[inline(always)]
    pub(crate) unsafe fn run(
        g: Gemm,
        fusion: impl Fusion<f32>,
        a_map: *const TensorMap,
        b_map: *const TensorMap,
        a_scales: *const i32,
        b_scales: *const i32,
    ) {
        // tile coordinates
        let tiles = Extent { rows: g.m.div_ceil(BM), cols: g.n.div_ceil(Self::BN) };
        let k_tiles = g.k.div_ceil(Self::BK);
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
                if warp_specialized::consumer() == 1 {
                    barrier::arrive(PING_PONG, CONSUMER_THREADS);
                }
                for WorkTile { row, col, .. } in warp_specialized::work_tiles(tiles, Self::TILE, Self::GROUP, k_tiles) {
                    let row = row + warp_specialized::consumer() * WGMMA_M + wgmma::acc_row();
                    let mut totals = [0.0; ACC];
                    let mut exponents = Exponents { rows: [0; 2], columns: [0; 4] };
                    // mainloop
                    if k_tiles > 0 {
                        exponents = Self::exponents(&g, row, col, Ab { a: a_scales, b: b_scales });
                        Self::mainloop(&mut ring, k_tiles, &mut totals);
                    }
                    // epilogue
                    Self::store(&g, fusion, row, col, &exponents, &mut totals);
                }
                if warp_specialized::consumer() == 0 {
                    barrier::sync(PING_PONG, CONSUMER_THREADS); // the other warpgroup's last arrival
                }
            }
            warp_specialized::finish();
        }
    }

    /// Issues the TMA loads of a k-tile: A, and this block's share of B.
    #[inline(always)]
    unsafe fn load(stage: Stage, Coord { row, col }: Coord, k_tile: u32, maps: Ab<*const TensorMap>) {
        let (k, b_smem) = (k_tile * Self::ROW, stage.address + A_BYTES);
        // SAFETY: the boxes fill the stage, which is empty in all blocks of the cluster.
        unsafe {
            tensor::load(stage.address, maps.a, row, k, stage.full);
            let share = if CLUSTER == 1 { 0 } else { cluster::rank() * Self::SHARE };
            let at = Coord { row: col + share, col: k };
            warp_specialized::load_multicast::<CLUSTER>(b_smem + share * SWIZZLE_BYTES, maps.b, at, stage.full);
        }
    }

    /// totals += A*B over the k-tiles, in two-level summation. The warpgroups alternate: while one adds its partial sums in
    /// f32, the tensor cores execute the MMAs of the other.
    #[inline(always)]
    unsafe fn mainloop(ring: &mut Ring<CLUSTER>, k_tiles: u32, totals: &mut [f32; ACC]) {
        let mut acc = [0.0; ACC];
        let mut left = k_tiles;
        while left > 0 {
            let now = left.min(inner_k_tiles(k_tiles));
            let mut partial = [0.0; ACC];
            for _ in 0..now {
                // SAFETY: a stage is full when it is read, and released when its MMAs are complete.
                unsafe {
                    barrier::sync(PING_PONG + warp_specialized::consumer(), CONSUMER_THREADS);
                    let stage = Self::issue_mmas(ring, &mut acc);
                    barrier::arrive(PING_PONG + (warp_specialized::consumer() ^ 1), CONSUMER_THREADS);
                    wgmma::wait_acc::<0, ACC>(&mut acc);
                    ring.consumer_release(stage);
                }
                add(&mut partial, &acc);
            }
            add(totals, &partial);
            left -= now;
        }
    }

    /// Issues the MMAs of the next k-tile: the small products, those with lo values, first, so that less is truncated.
    #[inline(always)]
    unsafe fn issue_mmas(ring: &mut Ring<CLUSTER>, acc: &mut [f32; ACC]) -> Stage {
        // SAFETY: the stage is full, and nobody releases it before the MMAs are waited for.
        unsafe {
            let stage = ring.consumer_wait();
            let a_smem = stage.address + warp_specialized::consumer() * WGMMA_M * SWIZZLE_BYTES;
            let a = Descriptor::k_major(a_smem); // (64, BK hi | BK lo)
            let b = Descriptor::k_major(stage.address + A_BYTES); // (BN, BK hi | BK lo)
            wgmma::fence();
            let mut accumulate = false;
            for term in 0..3 {
                let (of_a, of_b) = [(0, LO), (LO, 0), (0, 0)][term]; // hi*lo + lo*hi + hi*hi
                for i in 0..LO / WGMMA_K_BYTES {
                    P::mma(acc, a.add(of_a + i * WGMMA_K_BYTES), b.add(of_b + i * WGMMA_K_BYTES), accumulate);
                    accumulate = true;
                }
            }
            wgmma::commit_group();
            stage
        }
    }

    /// The exponents for the tile whose columns begin at `col`, where this thread's first accumulator is in `row`; those of the
    /// last row and column stand for what is out of bounds. Loaded before the mainloop, used by the epilogue.
    #[inline(always)]
    unsafe fn exponents(g: &Gemm, row: u32, col: u32, scales: Ab<*const i32>) -> Exponents {
        let of_row = |row: u32| scales.a.wrapping_add(row.min(g.m - 1) as usize);
        let of_column = |col: u32| scales.b.wrapping_add(col.min(g.n - 1) as usize);
        let mut exponents = Exponents { rows: [0; 2], columns: [0; 4] };
        // SAFETY: in bounds of A's rows and B's columns, and written by the pre-passes, since k > 0.
        unsafe {
            exponents.rows = [compiler::pin_load(*of_row(row)), compiler::pin_load(*of_row(row + 8))];
            for i in 0..ACC / 16 {
                exponents.columns[i] = compiler::pin_load(*of_column(col + i as u32 * WARP + warp::lane_id()));
            }
        }
        exponents
    }

    /// C = alpha*totals + beta*C, or what is fused with it, the scaling undone, for the tile whose columns begin at `col`, where this
    /// thread's first accumulator is in `row`. Elements of a row or column that is not split are computed in fp32.
    #[inline(always)]
    unsafe fn store(
        g: &Gemm,
        fusion: impl Fusion<f32>,
        row: u32,
        col: u32,
        exponents: &Exponents,
        totals: &mut [f32; ACC],
    ) {
        let mut is_split = exponents.rows[0] != NOT_SPLIT && exponents.rows[1] != NOT_SPLIT;
        for i in 0..ACC / 16 {
            is_split &= exponents.columns[i] != NOT_SPLIT;
        }
        // SAFETY: the warp is converged; stores are predicated, and to the thread's own elements.
        unsafe {
            if Self::IS_SCALED {
                Self::unscale(exponents, totals);
            }
            if lanes::all(is_split) {
                fusion.store_direct(g, row, col + wgmma::acc_col(), totals);
            } else {
                Self::store_mixed(g, fusion, row, col + wgmma::acc_col(), exponents, totals);
            }
        }
    }

    /// As [`store`](Self::store), octet by octet, where not all rows and columns are split. Rare, and therefore short.
    #[allow(clippy::needless_range_loop)] // an iterator would keep the values in memory
    #[inline(always)]
    unsafe fn store_mixed(
        g: &Gemm,
        fusion: impl Fusion<f32>,
        row: u32,
        col: u32,
        exponents: &Exponents,
        totals: &[f32; ACC],
    ) {
        for octet in 0..compiler::opaque((ACC / OCTET) as u32) {
            let (mut values, mut columns) = ([0.0; OCTET], exponents.columns[0]);
            for i in 0..ACC / OCTET {
                if i as u32 == octet {
                    values = core::array::from_fn(|v| totals[i * OCTET + v]);
                    columns = exponents.columns[i / 4];
                }
            }
            // SAFETY: the warp is converged; stores are predicated, and to the thread's own elements.
            unsafe {
                let of_column = |right| lanes::shuffle(columns as u32, wgmma::acc_col() + octet % 4 * 8 + right) as i32;
                let columns = [of_column(0), of_column(1)];
                let is_split: [bool; OCTET] =
                    core::array::from_fn(|i| exponents.rows[i / 2] != NOT_SPLIT && columns[i % 2] != NOT_SPLIT);
                let (row, col) = (row, col + 8 * octet);
                if !lanes::all(is_split == [true; OCTET]) {
                    let in_fp32 = Self::in_fp32(g, row, col);
                    values = core::array::from_fn(|i| if is_split[i] { values[i] } else { in_fp32[i] });
                }
                for i in 0..OCTET {
                    fusion.store_1(g, row + i as u32 / 2 * 8, col + i as u32 % 2, values[i]);
                }
            }
        }
    }

    /// Undoes the scaling. A power of two may overflow f32 where its product with a total does not. So it is two factors, each
    /// the row's times the column's: a large one and a small one are multiplied first.
    #[allow(clippy::needless_range_loop)] // an iterator would keep the accumulators in memory
    #[inline(always)]
    unsafe fn unscale(exponents: &Exponents, totals: &mut [f32; ACC]) {
        let rows = [powers(-exponents.rows[0]), powers(-exponents.rows[1])];
        let columns = exponents.columns.map(|exponent| {
            let [first, second] = powers(-exponent);
            first.to_bits() >> 16 | second.to_bits() // a power of two has no bits but the first 16
        });
        for octet in 0..ACC / OCTET {
            for right in 0..2 {
                let lane = wgmma::acc_col() + (octet % 4 * 8 + right) as u32;
                // SAFETY: the warp is converged.
                let factors = unsafe { lanes::shuffle(columns[octet / 4], lane) };
                let [first, second] = [f32::from_bits(factors << 16), f32::from_bits(factors & 0xffff_0000)];
                for half in 0..2 {
                    let i = octet * OCTET + 2 * half + right;
                    totals[i] = totals[i] * (rows[half][0] * first) * (rows[half][1] * second);
                }
            }
        }
    }

    /// An octet's accumulators, the first of the element at (`row`, `col`), on the CUDA cores, in three-level summation.
    #[allow(clippy::needless_range_loop)] // an iterator would keep the accumulators in memory
    #[inline(always)]
    unsafe fn in_fp32(g: &Gemm, row: u32, col: u32) -> [f32; OCTET] {
        let coords = |i: usize| (row + i as u32 / 2 * 8, col + i as u32 % 2);
        let inner = inner_k_tiles(g.k.div_ceil(Self::BK)) * Self::BK;
        let mut totals = [0.0; OCTET];
        for first in (0..g.k).step_by(inner as usize) {
            let (mut sums, end) = ([0.0; OCTET], g.k.min(first + inner));
            for first in (first..end).step_by(Self::BK as usize) {
                let mut partial = [0.0; OCTET];
                for p in first..end.min(first + Self::BK) {
                    for i in 0..OCTET {
                        let (row, col) = coords(i);
                        // SAFETY: rows and columns are clamped to the last.
                        partial[i] =
                            unsafe { (*g.a(row.min(g.m - 1), p)).mul_add(*g.b(p, col.min(g.n - 1)), partial[i]) };
                    }
                }
                for i in 0..OCTET {
                    sums[i] += partial[i];
                }
            }
            for i in 0..OCTET {
                totals[i] += sums[i];
            }
        }
        totals
    }
}

/// Adds element by element, rounded to nearest.
#[inline(always)]
fn add<const ACC: usize>(sums: &mut [f32; ACC], values: &[f32; ACC]) {
    for i in 0..ACC {
        sums[i] += values[i];
    }
}
