//! The epilogue through shared memory, so that a warp stores whole 128-byte lines of C.
//!
//! ```text
//!   a thread's accumulators: pairs, in many rows  ──►  2 KiB: 16 lines  ──►  16 bytes per lane: four lines of C at once
//! ```
//!
//! Each warp has a staging buffer of its own, so no barrier but the warp's is needed. A line has eight pieces of 16 bytes, which
//! are swizzled from line to line, so that neither stores nor loads have bank conflicts.

use crate::epilogue::direct::{OCTET, Output};
use crate::epilogue::fused::Fused;
use crate::epilogue::narrow::{self, Window};
use crate::epilogue::{LINE, LINES, WARP_WORDS};
use crate::gemm::Gemm;
use crate::hardware::{WARP, WARPGROUP};
use crate::ptx::{compiler, f32x4};
use crate::{Coord, Extent};
use cuda_std::prelude::*;

/// Words of a piece, and lines that a warp accesses at once.
pub(crate) const PIECE: u32 = 4;
const AT_ONCE: u32 = WARP * PIECE / LINE;
/// Accumulators per thread that fill the buffer: as f32, or two in a word.
pub(crate) const ROUND: usize = (LINES * LINE / WARP) as usize;
/// Loads of C in flight at once where a lane has one element of each line.
const TOGETHER: usize = 4;

/// The elements of C that a warp's accumulators become.
pub(crate) struct Region {
    /// The first one, relative to the warpgroup's.
    pub first: Coord,
    /// From the first row and column to the last.
    pub extent: Extent,
}

/// How the accumulators of a warp map to C.
pub(crate) trait Layout {
    /// Rows of C in a line.
    const ROWS: u32;
    /// Columns from one round to the next; 0 if rounds advance along rows.
    const COLUMNS: u32;

    /// The warp's region, for `acc` accumulators per thread.
    fn region(acc: u32) -> Region;

    /// Where a piece begins, relative to its line.
    fn piece(piece: u32) -> Coord;

    /// The swizzle: piece p of a line lies at p ^ swizzle(line), which has period 4.
    fn swizzle(line: u32) -> u32;

    /// The first element of C of a round, where the region begins at `c`.
    #[inline(always)]
    fn round<O>(g: &Gemm, c: *mut O, round: u32) -> *mut O {
        let rows = if Self::COLUMNS == 0 { round * LINES * Self::ROWS } else { 0 };
        c.wrapping_add(rows as usize * g.ldc + (round * Self::COLUMNS) as usize)
    }

    /// Stores this thread's accumulators of a round to its warp's staging buffer.
    ///
    /// # Safety
    /// `buffer` is that buffer, which no other warp uses.
    unsafe fn put<const ACC: usize>(buffer: *mut f32, lane: u32, acc: &[f32; ACC], round: usize);
}

/// Rows of accumulators are rows of C: a line has 32 columns.
pub(crate) struct Rows;

impl Layout for Rows {
    const ROWS: u32 = 1;
    const COLUMNS: u32 = LINE;

    #[inline(always)]
    fn region(acc: u32) -> Region {
        let row = thread::thread_idx_x() % WARPGROUP / WARP * LINES;
        Region { first: Coord { row, col: 0 }, extent: Extent { rows: LINES, cols: 2 * acc } }
    }

    #[inline(always)]
    fn piece(piece: u32) -> Coord {
        Coord { row: 0, col: piece * PIECE }
    }

    #[inline(always)]
    fn swizzle(line: u32) -> u32 {
        line % 4 * 2
    }

    #[inline(always)]
    unsafe fn put<const ACC: usize>(buffer: *mut f32, lane: u32, acc: &[f32; ACC], round: usize) {
        let (row, pair) = (lane / 4, lane % 4);
        let word = row * LINE + ((pair / 2) ^ Self::swizzle(row)) * PIECE + pair % 2 * 2;
        for octet in 0..ROUND / OCTET {
            for half in 0..2 {
                let i = round * ROUND + octet * OCTET + half * 2;
                // SAFETY: inside the buffer, upheld by the caller.
                unsafe {
                    let to = buffer.add((word ^ (octet as u32 * 8)) as usize + half * (8 * LINE) as usize);
                    (*to, *to.add(1)) = (acc[i], acc[i + 1]);
                }
            }
        }
    }
}

/// The staging buffer of this thread's warp.
#[derive(Clone, Copy)]
pub(crate) struct StagingBuffer(*mut f32);

impl StagingBuffer {
    /// That many words of shared memory ([`WARP_WORDS`](super::WARP_WORDS)) at a multiple of 128 bytes, which no other warp uses.
    #[inline(always)]
    pub fn at(smem: *mut f32) -> Self {
        Self(smem)
    }

    /// Behind a ring of so many bytes, in [`staged_smem_bytes`](super::staged_smem_bytes) of dynamic shared memory.
    #[inline(always)]
    pub fn behind(ring: u32) -> Self {
        let warp = thread::thread_idx_x() / WARP - WARPGROUP / WARP;
        let bytes = ring.next_multiple_of(LINE * 4) + warp * WARP_WORDS * 4;
        Self(shared::dynamic_shared_mem::<f32>().wrapping_add(bytes as usize / 4))
    }

    /// C = alpha*acc + beta*C for this warpgroup's accumulators, the first at (`row`, `col`), where C has elements of `O`.
    ///
    /// # Safety
    /// `c` is (m, n) with `ldc`, all lanes are here, and no other warp touches these elements.
    #[inline(always)]
    pub unsafe fn store<L: Layout, O: Output, const ACC: usize>(
        self,
        g: &Gemm,
        Coord { row, col }: Coord,
        acc: &[f32; ACC],
    ) {
        let Region { first, extent } = L::region(ACC as u32);
        // Opaque: addresses computed before the mainloop would occupy registers throughout it.
        let [row, col, lane, ldc] =
            [row + first.row, col + first.col, warp::lane_id(), g.ldc as u32].map(compiler::opaque);
        let g = &Gemm { ldc: ldc as usize, ..*g };
        let in_bounds = row + extent.rows <= g.m && col + extent.cols <= g.n;
        let is_aligned = g.c.addr().is_multiple_of(16) && (g.ldc * size_of::<O>()).is_multiple_of(16);
        let c = g.c.cast::<O>().wrapping_add(row as usize * g.ldc + col as usize);
        // SAFETY: in bounds of C, or predicated.
        unsafe {
            if O::IS_NARROW || !(in_bounds && is_aligned) || g.beta != 0.0 {
                let left = Extent { rows: g.m.saturating_sub(row), cols: g.n.saturating_sub(col) };
                self.axpby::<L, O, ACC>(g, c, lane, left, in_bounds && is_aligned, acc);
            } else {
                for round in 0..ACC / ROUND {
                    L::put(self.0, lane, acc, round);
                    warp::sync_warp(u32::MAX); // the lines are written
                    self.pieces::<L, O, false>(g, L::round(g, c, round as u32), lane);
                }
            }
        }
    }

    /// Stores words, pairs of accumulators, to a window of C in bounds that is as wide.
    ///
    /// # Safety
    /// As of [`narrow::store`].
    #[inline(always)]
    pub unsafe fn store_words<O: Output, const WORDS: usize>(self, g: &Gemm, words: &[u32; WORDS], window: Window<O>) {
        // Opaque: addresses computed before the mainloop would occupy registers throughout it.
        let [lane, ldc] = [warp::lane_id(), g.ldc as u32].map(compiler::opaque);
        // SAFETY: upheld by the caller (see `# Safety`).
        unsafe {
            narrow::put_words(self.0, lane, WORDS, |i| words[i]);
            warp::sync_warp(u32::MAX); // the lines are written
            narrow::store_pieces(self.0, lane, ldc as usize, window, 4 * WORDS as u32 / narrow::ELEMENTS);
            warp::sync_warp(u32::MAX); // every lane has read them
        }
    }

    /// C = alpha*acc + beta*C of a round, or alpha*acc where C is not `LOADS_C`: a piece becomes four elements.
    #[inline(always)]
    unsafe fn pieces<L: Layout, O: Output, const LOADS_C: bool>(self, g: &Gemm, c: *mut O, lane: u32) {
        let (line, piece) = (lane / 8, lane % 8);
        let Coord { row, col } = L::piece(piece);
        // SAFETY: in bounds of C, upheld by the caller, and inside this warp's buffer.
        unsafe {
            let at = |i: usize| {
                c.add((line * L::ROWS + row) as usize * g.ldc + col as usize)
                    .add(i * (AT_ONCE * L::ROWS) as usize * g.ldc)
            };
            let old: [_; (LINES / AT_ONCE) as usize] =
                core::array::from_fn(|i| if LOADS_C { O::load(at(i)) } else { [0.0; PIECE as usize] });
            let acc = self.lines::<L>(lane);
            for i in 0..(LINES / AT_ONCE) as usize {
                let value = |j: usize| {
                    if LOADS_C { g.axpby(acc[i][j], old[i][j]) } else { g.alpha * acc[i][j] }
                };
                O::store(at(i), [value(0), value(1), value(2), value(3)]);
            }
        }
    }

    /// This lane's piece of each four lines of the buffer, which may be written again then.
    #[inline(always)]
    unsafe fn lines<L: Layout>(self, lane: u32) -> [[f32; PIECE as usize]; (LINES / AT_ONCE) as usize] {
        let (line, piece) = (lane / 8, lane % 8);
        // SAFETY: inside this warp's buffer.
        unsafe {
            let from = self.0.add((line * LINE + (piece ^ L::swizzle(line)) * PIECE) as usize);
            let lines = core::array::from_fn(|i| f32x4::load(from.add(i * (AT_ONCE * LINE) as usize)));
            warp::sync_warp(u32::MAX); // every lane has read them
            lines
        }
    }

    /// The same with what is fused.
    ///
    /// # Safety
    /// As of [`store`](Self::store).
    #[inline(always)]
    pub unsafe fn store_fused<L: Layout, O: Output, const ACC: usize>(
        self,
        g: &Gemm,
        fused: Fused<O>,
        Coord { row, col }: Coord,
        acc: &[f32; ACC],
    ) {
        let Region { first, extent } = L::region(ACC as u32);
        let [row, col, lane] = [row + first.row, col + first.col, warp::lane_id()].map(compiler::opaque);
        let in_bounds = row + extent.rows <= g.m && col + extent.cols <= g.n;
        let is_aligned =
            g.c.addr().is_multiple_of(PIECE as usize * size_of::<O>()) && g.ldc.is_multiple_of(PIECE as usize);
        let in_line = L::piece(lane % 8);
        let (row, col) = (row + lane / 8 * L::ROWS + in_line.row, col + in_line.col);
        let rows = if L::COLUMNS == 0 { LINES * L::ROWS } else { 0 };
        let is_full = in_bounds && is_aligned;
        // The bias of the first round, and from one of the four to the next, and from round to round.
        let (first, step, advance) =
            if fused.is_per_row() { (row, AT_ONCE * L::ROWS, rows) } else { (col, 1, L::COLUMNS) };
        let is_biased = is_full && !fused.bias.is_null();
        // SAFETY: inside this warp's buffer; in bounds of C and the bias, or predicated.
        unsafe {
            let mut from = if is_biased { fused.bias.add(first as usize) } else { core::ptr::null() };
            let mut next: [f32; PIECE as usize] = Fused::load(from, step as usize);
            for round in 0..compiler::opaque((ACC / ROUND) as u32) {
                let round = compiler::opaque(round); // or LLVM would peel iterations in which it knows the round
                // Of the next round, so that it is there when its time comes.
                if is_biased && round + 1 < (ACC / ROUND) as u32 {
                    from = from.add(advance as usize);
                }
                let bias = core::mem::replace(&mut next, Fused::load(from, step as usize));
                for i in 0..ACC / ROUND {
                    if i as u32 == round {
                        L::put(self.0, lane, acc, i);
                    }
                }
                warp::sync_warp(u32::MAX); // the lines are written
                let lines = self.lines::<L>(lane);
                let (row, col) = (row + round * rows, col + round * L::COLUMNS);
                if !is_full {
                    fused.store(g, false, lines, |i| Coord { row: row + i * AT_ONCE * L::ROWS, col });
                    continue;
                }
                let c = g.c.cast::<O>().add(row as usize * g.ldc + col as usize);
                let at = |i: usize| c.wrapping_add(i * (AT_ONCE * L::ROWS) as usize * g.ldc);
                let mut old = [[0.0; PIECE as usize]; (LINES / AT_ONCE) as usize];
                if g.beta != 0.0 {
                    old = core::array::from_fn(|i| O::load_adjacent(at(i)));
                }
                let bias = core::array::from_fn(|i| if fused.is_per_row() { [bias[i]; PIECE as usize] } else { bias });
                for (i, values) in fused.apply(g, &lines, &old, &bias).into_iter().enumerate() {
                    O::store_adjacent(at(i), values);
                }
            }
        }
    }

    /// C = alpha*acc + beta*C, where `left` of C is in bounds, in pieces if `is_wide`, else one by one. Rare, and therefore
    /// short: only the stores to the staging buffer are unrolled.
    #[inline(always)]
    unsafe fn axpby<L: Layout, O: Output, const ACC: usize>(
        self,
        g: &Gemm,
        c: *mut O,
        lane: u32,
        left: Extent,
        is_wide: bool,
        acc: &[f32; ACC],
    ) {
        let extent = L::region(ACC as u32).extent;
        let (rows, cols) = (left.rows.min(extent.rows), left.cols.min(extent.cols));
        let rounds = if L::COLUMNS == 0 { rows.div_ceil(LINES * L::ROWS) } else { cols.div_ceil(L::COLUMNS) };
        for round in 0..rounds {
            // Opaque: addresses kept from round to round would need more registers than there are.
            let [lane, ldc] = [lane, g.ldc as u32].map(compiler::opaque);
            let g = &Gemm { ldc: ldc as usize, ..*g };
            let Coord { row, col } = L::piece(lane / PIECE);
            let col = col + lane % PIECE;
            // SAFETY: inside this warp's buffer, and predicated.
            unsafe {
                for i in 0..ACC / ROUND {
                    if i as u32 == round {
                        L::put(self.0, lane, acc, i);
                    }
                }
                warp::sync_warp(u32::MAX); // the lines are written
                let c = L::round(g, c, round);
                if is_wide {
                    self.pieces::<L, O, true>(g, c, lane);
                    continue;
                }
                let left = rows - if L::COLUMNS == 0 { round * LINES * L::ROWS } else { 0 };
                let is_column = col + round * L::COLUMNS < cols;
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
                            *c = O::new(g.axpby(*self.0.add(word as usize), old));
                        }
                    }
                }
                warp::sync_warp(u32::MAX); // every lane has read them
            }
        }
    }
}
