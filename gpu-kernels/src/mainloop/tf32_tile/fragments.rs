//! Fragments of B^T for `wgmma`, of an n-major B in shared memory.

use super::BK;
use crate::ptx::wgmma::WGMMA_K_BYTES;
use cuda_std::warp;

/// Depth of an MMA.
const DEPTH: u32 = WGMMA_K_BYTES / 4;
/// MMAs per k-tile.
pub(crate) const MMAS: usize = (BK / DEPTH) as usize;

/// A thread's fragments of 64 columns of a k-tile of B, for each MMA.
pub(crate) type Fragments = [[f32; 4]; MMAS];

/// The fragments of the rows of B^T that are this column of the panel, and four columns further on.
///
/// TMA's swizzle: chunk c of row r, four columns, lies at chunk c ^ (r % 8). The lanes that read one row read two whole
/// chunks four apart; the lanes of the next rows read the chunks between.
///
/// # Safety
/// `panel` is (BK, BK) in shared memory.
#[inline(always)]
pub(crate) unsafe fn of_panel(panel: *const f32, col: u32) -> Fragments {
    core::array::from_fn(|i| {
        core::array::from_fn(|v| {
            let row = i as u32 * DEPTH + warp::lane_id() % 4 + v as u32 / 2 * 4;
            let col = col + v as u32 % 2 * 4;
            // SAFETY: inside the panel.
            unsafe { *panel.add((row * BK + (((col / 4) ^ (row % 8)) * 4 + col % 4)) as usize) }
        })
    })
}
