//! What the roles of a block do with the stages.

use super::{BK, HalfTile, PAD, ROW};
use crate::epilogue::WARP_WORDS;
use crate::epilogue::direct::{OCTET, Output};
use crate::epilogue::narrow::{self, Window};
use crate::epilogue::partial_tile::{PartialTile, Target};
use crate::hardware::{SWIZZLE_BYTES, WARP, WARPGROUP, WGMMA_M};
use crate::mainloop::warp_specialized::boxes::{Loads, Mapped, Panels};
use crate::mainloop::warp_specialized::{OF_LAUNCH, Ring, Stage, producer_warp};
use crate::planned::Peers;
use crate::ptx::tensor::TensorMap;
use crate::ptx::wgmma::{self, Descriptor, Input, WGMMA_K_BYTES};
use crate::ptx::{compiler, lanes};
use crate::{Ab, Coord, Extent};
use cuda_std::prelude::*;

/// Rows of a warp's accumulators.
const WARP_ROWS: u32 = WGMMA_M / (WARPGROUP / WARP);
/// Depth of an MMA.
pub(super) const DEPTH: u32 = WGMMA_K_BYTES / 2;

impl<const BM: u32, const BN: u32, const ACC: usize, const STAGES: u32> HalfTile<BM, BN, ACC, STAGES> {
    const PANEL_ROW_BYTES: u32 = Self::PANEL * 2;
    const A_PANELS: Panels = Panels { most: BM / ROW, width: ROW, rows: BK, row_bytes: SWIZZLE_BYTES };
    const B_PANELS: Panels =
        Panels { most: BN / Self::PANEL, width: Self::PANEL, rows: BK, row_bytes: Self::PANEL_ROW_BYTES };

    /// The ring, whose barriers are initialised, and whose tensor maps the block will need.
    ///
    /// # Safety
    /// Every thread of the block calls it once.
    #[inline(always)]
    pub unsafe fn ring(maps: Ab<*const TensorMap>, peers: Peers) -> Ring<OF_LAUNCH> {
        // SAFETY: upheld by the caller (see `# Safety`).
        unsafe { Self::ring_of_slices::<1>(maps, peers) }
    }

    /// Whether this thread is of the producer warp, or warpgroup.
    #[inline(always)]
    pub fn is_producer() -> bool {
        lanes::warp_index() >= Self::CONSUMER_THREADS / WARP
    }

    /// The index of this thread's warpgroup among the consumers.
    #[inline(always)]
    pub(super) fn warpgroup() -> u32 {
        lanes::warp_index() / (WARPGROUP / WARP)
    }

    /// What the block loads of these operands for the tile at that place of C, which has that extent: of an operand that ends within the tile,
    /// not all of a stage.
    #[inline(always)]
    pub fn loads(at: Coord, c: Extent, Ab { a, b }: Ab<Mapped>) -> Loads {
        let a = match a.is_transposed {
            true => a.panels(at.row, c.rows, Self::A_PANELS),
            false => a.rows(at.row, c.rows, BM, Self::A_PANELS),
        };
        let b = match b.is_transposed {
            true => b.rows(at.col, c.cols, BN, Self::B_PANELS),
            false => b.panels(at.col, c.cols, Self::B_PANELS),
        };
        Loads { boxes: Ab { a, b }, a_bytes: Self::A_BYTES, depth: BK }
    }

    /// A*B over so many k-tiles: this thread's accumulators.
    ///
    /// # Safety
    /// Every consumer thread calls it, and as many k-tiles are produced.
    #[inline(always)]
    pub unsafe fn consume<I: Input>(ring: &mut Ring<OF_LAUNCH>, k_tiles: u32, is_transposed: Ab<bool>) -> [f32; ACC] {
        // SAFETY: upheld by the caller (see `# Safety`); the MMAs are complete.
        unsafe {
            let acc = Self::consume_while::<I>(ring, k_tiles, is_transposed, |_| ());
            ring.consumer_tail(k_tiles);
            acc
        }
    }

    /// The same without an end: the last stage is not released. The MMAs of each k-tile execute while `meanwhile` is called.
    ///
    /// # Safety
    /// As of [`consume`](Self::consume).
    #[inline(always)]
    pub unsafe fn consume_while<I: Input>(
        ring: &mut Ring<OF_LAUNCH>,
        k_tiles: u32,
        is_transposed: Ab<bool>,
        mut meanwhile: impl FnMut(u32),
    ) -> [f32; ACC] {
        // SAFETY: upheld by the caller (see `# Safety`).
        unsafe { Self::accumulate::<I, 1>(ring, Self::warpgroup(), k_tiles, is_transposed, &mut meanwhile) }
    }

    /// The same over so many k-tiles of one of SLICES slices, by one of its warpgroups.
    ///
    /// # Safety
    /// As of [`consume`](Self::consume).
    #[inline(always)]
    pub(super) unsafe fn accumulate<I: Input, const SLICES: u32>(
        ring: &mut Ring<OF_LAUNCH>,
        warpgroup: u32,
        k_tiles: u32,
        is_transposed: Ab<bool>,
        meanwhile: &mut impl FnMut(u32),
    ) -> [f32; ACC] {
        let mut acc = wgmma::zeros::<ACC>();
        // SAFETY: upheld by the caller (see `# Safety`).
        unsafe {
            match (is_transposed.a, is_transposed.b) {
                (false, false) => Self::mainloop::<I, 0, 1, SLICES>(ring, warpgroup, k_tiles, &mut acc, meanwhile),
                (false, true) => Self::mainloop::<I, 0, 0, SLICES>(ring, warpgroup, k_tiles, &mut acc, meanwhile),
                (true, false) => Self::mainloop::<I, 1, 1, SLICES>(ring, warpgroup, k_tiles, &mut acc, meanwhile),
                (true, true) => Self::mainloop::<I, 1, 0, SLICES>(ring, warpgroup, k_tiles, &mut acc, meanwhile),
            }
        }
        wgmma::wait_acc::<0, ACC>(&mut acc); // they are complete, of which the compiler learns here
        acc
    }

    /// The operands of this warpgroup's first MMA of a stage, in those orders, and bytes from there to those of the next one.
    #[inline(always)]
    pub(super) fn descriptors<const A_MAJOR: u32, const B_MAJOR: u32>(
        stage: u32,
        warpgroup: u32,
    ) -> Ab<(Descriptor, u32)> {
        // A warpgroup's rows, or its panel.
        let a_smem = stage + warpgroup * WGMMA_M * SWIZZLE_BYTES;
        let b_smem = stage + Self::A_BYTES;
        let a = match A_MAJOR {
            0 => (Descriptor::k_major(a_smem), WGMMA_K_BYTES),
            _ => (Descriptor::mn_major(a_smem, 0), DEPTH * SWIZZLE_BYTES),
        };
        let b = match B_MAJOR {
            0 => (Descriptor::k_major(b_smem), WGMMA_K_BYTES),
            _ => (
                Descriptor::panels(b_smem, BK * Self::PANEL_ROW_BYTES, Self::PANEL_ROW_BYTES),
                DEPTH * Self::PANEL_ROW_BYTES,
            ),
        };
        Ab { a, b }
    }

    /// acc += A*B, with A m-major or k-major and B n-major or k-major: [`Input::mma`]. The MMAs of a k-tile are issued before those of
    /// the one before it complete.
    #[inline(always)]
    unsafe fn mainloop<I: Input, const A_MAJOR: u32, const B_MAJOR: u32, const SLICES: u32>(
        ring: &mut Ring<OF_LAUNCH>,
        warpgroup: u32,
        k_tiles: u32,
        acc: &mut [f32; ACC],
        meanwhile: impl FnMut(u32),
    ) {
        let issue = |stage: Stage, has_begun| {
            let Ab { a: (a, a_step), b: (b, b_step) } = Self::descriptors::<A_MAJOR, B_MAJOR>(stage.address, warpgroup);
            for i in 0..BK / DEPTH {
                // SAFETY: the stage is full while the MMAs read it.
                unsafe {
                    I::mma::<ACC, A_MAJOR, B_MAJOR>(acc, a.add(i * a_step), b.add(i * b_step), has_begun || i > 0)
                }
            }
        };
        // SAFETY: upheld by the caller (see `# Safety` of `consume`).
        unsafe { producer_warp::consume::<SLICES>(ring, k_tiles, issue, meanwhile) }
    }

    /// Publishes the accumulators.
    ///
    /// # Safety
    /// Every consumer thread calls it, with its [`partial_tile`](Self::partial_tile) and what [`consume`](Self::consume) returned.
    #[inline(always)]
    pub unsafe fn publish<const PAD: u32>(tile: PartialTile<BM, BN, PAD>, acc: &[f32; ACC]) {
        // SAFETY: inside the tile, and nobody else stores these.
        unsafe {
            producer_warp::sync_consumers(Self::CONSUMER_THREADS); // the MMAs of all warpgroups are complete
            for half in 0..2 {
                let row = Self::warpgroup() * WGMMA_M + wgmma::acc_row() + half as u32 * 8;
                let to = tile.at(Coord { row, col: wgmma::acc_col() });
                for octet in 0..ACC / OCTET {
                    let i = octet * OCTET + half * 2;
                    f32::store_adjacent(to.add(octet * 8), [acc[i], acc[i + 1]]);
                }
            }
        }
    }

    /// Publishes the accumulators of a tile of the transpose of C as a tile of C.
    ///
    /// # Safety
    /// As of [`publish`](Self::publish).
    #[inline(always)]
    pub unsafe fn publish_transposed<const PAD: u32>(tile: PartialTile<BN, BM, PAD>, acc: &[f32; ACC]) {
        // SAFETY: inside the tile, and nobody else stores these.
        unsafe {
            producer_warp::sync_consumers(Self::CONSUMER_THREADS); // the MMAs of all warpgroups are complete
            for half in 0..2 {
                let col = Self::warpgroup() * WGMMA_M + wgmma::acc_row() + half as u32 * 8;
                let to = tile.at(Coord { row: wgmma::acc_col(), col });
                for octet in 0..ACC / OCTET {
                    for adjacent in 0..2 {
                        let below = (octet * 8 + adjacent) * PartialTile::<BN, BM, PAD>::PITCH as usize;
                        *to.wrapping_add(below) = acc[octet * OCTET + half * 2 + adjacent];
                    }
                }
            }
        }
    }

    /// C = alpha\*acc: the accumulators of a block that needs no others' and no C.
    ///
    /// # Safety
    /// As of [`publish`](Self::publish); C is of O, and no other block has the tile.
    #[inline(always)]
    pub unsafe fn store<O: Output>(target: Target, acc: &[f32; ACC]) {
        let Target { g, tile, .. } = target;
        let row = thread::thread_idx_x() / WARP * WARP_ROWS;
        // SAFETY: each warp has a part of its own of the shared memory where the stages were, and of C.
        unsafe {
            producer_warp::sync_consumers(Self::CONSUMER_THREADS); // the MMAs of all warpgroups are complete
            let c = g.c.cast::<O>().wrapping_add(target.first() + row as usize * g.ldc);
            let bounds =
                Extent { rows: g.m.saturating_sub(tile.row + row), cols: g.n.saturating_sub(tile.col).min(BN) };
            let is_wide = c.addr().is_multiple_of(16) && (g.ldc as u32 | bounds.cols).is_multiple_of(8);
            let window = Window { c, bounds, is_wide };
            let rounds = const { ACC.div_ceil(narrow::ROUND) as u32 };
            let buffers =
                shared::dynamic_shared_mem::<f32>().wrapping_add((row / WARP_ROWS * rounds * WARP_WORDS) as usize);
            let buffer = |round: u32| buffers.wrapping_add((round * WARP_WORDS) as usize);
            for round in 0..rounds {
                narrow::put::<O, ACC>(buffer(round), g, acc, round as usize);
            }
            warp::sync_warp(u32::MAX); // the lines are written
            let mut round = 0;
            while round < rounds {
                narrow::store(buffer(round), g, window.round(round, narrow::columns(ACC)), narrow::columns(ACC));
                round = compiler::opaque(round + 1); // or LLVM would unroll the loop
            }
        }
    }

    /// This block's partial tile, where the stages were.
    #[inline(always)]
    pub fn partial_tile() -> PartialTile<BM, BN, PAD> {
        PartialTile::new(shared::dynamic_shared_mem())
    }
}
