//! The epilogue of persistent blocks that only scale: a warp stores its 16 rows of the tile through staging buffers of its own, which lie
//! beside the stages, as these are in use again by then. No barrier but the warp's is needed.
//!
//! Accumulators become elements of 16 bits in swizzled lines, a buffer for every 64 columns ([`narrow`]). Then each access stores 512 bytes,
//! of as few rows as possible.

use super::direct::Output;
use super::narrow::{self, ELEMENTS, PIECE};
use super::{LINE, LINES, WARP_WORDS};
use crate::Extent;
use crate::gemm::Gemm;
use crate::hardware::WARP;
use crate::ptx::{compiler, f32x4};
use cuda_std::prelude::*;

/// Pieces that a lane loads before it stores the first.
const AHEAD: u32 = 8;

/// C = alpha\*acc for a warp's accumulators, of rows that begin at `c`.
///
/// # Safety
/// All lanes are here, with [`WARP_WORDS`] of shared memory for each [`narrow::ROUND`] accumulators of a thread, at a multiple of 128 bytes,
/// which no other warp uses. What is in `bounds` is in bounds of C, and no other warp stores it; rows of C begin at multiples of 16 bytes,
/// and none ends within one.
#[inline(always)]
pub(crate) unsafe fn store<O: Output, const ACC: usize>(
    smem: *mut f32,
    g: &Gemm,
    c: *mut O,
    bounds: Extent,
    acc: &[f32; ACC],
) {
    let pieces = const { 2 * ACC as u32 / ELEMENTS }; // of a row
    let at_once = const { WARP / (2 * ACC as u32 / ELEMENTS) }; // rows
    // Opaque: addresses computed before the mainloop would occupy registers throughout it.
    let lane = compiler::opaque(warp::lane_id());
    let (piece, first) = (lane % pieces, lane / pieces);
    // SAFETY: upheld by the caller (see `# Safety`); inside the buffers, and in bounds of C.
    unsafe {
        for round in 0..ACC / narrow::ROUND {
            narrow::put::<O, ACC>(smem.wrapping_add(round * WARP_WORDS as usize), g, acc, round);
        }
        warp::sync_warp(u32::MAX); // the lines are written
        if piece * ELEMENTS < bounds.cols {
            let c = c.wrapping_add((piece * ELEMENTS) as usize);
            let load = |line: u32| {
                let in_line = ((piece % 8) ^ (line % 8)) * PIECE;
                f32x4::load(smem.wrapping_add((piece / 8 * WARP_WORDS + line * LINE + in_line) as usize))
            };
            let store = |row: u32, value| f32x4::store(c.wrapping_add(row as usize * g.ldc).cast(), value);
            let (mut row, rows) = (first, bounds.rows.min(LINES));
            while row + (AHEAD - 1) * at_once < rows {
                let values: [_; AHEAD as usize] = core::array::from_fn(|i| load(row + i as u32 * at_once));
                compiler::keep_loads_above(); // or stores would wait for each other's registers
                for (i, value) in values.into_iter().enumerate() {
                    store(row + i as u32 * at_once, value);
                }
                row = compiler::opaque(row + AHEAD * at_once); // or LLVM would unroll the loop
            }
            while row < rows {
                store(row, load(row));
                row = compiler::opaque(row + at_once); // as there
            }
        }
        warp::sync_warp(u32::MAX); // every lane has read them
    }
}
