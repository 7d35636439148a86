//! The epilogue of a block that shares its tile with no other, fuses nothing and needs no C, where rows of C are not aligned or end in the
//! tile: the tile goes through shared memory, from where adjacent lanes store adjacent elements of a row.

use super::partial_tile::{PartialTile, Target};
use crate::Coord;
use crate::hardware::WARP;
use cuda_std::prelude::*;

/// Elements that a thread loads and stores together.
const TOGETHER: usize = 8;

/// C = alpha\*tile.
///
/// # Safety
/// All THREADS of the block are here, and have published their accumulators: all of (BM, BN) is. C is of f32, and no other block has the
/// tile.
#[allow(clippy::needless_range_loop)] // an iterator would keep the values in memory
#[inline(always)]
pub(crate) unsafe fn store<const BM: u32, const BN: u32, const PAD: u32, const THREADS: u32>(
    partial: PartialTile<BM, BN, PAD>,
    target: Target,
) {
    let lanes = const { if BN < WARP { BN } else { WARP } };
    let (across, at_once) = (BN / lanes, THREADS / lanes); // copies along a row, and rows
    let together = TOGETHER as u32 / across; // rows of a thread
    const {
        let lanes = if BN < WARP { BN } else { WARP };
        assert!((TOGETHER as u32 * lanes).is_multiple_of(BN) && (BM * BN).is_multiple_of(THREADS * TOGETHER as u32));
    }
    let Target { g, tile, .. } = target;
    let (m, n) = ((g.m - tile.row).min(BM), g.n - tile.col);
    let (mut row, col) = (thread::thread_idx_x() / lanes, thread::thread_idx_x() % lanes);
    let mut c = g.c.wrapping_add(target.first() + row as usize * g.ldc + col as usize);
    thread::sync_threads(); // every warp has published its accumulators
    while row < m {
        let place = |i: usize| (i as u32 / across * at_once, i as u32 % across * lanes);
        let is_in_bounds = |i: usize| row + place(i).0 < m && col + place(i).1 < n;
        let c_at = |i: usize| c.wrapping_add(place(i).0 as usize * g.ldc + place(i).1 as usize);
        let at = partial.at(Coord { row, col });
        // SAFETY: in bounds of the tile, as its rows are a multiple of those together; of C, just checked.
        unsafe {
            let acc: [f32; TOGETHER] = core::array::from_fn(|i| {
                *at.add((place(i).0 * PartialTile::<BM, BN, PAD>::PITCH + place(i).1) as usize)
            });
            for i in 0..TOGETHER {
                if is_in_bounds(i) {
                    *c_at(i) = g.alpha * acc[i];
                }
            }
        }
        row += together * at_once;
        c = c.wrapping_add((together * at_once) as usize * g.ldc);
    }
}
