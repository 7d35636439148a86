//! The kernel: producer and consumers, hi/lo split MMAs, two-level summation, the epilogue.

use super::epilogue::Words;
use super::{A_BYTES, BM, SplitMma};
use crate::epilogue::fusion::Fusion;
use crate::gemm::Gemm;
use crate::hardware::{SWIZZLE_BYTES, VEC, WARPGROUP, WGMMA_M};
use crate::mainloop::warp_specialized::{self, CONSUMER_REGS, CONSUMER_THREADS, PRODUCER_REGS, Ring, Stage};
use crate::prepass::split::hi_lo::HiLo;
use crate::ptx::tensor::{self, TensorMap};
use crate::ptx::wgmma::{self, Descriptor, WGMMA_K_BYTES};
use crate::ptx::{barrier, f32x4, lanes};
use crate::{Ab, Computed, Coord, Extent, Group};
use cuda_std::prelude::*;

/// The ordered ping-pong barrier of the first consumer warpgroup; the second one's is next to it. Barrier 0 is the block's.
const PING_PONG: u32 = 1;
/// Bytes from a row's hi values to its lo values.
const LO: u32 = SWIZZLE_BYTES / 2;

impl<P: HiLo, const ACC: usize, const STAGES: u32> SplitMma<P, ACC, STAGES> {
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
        // SAFETY: TMA loads fill a stage, which is read before it is released.
        unsafe {
            let mut ring = Ring::<1>::new(STAGES, Self::STAGE_BYTES, CONSUMER_THREADS);
            let words = Ab { a: a_scales, b: b_scales };
            if warp_specialized::is_producer() {
                // global to shared (producer)
                wgmma::setmaxnreg_dec::<PRODUCER_REGS>();
                let work = warp_specialized::work_tiles(tiles, Self::TILE, Group::ALONE, k_tiles);
                for tile in work {
                    let columns = Self::columns(&g, tile.col, k_tiles, words.b);
                    let verdict = Self::verdict(&g, tile.row, k_tiles, &columns, words.a);
                    let at = Coord { row: tile.row, col: tile.col };
                    if verdict.any_hi_lo() {
                        if lanes::warp_index() == 0 && lanes::elect() {
                            warp_specialized::produce_tile(&mut ring, tile, |stage, tile, k_tile| {
                                Self::load(stage, tile, k_tile, Ab { a: a_map, b: b_map });
                            });
                        } else {
                            ring.skip(k_tiles);
                        }
                    }
                    if !verdict.all_hi_lo() {
                        Self::produce_others(&g, at, verdict, words, &mut ring);
                    }
                }
            } else {
                wgmma::setmaxnreg_inc::<CONSUMER_REGS>();
                let totals_smem = shared::dynamic_shared_mem::<f32>()
                    .wrapping_add((warp_specialized::smem_bytes(STAGES, Self::STAGE_BYTES) / 4) as usize);
                if warp_specialized::consumer() == 1 {
                    barrier::arrive(PING_PONG, CONSUMER_THREADS);
                }
                for tile in warp_specialized::work_tiles(tiles, Self::TILE, Group::ALONE, k_tiles) {
                    let columns = Self::columns(&g, tile.col, k_tiles, words.b);
                    let verdict = Self::verdict(&g, tile.row, k_tiles, &columns, words.a);
                    if verdict.any_hi_lo() {
                        let row = Self::first_row(tile.row);
                        let own_words = Words { rows: Self::rows(&g, row, k_tiles, words.a), columns };
                        let mut totals = [0.0; ACC];
                        // mainloop
                        ring = ring.uniform();
                        Self::mainloop(&mut ring, k_tiles, totals_smem, &mut totals);
                        // epilogue
                        Self::unscale(&own_words, &mut totals);
                        if verdict.all_hi_lo() {
                            Self::store(&g, fusion, row, tile.col, &mut totals);
                        } else {
                            let at = Coord { row: tile.row, col: tile.col };
                            Self::store_computed(&g, fusion, at, totals_smem, &totals, |_, at, _| {
                                Self::computed(&g, words, at) == Computed::ByHiLo
                            });
                        }
                    }
                    if !verdict.all_hi_lo() {
                        let tile = Coord { row: tile.row, col: tile.col };
                        Self::compute_others(&g, fusion, tile, verdict, words, &mut ring, totals_smem);
                    }
                }
                if warp_specialized::consumer() == 0 {
                    barrier::sync(PING_PONG, CONSUMER_THREADS); // the other warpgroup's last arrival
                }
            }
            warp_specialized::finish();
        }
    }

    /// Issues the TMA loads of a k-tile.
    #[inline(always)]
    unsafe fn load(stage: Stage, Coord { row, col }: Coord, k_tile: u32, maps: Ab<*const TensorMap>) {
        let k = k_tile * Self::ROW;
        // SAFETY: the boxes fill the stage, which is empty.
        unsafe {
            tensor::load(stage.address, maps.a, row, k, stage.full);
            tensor::load(stage.address + A_BYTES, maps.b, col, k, stage.full);
        }
    }

    /// totals = A*B over the k-tiles, in two-level summation; meanwhile they are in shared memory. The warpgroups alternate: while one
    /// adds its partial sums in f32, the tensor cores execute the MMAs of the other.
    #[inline(always)]
    unsafe fn mainloop(ring: &mut Ring<1>, k_tiles: u32, totals_smem: *mut f32, totals: &mut [f32; ACC]) {
        let (mut acc, mut cross) = ([0.0; ACC], [0.0; ACC]);
        let of_inner = P::INNER_SUMS.summands(k_tiles);
        let mut left = k_tiles;
        while left > 0 {
            let now = left.min(of_inner);
            *totals = [0.0; ACC];
            for i in 0..now {
                // SAFETY: a stage is full when it is read, and released when its MMAs are complete.
                unsafe {
                    barrier::sync(PING_PONG + warp_specialized::consumer(), CONSUMER_THREADS);
                    let stage = Self::issue_mmas(ring, &mut acc, &mut cross, i > 0);
                    barrier::arrive(PING_PONG + (warp_specialized::consumer() ^ 1), CONSUMER_THREADS);
                    wgmma::wait_acc::<0, ACC>(&mut acc);
                    wgmma::wait_acc::<0, ACC>(&mut cross);
                    ring.consumer_release(stage);
                }
                add(totals, &acc);
            }
            for i in 0..ACC {
                totals[i] = cross[i].mul_add(1.0 / P::LO_SCALE, totals[i]);
            }
            // SAFETY: the thread's own totals.
            unsafe {
                if left < k_tiles {
                    add_totals(totals_smem, totals);
                }
                left -= now;
                if left > 0 {
                    store_totals(totals_smem, totals);
                }
            }
        }
    }

    /// Issues the MMAs of the next k-tile: acc = hi*hi, and cross, to which they add if `goes_on`, hi*lo + lo*hi.
    #[inline(always)]
    unsafe fn issue_mmas(ring: &mut Ring<1>, acc: &mut [f32; ACC], cross: &mut [f32; ACC], goes_on: bool) -> Stage {
        // SAFETY: the stage is full, and nobody releases it before the MMAs are waited for.
        unsafe {
            let stage = ring.consumer_wait();
            let a_smem = stage.address + warp_specialized::consumer() * WGMMA_M * SWIZZLE_BYTES;
            let a = Descriptor::k_major(a_smem); // (64, BK hi | BK lo)
            let b = Descriptor::k_major(stage.address + A_BYTES); // (BN, BK hi | BK lo)
            wgmma::fence();
            for i in 0..LO / WGMMA_K_BYTES {
                let (hi, lo) = (i * WGMMA_K_BYTES, LO + i * WGMMA_K_BYTES);
                P::mma(cross, a.add(hi), b.add(lo), goes_on || i > 0);
                P::mma(cross, a.add(lo), b.add(hi), true);
            }
            for i in 0..LO / WGMMA_K_BYTES {
                P::mma(acc, a.add(i * WGMMA_K_BYTES), b.add(i * WGMMA_K_BYTES), i > 0);
            }
            wgmma::commit_group();
            stage
        }
    }
}

/// Adds element by element, rounded to nearest.
#[inline(always)]
pub(super) fn add<const ACC: usize>(sums: &mut [f32; ACC], values: &[f32; ACC]) {
    for i in 0..ACC {
        sums[i] += values[i];
    }
}

/// Adds this thread's totals in shared memory, where its VEC values are adjacent to the next thread's.
///
/// # Safety
/// The memory has the totals of all consumers, and the thread stored its own.
#[inline(always)]
pub(super) unsafe fn add_totals<const ACC: usize>(smem: *const f32, sums: &mut [f32; ACC]) {
    for i in (0..ACC).step_by(VEC as usize) {
        // SAFETY: upheld by the caller (see `# Safety`).
        let values = unsafe { f32x4::load(smem.add(place(i))) };
        for v in 0..VEC as usize {
            sums[i + v] += values[v];
        }
    }
}

/// Stores them.
///
/// # Safety
/// The memory has room for the totals of all consumers.
#[inline(always)]
pub(super) unsafe fn store_totals<const ACC: usize>(smem: *mut f32, sums: &[f32; ACC]) {
    for i in (0..ACC).step_by(VEC as usize) {
        // SAFETY: upheld by the caller (see `# Safety`).
        unsafe { f32x4::store(smem.add(place(i)), core::array::from_fn(|v| sums[i + v])) }
    }
}

/// Where this thread's total of that number is, a multiple of VEC.
#[inline(always)]
pub(super) fn place(i: usize) -> usize {
    let thread = (thread::thread_idx_x() - WARPGROUP) * VEC;
    i * CONSUMER_THREADS as usize + thread as usize
}
