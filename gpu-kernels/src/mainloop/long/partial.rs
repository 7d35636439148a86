//! From the accumulators of warps that share k to C: the warps of a block, then the blocks of a cluster, reduce them in a fixed order.

use super::matrix::{BLOCKS, OfColumns, OfRows, SHARERS, WARP_ROWS};
use super::vectors::Vectors;
use super::{OCTETS, PARTIAL_WORDS, PITCH, ROWS, THREADS, VECTOR, WARPS};
use crate::hardware::VEC;
use crate::planned::PlannedBlock;
use crate::ptx::{cluster, compiler, f32x4, lanes};
use crate::{Coord, Extent};
use cuda_std::prelude::*;

/// The word of a row and a vector in the partial tile of that number.
#[inline(always)]
fn word(number: u32, row: u32, vector: u32) -> *mut f32 {
    shared::dynamic_shared_mem::<f32>().wrapping_add((number * PARTIAL_WORDS + vector * PITCH + row) as usize)
}

/// Publishes the accumulators of a warp's rows. Says how many partial tiles there are.
///
/// # Safety
/// Every thread of the block calls it, and none reads the chunks any more.
#[allow(clippy::needless_range_loop)] // an iterator would keep the accumulators in memory
#[inline(always)]
pub(super) unsafe fn publish_rows(vectors: Vectors, acc: &OfRows) -> u32 {
    let (warp, lane) = (lanes::warp_index(), warp::lane_id());
    let first = warp % (WARPS / SHARERS) * WARP_ROWS + lane / 4;
    let first = word(warp / (WARPS / SHARERS), first, lane % 4 * 2);
    for octet in 0..OCTETS {
        if vectors.has(octet) {
            for (i, acc) in acc[octet].into_iter().enumerate() {
                let further = (octet as u32 * VECTOR + i as u32 % 2) * PITCH + i as u32 / 2 * 8;
                // SAFETY: of the partial tile; no other thread has the element.
                unsafe { *first.wrapping_add(further as usize) = acc }
            }
        }
    }
    SHARERS
}

/// The same of accumulators where rows are contiguous.
///
/// # Safety
/// As of [`publish_rows`].
#[allow(clippy::needless_range_loop)] // as of `publish_rows`
#[inline(always)]
pub(super) unsafe fn publish_columns(vectors: Vectors, acc: &OfColumns) -> u32 {
    let (warp, lane) = (lanes::warp_index(), warp::lane_id());
    let first = word(warp, lane / 4 * VECTOR, lane % 4 * 2);
    for octet in 0..OCTETS {
        if vectors.has(octet) {
            for i in 0..2 {
                for j in (0..BLOCKS).step_by(2) {
                    let [upper, lower] = [acc[j][octet], acc[j + 1][octet]];
                    let further = (octet * VECTOR as usize + i) * PITCH as usize + 2 * j;
                    // SAFETY: of the partial tile, at a multiple of 16 bytes; no other thread has the elements.
                    unsafe {
                        let target = first.wrapping_add(further);
                        f32x4::store(target, [upper[i], upper[2 + i], lower[i], lower[2 + i]]);
                    }
                }
            }
        }
    }
    WARPS
}

/// Reduces so many partial tiles of each block of the cluster, and hands this block's share of the sums in bounds to `store`, which uses them.
///
/// # Safety
/// Every thread of the cluster calls it, and has published its accumulators.
#[inline(always)]
pub(super) unsafe fn reduce(
    block: PlannedBlock,
    tiles: u32,
    vectors: Vectors,
    bounds: Extent,
    store: impl Fn(Coord, f32),
) {
    const { assert!(ROWS * super::FEW / VEC <= THREADS) }
    let tid = thread::thread_idx_x();
    let width_log2 = if vectors.has(1) { super::FEW.ilog2() } else { VECTOR.ilog2() };
    // SAFETY: in the partial tiles; elements of the first one are summed by the thread that reads them.
    unsafe {
        thread::sync_threads(); // the partial tiles are complete
        if tid < (ROWS / VEC) << width_log2 {
            let at = |number: u32| word(number, tid % (ROWS / VEC) * VEC, tid / (ROWS / VEC));
            let mut sum = f32x4::load(at(0));
            let mut number = 1;
            while number < tiles {
                let other = f32x4::load(at(number));
                sum = core::array::from_fn(|v| sum[v] + other[v]);
                number = compiler::opaque(number + 1); // or LLVM would unroll the loop
            }
            f32x4::store(at(0), sum);
        }
        if block.cluster > 1 {
            cluster::sync(); // the sums of every block are there
        } else {
            thread::sync_threads(); // the block's sums are there
        }
        let mut index = block.rank * THREADS + tid;
        while index < ROWS << width_log2 {
            let coord = Coord { row: index >> width_log2, col: index & ((1 << width_log2) - 1) };
            let at = word(0, coord.row, coord.col);
            if coord.row < bounds.rows && coord.col < bounds.cols {
                store(coord, if block.cluster > 1 { cluster::sum(shared::address(at), block.cluster) } else { *at });
            }
            index = compiler::opaque(index + block.cluster * THREADS);
        }
        if block.cluster > 1 {
            // No block loads from this one any more.
            cluster::arrive_relaxed();
            cluster::wait();
        }
    }
}
