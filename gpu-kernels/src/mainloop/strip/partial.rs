//! From the accumulators of warps that share k to C: the warps of a block, then the blocks of a cluster, reduce them in a fixed order.

use super::kernel::Acc;
use super::vectors::has;
use super::{FEW, MMA_ROWS, OCTETS, Strip, VECTOR};
use crate::planned::PlannedBlock;
use crate::ptx::{cluster, compiler, f32x4, lanes};
use crate::{Coord, Extent};
use cuda_std::prelude::*;

impl<const BLOCKS: usize, const WARPS: u32, const STEPS: u32, const RUN: u32> Strip<BLOCKS, WARPS, STEPS, RUN> {
    /// The word of an element in the partial tile at that byte.
    #[inline(always)]
    fn word(tile: u32, row: u32, col: u32) -> *mut f32 {
        shared::dynamic_shared_mem::<f32>().wrapping_add((tile / 4 + col * Self::PITCH + row) as usize)
    }

    /// Publishes a warp's accumulators, in its own shared memory: those of so many columns.
    ///
    /// # Safety
    /// The whole warp calls it, and its copies are complete.
    #[allow(clippy::needless_range_loop)] // an iterator would keep the accumulators in memory
    #[inline(always)]
    pub(super) unsafe fn publish(few: u32, acc: &Acc<BLOCKS>) {
        let lane = warp::lane_id();
        let first = Self::word(lanes::warp_index() * Self::WARP_BYTES, lane % 4 * 2, lane / 4);
        for octet in 0..OCTETS {
            if has(few, octet) {
                for block in 0..BLOCKS {
                    let further = octet as u32 * VECTOR * Self::PITCH + block as u32 * MMA_ROWS;
                    let sums = [acc[block][2 * octet], acc[block][2 * octet + 1]];
                    // SAFETY: of the partial tile, at a multiple of 8 bytes; no other thread has the elements.
                    unsafe { f32x4::store_2(first.wrapping_add(further as usize), sums) }
                }
            }
        }
    }

    /// Reduces the partial tiles of each block of the cluster, and hands this block's share of the sums in bounds to `store`, which uses them:
    /// adjacent threads have adjacent columns, or rows.
    ///
    /// # Safety
    /// Every thread of the cluster calls it, and has published its accumulators.
    #[inline(always)]
    pub(super) unsafe fn reduce<const BY_ROWS: bool>(block: PlannedBlock, bounds: Extent, store: impl Fn(Coord, f32)) {
        const { assert!(WARPS as usize <= MOST_WARPS) }
        let tid = thread::thread_idx_x();
        let width_log2 = if has(bounds.cols, 1) { FEW.ilog2() } else { VECTOR.ilog2() };
        let count = Self::ROWS << width_log2;
        let coord = |index: u32| match BY_ROWS {
            false => Coord { row: index >> width_log2, col: index & ((1 << width_log2) - 1) },
            true => Coord { row: index % Self::ROWS, col: index / Self::ROWS },
        };
        let is_inside = |at: Coord| at.row < bounds.rows && at.col < bounds.cols;
        // SAFETY: in the partial tiles, and behind the first one; what another thread has stored is read behind a barrier.
        unsafe {
            thread::sync_threads(); // the partial tiles are complete
            let sum_of_warps = |at: Coord| {
                let parts: [f32; MOST_WARPS] = core::array::from_fn(|warp| {
                    let tile = warp as u32 * Self::WARP_BYTES;
                    if (warp as u32) < WARPS { *Self::word(tile, at.row, at.col) } else { -0.0 } // changes no sum
                });
                parts.into_iter().fold(-0.0, |sum, part| sum + part)
            };
            let of_block = |at: Coord| Self::word(Self::PARTIAL_BYTES, at.row, at.col);
            let mut index = tid;
            while index < count {
                let at = coord(index);
                let sum = sum_of_warps(at);
                if block.cluster > 1 {
                    *of_block(at) = sum
                } else if is_inside(at) {
                    store(at, sum)
                }
                index = compiler::opaque(index + Self::ANY_LAYOUT_THREADS); // or LLVM would unroll the loop
            }
            if block.cluster > 1 {
                cluster::sync(); // the sums of every block are there
                let mut index = block.rank * Self::ANY_LAYOUT_THREADS + tid;
                while index < count {
                    let at = coord(index);
                    if is_inside(at) {
                        store(at, cluster::sum(shared::address(of_block(at)), block.cluster));
                    }
                    index = compiler::opaque(index + block.cluster * Self::ANY_LAYOUT_THREADS);
                }
                // No block loads from this one any more.
                cluster::arrive_relaxed();
                cluster::wait();
            }
        }
    }
}

/// The most warps of a block.
const MOST_WARPS: usize = 8;
