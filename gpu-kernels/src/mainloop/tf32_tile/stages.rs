//! What the roles of a block do with the stages.

use super::fragments::{self, Fragments, MMAS};
use super::{BK, PAD, Tf32Tile};
use crate::epilogue::columns;
use crate::epilogue::direct::OCTET;
use crate::epilogue::partial_tile::PartialTile;
use crate::hardware::{SWIZZLE_BYTES, WARP, WARPGROUP, WGMMA_M};
use crate::mainloop::warp_specialized::boxes::{Loads, Mapped, Panels};
use crate::mainloop::warp_specialized::{OF_LAUNCH, Ring, Stage, producer_warp};
use crate::planned::Peers;
use crate::ptx::tensor::TensorMap;
use crate::ptx::wgmma::{self, Descriptor, WGMMA_K_BYTES};
use crate::ptx::{compiler, lanes};
use crate::{Ab, Coord, Extent};
use cuda_std::prelude::*;

/// A panel: BK columns of an n-major B.
const PANEL_BYTES: u32 = BK * SWIZZLE_BYTES;

impl<const BM: u32, const BN: u32, const ACC: usize, const STAGES: u32> Tf32Tile<BM, BN, ACC, STAGES> {
    const PANELS: Panels = Panels { most: BN / BK, width: BK, rows: BK, row_bytes: SWIZZLE_BYTES };

    /// The ring, whose barriers are initialised, and whose tensor maps the block will need.
    ///
    /// # Safety
    /// Every thread of the block calls it once.
    #[inline(always)]
    pub unsafe fn ring(maps: Ab<*const TensorMap>, peers: Peers) -> Ring<OF_LAUNCH> {
        producer_warp::prefetch(maps, Self::CONSUMER_THREADS);
        // SAFETY: upheld by the caller (see `# Safety`); the step has as much shared memory.
        unsafe { Ring::of_block::<1>(Self::STAGE_BYTES, Self::CONSUMER_THREADS, peers) }
    }

    /// Whether this thread is of the producer warp.
    #[inline(always)]
    pub fn is_producer() -> bool {
        lanes::warp_index() >= Self::CONSUMER_THREADS / WARP
    }

    /// The first column of a thread's warpgroup.
    #[inline(always)]
    fn first_column(thread: u32) -> u32 {
        thread / WARPGROUP * WGMMA_M
    }

    /// What the block loads of these operands for the tile at that place of C, which has that extent: of an operand that ends within the tile,
    /// not all of a stage.
    #[inline(always)]
    pub fn loads(at: Coord, c: Extent, Ab { a, b }: Ab<Mapped>) -> Loads {
        let a = a.rows(at.row, c.rows, BM, Panels { most: 1, ..Self::PANELS });
        let b = match b.is_transposed {
            true => b.rows(at.col, c.cols, BN, Self::PANELS),
            false => b.panels(at.col, c.cols, Self::PANELS),
        };
        Loads { boxes: Ab { a, b }, a_bytes: Self::A_BYTES, depth: BK }
    }

    /// (A*B)^T over so many k-tiles: this thread's accumulators.
    ///
    /// # Safety
    /// Every consumer thread calls it, and as many k-tiles are produced.
    #[inline(always)]
    pub unsafe fn consume(ring: &mut Ring<OF_LAUNCH>, k_tiles: u32, b_is_transposed: bool) -> [f32; ACC] {
        let mut acc = wgmma::zeros::<ACC>();
        // SAFETY: upheld by the caller (see `# Safety`).
        unsafe {
            if b_is_transposed {
                Self::k_major(ring, k_tiles, &mut acc);
            } else {
                Self::n_major(ring, k_tiles, &mut acc);
            }
        }
        wgmma::wait_acc::<0, ACC>(&mut acc); // they are complete, of which the compiler learns here
        // SAFETY: the MMAs are complete.
        unsafe { ring.consumer_tail(k_tiles) }
        acc
    }

    /// acc += (A*B)^T with B k-major in shared memory. The MMAs of a k-tile are issued before those of the one before it complete.
    #[inline(always)]
    unsafe fn k_major(ring: &mut Ring<OF_LAUNCH>, k_tiles: u32, acc: &mut [f32; ACC]) {
        let first_column = Self::first_column(lanes::warp_index() * WARP);
        // SAFETY: upheld by the caller; the stage is full while the MMAs read it.
        unsafe {
            let issue = |stage: Stage, has_begun| {
                let b_smem = stage.address + Self::A_BYTES + first_column * SWIZZLE_BYTES;
                let (b, a) = (Descriptor::k_major(b_smem), Descriptor::k_major(stage.address)); // (BN, BK), (BM, BK)
                for i in 0..MMAS as u32 {
                    wgmma::tf32(acc, b.add(i * WGMMA_K_BYTES), a.add(i * WGMMA_K_BYTES), has_begun || i > 0);
                }
            };
            producer_warp::consume::<1>(ring, k_tiles, issue, |_| ());
        }
    }

    /// The same with B n-major: the fragments of one k-tile are loaded while the MMAs of the other execute. So that they stay in their
    /// registers, the loop has two k-tiles.
    #[inline(always)]
    unsafe fn n_major(ring: &mut Ring<OF_LAUNCH>, k_tiles: u32, acc: &mut [f32; ACC]) {
        let (mut is_first, mut left, mut odd) = (true, k_tiles, [[0.0; 4]; MMAS]);
        // SAFETY: a stage is full when it is read, and released when its MMAs are complete.
        unsafe {
            while left > 0 {
                let even = Self::issue_mmas(ring, acc, !is_first);
                wgmma::wait_group::<1>();
                wgmma::pin_fragments(&odd);
                if !is_first {
                    ring.consumer_release_ago(2);
                }
                if left == 1 {
                    wgmma::wait_group::<0>();
                    wgmma::pin_fragments(&even);
                    return;
                }
                odd = Self::issue_mmas(ring, acc, true);
                wgmma::wait_group::<1>();
                wgmma::pin_fragments(&even);
                ring.consumer_release_ago(2);
                is_first = false;
                left = compiler::opaque(left - 2);
            }
            wgmma::wait_group::<0>();
            wgmma::pin_fragments(&odd);
        }
    }

    /// Issues the MMAs of the next k-tile. Its fragments must not change until these complete.
    #[allow(clippy::needless_range_loop)] // an iterator would keep the fragments in memory
    #[inline(always)]
    unsafe fn issue_mmas(ring: &mut Ring<OF_LAUNCH>, acc: &mut [f32; ACC], accumulate: bool) -> Fragments {
        // SAFETY: the stage is full, and nobody releases it before the MMAs are waited for; the column is one of BN.
        unsafe {
            let stage = ring.consumer_wait();
            let column = Self::first_column(thread::thread_idx_x()) + columns::column();
            let b_smem = stage.words(Self::A_BYTES + column / BK * PANEL_BYTES); // (BK, BK)
            let (b_frag, a) = (fragments::of_panel(b_smem, column % BK), Descriptor::k_major(stage.address)); // (BM, BK)
            wgmma::fence();
            for i in 0..MMAS {
                wgmma::tf32_fragments(acc, b_frag[i], a.add(i as u32 * WGMMA_K_BYTES), accumulate || i > 0);
            }
            wgmma::commit_group();
            b_frag
        }
    }

    /// This block's partial tile, where the stages were.
    #[inline(always)]
    pub fn partial_tile() -> PartialTile<BM, BN, PAD> {
        PartialTile::new(shared::dynamic_shared_mem())
    }

    /// Publishes the accumulators.
    ///
    /// # Safety
    /// Every consumer thread calls it, with its [`partial_tile`](Self::partial_tile) and what [`consume`](Self::consume) returned.
    #[inline(always)]
    pub unsafe fn publish(tile: PartialTile<BM, BN, PAD>, acc: &[f32; ACC], b_is_transposed: bool) {
        // A row of B^T is a column of C: those of fragments are not in order.
        let (col, apart) = if b_is_transposed { (wgmma::acc_row(), 8) } else { (columns::column(), 4) };
        // SAFETY: inside the tile, and nobody else stores these.
        unsafe {
            producer_warp::sync_consumers(Self::CONSUMER_THREADS); // the MMAs of all warpgroups are complete
            for half in 0..2 {
                let to = tile.at(Coord {
                    row: wgmma::acc_col(),
                    col: Self::first_column(thread::thread_idx_x()) + col + half as u32 * apart,
                });
                for i in 0..ACC / OCTET {
                    for next in 0..2 {
                        let row = i as u32 * 8 + next as u32;
                        *to.add((row * PartialTile::<BM, BN, PAD>::PITCH) as usize) = acc[i * OCTET + half * 2 + next];
                    }
                }
            }
        }
    }
}
