//! From the accumulators of warps that share k to C: the warps of a block, then the blocks of a cluster, reduce them in a fixed order.

use super::kernel::{Acc, BLOCKS, MMA_ROWS};
use super::vectors::Vectors;
use super::{FEW, OCTETS, PARTIAL_WORDS, PITCH, ROWS, VECTOR, WARP_BYTES};
use crate::hardware::WARP;
use crate::planned::PlannedBlock;
use crate::ptx::{cluster, compiler, f32x4, lanes};
use crate::{Coord, Splits};
use cuda_std::prelude::*;

/// The word of an element in a warp's partial tile.
#[inline(always)]
fn word(warp: u32, row: u32, col: u32) -> *mut f32 {
    shared::dynamic_shared_mem::<f32>().wrapping_add((warp * WARP_BYTES / 4 + col * PITCH + row) as usize)
}

/// Publishes a warp's accumulators, where its part of B was.
///
/// # Safety
/// The whole warp calls it, and its copies are complete.
#[allow(clippy::needless_range_loop)] // an iterator would keep the accumulators in memory
#[inline(always)]
pub(super) unsafe fn publish(vectors: Vectors, acc: &Acc) {
    warp::sync_warp(u32::MAX); // every lane has read B
    let lane = warp::lane_id();
    let first = word(lanes::warp_index(), lane % 4 * 2, lane / 4);
    for octet in 0..OCTETS {
        if vectors.has(octet) {
            for block in 0..BLOCKS {
                let further = octet * (VECTOR * PITCH) as usize + block * MMA_ROWS;
                // SAFETY: of the partial tile, at a multiple of 8 bytes; no other thread has the elements.
                unsafe { f32x4::store_2(first.wrapping_add(further), [acc[block][2 * octet], acc[block][2 * octet + 1]]) }
            }
        }
    }
}

/// Reduces the partial tiles of each block of the cluster, and hands this block's share of the sums to `store`.
///
/// # Safety
/// Every thread of the cluster calls it, and has published its accumulators.
#[inline(always)]
pub(super) unsafe fn reduce<const WARPS: u32>(block: PlannedBlock, vectors: Vectors, store: impl Fn(Coord, f32)) {
    let threads = WARPS * WARP;
    let tid = thread::thread_idx_x();
    let width_log2 = if vectors.has(1) { FEW.ilog2() } else { VECTOR.ilog2() };
    let coord = |index: u32| Coord { row: index >> width_log2, col: index & ((1 << width_log2) - 1) };
    // SAFETY: in the partial tiles, and behind the first one; what another thread has stored is read behind a barrier.
    unsafe {
        thread::sync_threads(); // the partial tiles are complete
        let sum_of_warps = |at: Coord| {
            let parts: [f32; WARPS_MOST] = core::array::from_fn(|warp| {
                if (warp as u32) < WARPS { *word(warp as u32, at.row, at.col) } else { -0.0 } // changes no sum
            });
            parts.into_iter().reduce(|sum, part| sum + part).unwrap_or(0.0)
        };
        if block.cluster <= 1 {
            let mut index = tid;
            while index < ROWS << width_log2 {
                let at = coord(index);
                store(at, sum_of_warps(at));
                index = compiler::opaque(index + threads); // or LLVM would unroll the loop
            }
            return;
        }
        let of_block = |at: Coord| word(0, at.row, at.col).wrapping_add(PARTIAL_WORDS as usize);
        let mut index = tid;
        while index < ROWS << width_log2 {
            let at = coord(index);
            *of_block(at) = sum_of_warps(at);
            index = compiler::opaque(index + threads);
        }
        cluster::sync(); // the sums of every block are there
        let mut index = block.rank * threads + tid;
        while index < ROWS << width_log2 {
            let at = coord(index);
            let address = shared::address(of_block(at));
            let parts: [f32; Splits::MAX_CLUSTER as usize] = core::array::from_fn(|rank| {
                let rank = rank as u32;
                if rank < block.cluster { cluster::load(address, rank) } else { -0.0 }
            });
            store(at, parts.into_iter().fold(-0.0, |sum, part| sum + part));
            index = compiler::opaque(index + block.cluster * threads);
        }
        // No block loads from this one any more.
        cluster::arrive_relaxed();
        cluster::wait();
    }
}

/// The most warps of a block.
const WARPS_MOST: usize = 8;
