//! Sums on their way to C: a warp's go through shared memory, so that its stores are of whole lines.
//!
//! ```text
//!   a thread's sums: pairs, in many rows    ──►  2 KiB: 16 lines  ──►  16 bytes of each lane: four lines of C
//! ```
//!
//! Each warp has a place of its own, and nobody waits but its lanes. A line has eight pieces of 16 bytes, which change places
//! from line to line, so that neither way meets a bank twice.

use crate::f32x4;
use crate::fragment::{OCTET, Output};
use crate::gemm::Gemm;
use crate::ptx::wgmma::WARPGROUP;
use crate::ptx::{compiler, matrix};
use crate::ring::CONSUMERS;
use crate::tile::WARP;
use cuda_std::prelude::*;

/// Lines of a warp's place, and words of a line.
const LINES: u32 = 16;
pub(crate) const LINE: u32 = 32;
/// Words of a piece, and lines that a warp's pieces of 16 bytes are.
pub(crate) const PIECE: u32 = 4;
const AT_ONCE: u32 = WARP * PIECE / LINE;
/// Sums of a thread that fill the place: as f32, or two in a word.
pub(crate) const ROUND: usize = (LINES * LINE / WARP) as usize;
const NARROW_ROUND: usize = 2 * ROUND;
/// Lines of which C is on its way at once where a lane has one element of each.
const TOGETHER: usize = 4;

const WARP_BYTES: u32 = LINES * LINE * 4;

/// Dynamic shared memory of a ring that has so many bytes and, behind it, places of all warps that multiply.
pub(crate) const fn smem_bytes(ring: u32) -> u32 {
    ring.next_multiple_of(LINE * 4) + CONSUMERS * WARPGROUP / WARP * WARP_BYTES
}

/// How the sums of a warp lie in C.
pub(crate) trait Layout {
    /// Rows of C in a line; the next line has the next ones.
    const ROWS: u32;
    /// Columns from one round to the next. If it is 0, the next round has the next rows.
    const COLUMNS: u32;

    /// Of a warp whose threads have so many sums: the row and column in C where they begin, of its warpgroup's, and how many
    /// rows and columns there are from the first to the last.
    fn part(acc: u32) -> [[u32; 2]; 2];

    /// The row and column of C, of its line's, where a piece begins.
    fn place(piece: u32) -> [u32; 2];

    /// What the numbers of pieces are changed by in a line: `^`. The same for each fourth line.
    fn swizzle(line: u32) -> u32;

    /// Where a round's part of C is, of those that begin at `c`.
    #[inline(always)]
    fn round<O>(g: &Gemm, c: *mut O, round: u32) -> *mut O {
        let rows = if Self::COLUMNS == 0 { round * LINES * Self::ROWS } else { 0 };
        c.wrapping_add(rows as usize * g.ldc + (round * Self::COLUMNS) as usize)
    }

    /// Puts this thread's sums of a round into its warp's place.
    ///
    /// # Safety
    /// That place, which no other warp uses.
    unsafe fn put<const ACC: usize>(place: *mut f32, lane: u32, acc: &[f32; ACC], round: usize);
}

/// Rows of products are rows of C: a line has 32 columns.
pub(crate) struct Rows;

impl Layout for Rows {
    const ROWS: u32 = 1;
    const COLUMNS: u32 = LINE;

    #[inline(always)]
    fn part(acc: u32) -> [[u32; 2]; 2] {
        [[thread::thread_idx_x() % WARPGROUP / WARP * LINES, 0], [LINES, 2 * acc]]
    }

    #[inline(always)]
    fn place(piece: u32) -> [u32; 2] {
        [0, piece * PIECE]
    }

    #[inline(always)]
    fn swizzle(line: u32) -> u32 {
        line % 4 * 2
    }

    #[inline(always)]
    unsafe fn put<const ACC: usize>(place: *mut f32, lane: u32, acc: &[f32; ACC], round: usize) {
        let (row, pair) = (lane / 4, lane % 4);
        let word = row * LINE + ((pair / 2) ^ Self::swizzle(row)) * PIECE + pair % 2 * 2;
        for octet in 0..ROUND / OCTET {
            for half in 0..2 {
                let i = round * ROUND + octet * OCTET + half * 2;
                // SAFETY: inside, by the caller's promise.
                unsafe {
                    let to = place.add((word ^ (octet as u32 * 8)) as usize + half * (8 * LINE) as usize);
                    (*to, *to.add(1)) = (acc[i], acc[i + 1]);
                }
            }
        }
    }
}

/// The place of this thread's warp.
#[derive(Clone, Copy)]
pub(crate) struct Staging(*mut f32);

impl Staging {
    /// Behind a ring of so many bytes, in [`smem_bytes`] of dynamic shared memory.
    #[inline(always)]
    pub fn behind(ring: u32) -> Self {
        let warp = thread::thread_idx_x() / WARP - WARPGROUP / WARP;
        let bytes = ring.next_multiple_of(LINE * 4) + warp * WARP_BYTES;
        Self(shared::dynamic_shared_mem::<f32>().wrapping_add(bytes as usize / 4))
    }

    /// C = alpha*acc + beta*C, where this warpgroup's sums begin at `row` and `col`, and `g`'s C is of `O`.
    ///
    /// # Safety
    /// `c` is (m, n) with `ldc`, all lanes are here, and no other warp touches these elements.
    #[inline(always)]
    pub unsafe fn store<L: Layout, O: Output, const ACC: usize>(
        self,
        g: &Gemm,
        [row, col]: [u32; 2],
        acc: &[f32; ACC],
    ) {
        let [[first_row, first_col], [rows, columns]] = L::part(ACC as u32);
        // Not before the sums are there: what is computed of these would be kept in registers all along.
        let [row, col, lane, ldc] =
            [row + first_row, col + first_col, warp::lane_id(), g.ldc as u32].map(compiler::anew);
        let g = &Gemm { ldc: ldc as usize, ..*g };
        let is_inside = row + rows <= g.m && col + columns <= g.n;
        let is_aligned = g.c.addr().is_multiple_of(16) && (g.ldc * size_of::<O>()).is_multiple_of(16);
        let c = g.c.cast::<O>().wrapping_add(row as usize * g.ldc + col as usize);
        // SAFETY: inside C, or guarded.
        unsafe {
            if !(is_inside && is_aligned) || g.beta != 0.0 {
                let left = [g.m.saturating_sub(row), g.n.saturating_sub(col)];
                self.blend::<L, O, ACC>(g, c, lane, left, is_inside && is_aligned, acc);
            } else if O::IS_NARROW {
                self.narrow(g, c, lane, acc);
            } else {
                for round in 0..ACC / ROUND {
                    L::put(self.0, lane, acc, round);
                    warp::sync_warp(u32::MAX); // the lines are there
                    self.pieces::<L, O, false>(g, L::round(g, c, round as u32), lane);
                }
            }
        }
    }

    /// C = alpha*acc in elements of 16 bits: lines of 64 columns.
    #[inline(always)]
    unsafe fn narrow<O: Output, const ACC: usize>(self, g: &Gemm, c: *mut O, lane: u32, acc: &[f32; ACC]) {
        let (line, piece) = (lane / 8, lane % 8);
        // Matrices are octets of columns: the upper and the lower eight rows of one, then those of the next.
        let (row, octet) = (lane % 16, lane / 16);
        // SAFETY: inside C, by the caller's promise, and inside this warp's place.
        unsafe {
            let to = shared::address(self.0) + (row * LINE + (octet ^ (row % 8)) * PIECE) * 4;
            let c = c.add(line as usize * g.ldc + (piece * 8) as usize);
            for round in 0..ACC / NARROW_ROUND {
                for two in 0..NARROW_ROUND / (2 * OCTET) {
                    let word = |i: usize| {
                        let i = round * NARROW_ROUND + two * 2 * OCTET + i * 2;
                        O::pair(g.alpha * acc[i], g.alpha * acc[i + 1])
                    };
                    matrix::store(to ^ (two as u32 * 2 * PIECE * 4), [word(0), word(1), word(2), word(3)]);
                }
                warp::sync_warp(u32::MAX); // the lines are there
                let pieces: [_; (LINES / AT_ONCE) as usize] = core::array::from_fn(|i| {
                    let line = line + i as u32 * AT_ONCE;
                    f32x4::load(self.0.add((line * LINE + (piece ^ (line % 8)) * PIECE) as usize))
                });
                warp::sync_warp(u32::MAX); // all have read them
                for (i, piece) in pieces.into_iter().enumerate() {
                    f32x4::store(c.add(i * AT_ONCE as usize * g.ldc + round * 2 * LINE as usize).cast(), piece);
                }
            }
        }
    }

    /// C = alpha*sums + beta*C, or without C, of a round: pieces of four sums become four elements.
    #[inline(always)]
    unsafe fn pieces<L: Layout, O: Output, const BLENDS: bool>(self, g: &Gemm, c: *mut O, lane: u32) {
        let (line, piece) = (lane / 8, lane % 8);
        let [row, col] = L::place(piece);
        // SAFETY: inside C, by the caller's promise, and inside this warp's place.
        unsafe {
            let at = |i: usize| {
                c.add((line * L::ROWS + row) as usize * g.ldc + col as usize)
                    .add(i * (AT_ONCE * L::ROWS) as usize * g.ldc)
            };
            let old: [_; (LINES / AT_ONCE) as usize] =
                core::array::from_fn(|i| if BLENDS { O::load(at(i)) } else { [0.0; PIECE as usize] });
            let from = self.0.add((line * LINE + (piece ^ L::swizzle(line)) * PIECE) as usize);
            let sums: [_; (LINES / AT_ONCE) as usize] =
                core::array::from_fn(|i| f32x4::load(from.add(i * (AT_ONCE * LINE) as usize)));
            warp::sync_warp(u32::MAX); // all have read them
            for i in 0..(LINES / AT_ONCE) as usize {
                let value = |j: usize| {
                    if BLENDS { g.blend(sums[i][j], old[i][j]) } else { g.alpha * sums[i][j] }
                };
                O::store(at(i), [value(0), value(1), value(2), value(3)]);
            }
        }
    }

    /// C = alpha*acc + beta*C, in wide pieces or one by one, where there are so many rows and columns `left`. Seldom, and
    /// therefore short: the only code that is there for each round puts the sums into shared memory.
    #[inline(always)]
    unsafe fn blend<L: Layout, O: Output, const ACC: usize>(
        self,
        g: &Gemm,
        c: *mut O,
        lane: u32,
        [rows, columns]: [u32; 2],
        is_wide: bool,
        acc: &[f32; ACC],
    ) {
        let [_, [all_rows, all_columns]] = L::part(ACC as u32);
        let [rows, columns] = [rows.min(all_rows), columns.min(all_columns)];
        let rounds = if L::COLUMNS == 0 { rows.div_ceil(LINES * L::ROWS) } else { columns.div_ceil(L::COLUMNS) };
        for round in 0..rounds {
            // What is computed of these would be kept from round to round, in more registers than there are.
            let [lane, ldc] = [lane, g.ldc as u32].map(compiler::anew);
            let g = &Gemm { ldc: ldc as usize, ..*g };
            let [row, col] = L::place(lane / PIECE);
            let col = col + lane % PIECE;
            // SAFETY: inside this warp's place, and guarded.
            unsafe {
                for i in 0..ACC / ROUND {
                    if i as u32 == round {
                        L::put(self.0, lane, acc, i);
                    }
                }
                warp::sync_warp(u32::MAX); // the lines are there
                let c = L::round(g, c, round);
                if is_wide {
                    self.pieces::<L, O, true>(g, c, lane);
                    continue;
                }
                let left = rows - if L::COLUMNS == 0 { round * LINES * L::ROWS } else { 0 };
                let is_column = col + round * L::COLUMNS < columns;
                for first in (0..left.div_ceil(L::ROWS).min(LINES)).step_by(TOGETHER) {
                    let at = |i: usize| {
                        let row = (first + i as u32) * L::ROWS + row;
                        (c.wrapping_add(row as usize * g.ldc + col as usize), is_column && row < left)
                    };
                    let old: [f32; TOGETHER] = core::array::from_fn(|i| match at(i) {
                        (c, true) if g.beta != 0.0 => (*c).get(),
                        _ => 0.0,
                    });
                    for (i, old) in old.into_iter().enumerate() {
                        if let (c, true) = at(i) {
                            let word = (first + i as u32) * LINE + (lane ^ (L::swizzle(i as u32) * PIECE));
                            *c = O::new(g.blend(*self.0.add(word as usize), old));
                        }
                    }
                }
                warp::sync_warp(u32::MAX); // all have read them
            }
        }
    }
}
