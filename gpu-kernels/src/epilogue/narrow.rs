//! A warp's accumulators as elements of 16 bits, through a staging buffer of its own.
//!
//! ```text
//!   pairs of accumulators, in 16 rows ── stmatrix ──► 16 lines of up to 64 columns ──► 16 bytes, or one element, per lane
//! ```
//!
//! No barrier but the warp's is needed. A line has eight pieces of 16 bytes, which are swizzled from line to line, so that neither stores
//! nor loads have bank conflicts.

use super::direct::{OCTET, Output};
use super::{LINE, LINES};
use crate::Extent;
use crate::gemm::Gemm;
use crate::hardware::WARP;
use crate::ptx::{compiler, f32x4, matrix};
use cuda_std::prelude::*;

/// Words and elements of a piece.
pub(super) const PIECE: u32 = 4;
pub(crate) const ELEMENTS: u32 = 2 * PIECE;
/// Accumulators per thread that fill a buffer: two in a word.
pub(crate) const ROUND: usize = (2 * LINES * LINE / WARP) as usize;
/// The most pieces of a lane.
const PIECES: usize = (LINES * LINE / PIECE / WARP) as usize;

/// Columns of C that a round of a thread's ACC accumulators has.
pub(crate) const fn columns(acc: usize) -> u32 {
    2 * if acc < ROUND { acc as u32 } else { ROUND as u32 }
}

/// Where in C the lines of a buffer belong.
#[derive(Clone, Copy)]
pub(crate) struct Window<O> {
    /// The first element, which need not be in bounds.
    pub c: *mut O,
    /// Rows and columns in bounds.
    pub bounds: Extent,
    /// Whether rows begin at multiples of 16 bytes, and none ends within one.
    pub is_wide: bool,
}

impl<O> Window<O> {
    /// That of the round of that index, each of so many columns.
    #[inline(always)]
    pub fn round(self, index: u32, columns: u32) -> Self {
        let first = index * columns;
        let bounds = Extent { cols: self.bounds.cols.saturating_sub(first), ..self.bounds };
        Self { c: self.c.wrapping_add(first as usize), bounds, ..self }
    }
}

/// Stores alpha times a round of this thread's accumulators to its warp's buffer.
///
/// # Safety
/// As of [`put_words`].
#[inline(always)]
pub(crate) unsafe fn put<O: Output, const ACC: usize>(buffer: *mut f32, g: &Gemm, acc: &[f32; ACC], round: usize) {
    let word = |i: usize| {
        let i = round * ROUND + 2 * i;
        O::pair(g.alpha * acc[i], g.alpha * acc[i + 1])
    };
    // SAFETY: upheld by the caller (see `# Safety`).
    unsafe { put_words(buffer, warp::lane_id(), ROUND.min(ACC - round * ROUND) / 2, word) }
}

/// Stores so many words of this lane, pairs of accumulators, to its warp's buffer.
///
/// # Safety
/// All lanes are here; `buffer` is 2 KiB of shared memory at a multiple of 128 bytes, which no other warp uses, and no lane any more.
#[inline(always)]
pub(crate) unsafe fn put_words(buffer: *mut f32, lane: u32, words: usize, word: impl Fn(usize) -> u32) {
    // 8 x 8 matrices of `stmatrix`: the upper and lower eight rows of one octet of columns, then of the next.
    let (row, octet) = (lane % LINES, lane / LINES);
    // SAFETY: inside the warp's buffer.
    unsafe {
        let to = shared::address(buffer) + (row * LINE + (octet ^ (row % 8)) * PIECE) * 4;
        for two in 0..words / OCTET {
            let first = two * OCTET;
            let words = [word(first), word(first + 1), word(first + 2), word(first + 3)];
            matrix::store(to ^ (two as u32 * 2 * PIECE * 4), words);
        }
    }
}

/// Stores the lines of a buffer, of so many columns, to C; then the buffer may be written again.
///
/// # Safety
/// All lanes are here, and have put their accumulators there; what is in bounds of the window is in bounds of C, and no other warp touches
/// it.
#[inline(always)]
pub(crate) unsafe fn store<O: Output>(buffer: *mut f32, g: &Gemm, window: Window<O>, cols: u32) {
    // SAFETY: upheld by the caller (see `# Safety`).
    unsafe {
        if window.is_wide {
            store_pieces(buffer, warp::lane_id(), g.ldc, window, cols / ELEMENTS);
        } else {
            store_elements(buffer, g, window, cols);
        }
        warp::sync_warp(u32::MAX); // every lane has read them
    }
}

/// Stores the lines by pieces, so many of each. The buffer may not be written before all lanes are here.
///
/// # Safety
/// As of [`store`], and the window is wide.
#[inline(always)]
pub(crate) unsafe fn store_pieces<O: Output>(buffer: *mut f32, lane: u32, ldc: usize, window: Window<O>, pieces: u32) {
    let (line, piece, at_once) = (lane / pieces, lane % pieces, WARP / pieces);
    let lines = (LINES / at_once) as usize;
    // SAFETY: upheld by the caller (see `# Safety`).
    unsafe {
        let values: [_; PIECES] = core::array::from_fn(|i| {
            let line = line + i as u32 * at_once;
            let from = buffer.wrapping_add((line * LINE + (piece ^ (line % 8)) * PIECE) as usize);
            if i < lines { f32x4::load(from) } else { [0.0; PIECE as usize] }
        });
        let c = window.c.wrapping_add(line as usize * ldc + (piece * ELEMENTS) as usize);
        for (i, value) in values.into_iter().enumerate() {
            let is_in_bounds = line + i as u32 * at_once < window.bounds.rows && piece * ELEMENTS < window.bounds.cols;
            if i < lines && is_in_bounds {
                f32x4::store(c.wrapping_add(i * at_once as usize * ldc).cast(), value);
            }
        }
    }
}

/// Stores the lines, of so many columns, one element of each lane after the other.
///
/// # Safety
/// As of [`store`].
#[inline(always)]
unsafe fn store_elements<O: Output>(buffer: *mut f32, g: &Gemm, window: Window<O>, cols: u32) {
    let lane = warp::lane_id();
    let at_once = WARP / cols.min(WARP);
    let (first, col) = (lane / cols.min(WARP), lane % cols.min(WARP));
    let mut line = first;
    while line < window.bounds.rows.min(LINES) {
        for right in 0..cols.div_ceil(WARP) {
            let col = col + right * WARP;
            let word = line * LINE + ((col / ELEMENTS) ^ (line % 8)) * PIECE;
            // SAFETY: upheld by the caller (see `# Safety`).
            unsafe {
                let value = *buffer.add(word as usize).cast::<O>().add((col % ELEMENTS) as usize);
                if col < window.bounds.cols {
                    *window.c.wrapping_add(line as usize * g.ldc + col as usize) = value;
                }
            }
        }
        line = compiler::opaque(line + at_once); // or LLVM would unroll the loop further
    }
}
