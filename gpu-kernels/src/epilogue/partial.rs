//! The epilogue of blocks that share the k of a tile: each publishes its partial tile, as f32, in its shared memory, reduces a share of
//! the tile over the cluster, and stores that.
//!
//! ```text
//!   accumulators ──► partial tile ──► cluster barrier ──► this block's share, over all ranks ──► 128-byte lines of C
//! ```
//!
//! Ranks are added in their order. Rows beyond the end of C are neither published nor reduced, so that a tile of few rows costs little.

use super::direct::{OCTET, Output};
use super::fused::Fused;
use super::{PARTIAL_PAD, activation};
use crate::gemm::Gemm;
use crate::hardware::VEC;
use crate::mainloop::planned::Planned;
use crate::ptx::{barrier, cluster, f32x4};
use crate::{Coord, Tile};
use core::ops::Range;
use cuda_std::prelude::*;

/// The named barrier of the threads that take part.
const BARRIER: u32 = 1;
/// Vectors of a thread, of each of [`RANKS`] blocks, that are on their way at once.
const TOGETHER: usize = 4;
/// Ranks from which a thread loads at once.
const RANKS: u32 = 2;
/// Pieces of C that it loads at once.
const OF_C: usize = 2;

/// A block's partial tile at the beginning of dynamic shared memory, and its first threads, which hold the accumulators and do all of
/// this.
#[derive(Clone, Copy)]
pub(crate) struct PartialTile {
    /// Its first element in C.
    at: Coord,
    /// Its rows that are in bounds of C.
    rows: u32,
    /// Its columns, a constant.
    cols: u32,
    /// The number of threads, a constant.
    threads: u32,
}

/// C or a bias: its elements are of f32 where the launch says so, else of `O`.
#[derive(Clone, Copy)]
struct Elements<O> {
    first: *mut O,
    is_f32: bool,
}

impl<O: Output> Elements<O> {
    /// W contiguous elements from that one on, by one load.
    ///
    /// # Safety
    /// They are in bounds, the first at a multiple of their size.
    #[inline(always)]
    unsafe fn load<const W: usize>(self, index: usize) -> [f32; W] {
        // SAFETY: upheld by the caller (see `# Safety`).
        unsafe {
            match self.is_f32 {
                true => f32::load_adjacent(self.first.cast::<f32>().add(index)),
                false => O::load_adjacent(self.first.add(index)),
            }
        }
    }

    /// Stores W contiguous elements, by one store.
    ///
    /// # Safety
    /// As of [`load`](Self::load), and no other thread touches them.
    #[inline(always)]
    unsafe fn store<const W: usize>(self, index: usize, values: [f32; W]) {
        // SAFETY: upheld by the caller (see `# Safety`).
        unsafe {
            match self.is_f32 {
                true => f32::store_adjacent(self.first.cast::<f32>().add(index), values),
                false => O::store_adjacent(self.first.add(index), values),
            }
        }
    }
}

impl PartialTile {
    /// Of a tile at `at`, which is in bounds of C, in a block where so many threads consume.
    #[inline(always)]
    pub fn new(g: &Gemm, at: Coord, tile: Tile, threads: u32) -> Self {
        Self { at, rows: (g.m - at.row).min(tile.bm), cols: tile.bn, threads }
    }

    /// Vectors of a row.
    #[inline(always)]
    fn vectors(self) -> u32 {
        self.cols / VEC
    }

    /// The element at that place of the tile.
    #[inline(always)]
    fn smem(self, row: u32, col: u32) -> *mut f32 {
        shared::dynamic_shared_mem::<f32>().wrapping_add((row * (self.cols + PARTIAL_PAD) + col) as usize)
    }

    /// Stores a warpgroup's accumulators: this thread's first one at (`row`, `col`) of the tile. Nobody reads a stage any more.
    ///
    /// # Safety
    /// All these threads call it, the tile's rows are those of all of them together, and the tile fits into shared memory.
    #[inline(always)]
    pub unsafe fn publish<const ACC: usize>(self, row: u32, col: u32, acc: &[f32; ACC]) {
        // SAFETY: inside the tile, and nobody else stores these.
        unsafe {
            barrier::sync(BARRIER, self.threads); // the MMAs of all warpgroups are complete
            for half in 0..2 {
                if row + half as u32 * 8 < self.rows {
                    let first = self.smem(row + half as u32 * 8, col);
                    for octet in 0..ACC / OCTET {
                        let i = octet * OCTET + half * 2;
                        f32::store_adjacent(first.add(octet * 8), [acc[i], acc[i + 1]]);
                    }
                }
            }
        }
    }

    /// Reduces and stores this block's share: C = alpha*sum + beta*C, and what is fused.
    ///
    /// # Safety
    /// As of [`publish`](Self::publish), which each block of the cluster has called; `g.c` is (m, n) with `ldc`, of f32 or of `O`, the
    /// bias likewise, and no other cluster touches the tile.
    #[inline(always)]
    pub unsafe fn store<O: Output>(self, g: &Gemm, fused: Fused<O>, is_f32: bool, planned: Planned) {
        let mut share = 0..self.rows * self.vectors();
        // SAFETY: every block has published its partial tile, and none ends before the others have read it.
        unsafe {
            if planned.blocks == 1 {
                barrier::sync(BARRIER, self.threads); // the partial tile is published
            } else {
                share = self.share(share.end, planned);
                cluster::sync(); // the partial tiles are published
                self.reduce(share.clone(), planned.blocks);
                cluster::arrive_relaxed(); // this block reads from no other one any more
                barrier::sync(BARRIER, self.threads); // the share is reduced
            }
            let c = Elements { first: g.c.cast::<O>(), is_f32 };
            let bytes = if is_f32 { size_of::<f32>() } else { size_of::<O>() };
            let is_aligned = g.c.addr().is_multiple_of(VEC as usize * bytes) && g.ldc.is_multiple_of(VEC as usize);
            if is_aligned && self.at.col + self.cols <= g.n {
                self.finish::<{ VEC as usize }, O>(g, c, fused, share);
            } else {
                self.finish::<1, O>(g, c, fused, share.start * VEC..share.end * VEC);
            }
            if planned.blocks > 1 {
                cluster::wait(); // no block reads from this one any more
            }
        }
    }

    /// This block's vectors of so many: whole lines.
    #[inline(always)]
    fn share(self, vectors: u32, planned: Planned) -> Range<u32> {
        // SAFETY: a cluster has a block.
        unsafe { core::hint::assert_unchecked(planned.blocks > 0) };
        let each = vectors.div_ceil(planned.blocks).next_multiple_of(self.vectors().min(16));
        (planned.rank * each).min(vectors)..((planned.rank + 1) * each).min(vectors)
    }

    /// Adds the partial tiles of all ranks, in their order, in these vectors of this block's own.
    #[allow(clippy::needless_range_loop)] // an iterator would keep the values in memory
    #[inline(always)]
    unsafe fn reduce(self, share: Range<u32>, ranks: u32) {
        let mut index = share.start + thread::thread_idx_x();
        while index < share.end {
            let mut sum = [[0.0; VEC as usize]; TOGETHER];
            let at = |v: usize| {
                let index = index + v as u32 * self.threads;
                self.smem(index / self.vectors(), index % self.vectors() * VEC)
            };
            let is_there = |v: usize| index + v as u32 * self.threads < share.end;
            let mut first = 0;
            // SAFETY: inside the partial tiles of all blocks.
            unsafe {
                while first < ranks {
                    let partial: [[_; RANKS as usize]; TOGETHER] = core::array::from_fn(|v| {
                        let (address, ranks) = (shared::address(at(v)), if is_there(v) { ranks } else { 0 });
                        core::array::from_fn(|r| cluster::load_4(address, first + r as u32, ranks))
                    });
                    for v in 0..TOGETHER {
                        for r in 0..RANKS as usize {
                            sum[v] = core::array::from_fn(|i| sum[v][i] + partial[v][r][i]);
                        }
                    }
                    first += RANKS;
                }
                for v in 0..TOGETHER {
                    if is_there(v) {
                        f32x4::store(at(v), sum[v]);
                    }
                }
            }
            index += TOGETHER as u32 * self.threads;
        }
    }

    /// The piece of that index, of W elements: where it is in the tile and, as an index, in C; `None` if it is out of bounds. Pieces of
    /// more than one element are in bounds.
    #[inline(always)]
    fn piece<const W: usize>(self, g: &Gemm, index: u32) -> Option<(*mut f32, Coord, usize)> {
        let (row, col) = (index / (self.cols / W as u32), index % (self.cols / W as u32) * W as u32);
        let at = Coord { row: self.at.row + row, col: self.at.col + col };
        (W > 1 || at.col < g.n).then(|| (self.smem(row, col), at, at.row as usize * g.ldc + at.col as usize))
    }

    /// Stores these pieces of the sum.
    #[inline(always)]
    unsafe fn finish<const W: usize, O: Output>(self, g: &Gemm, c: Elements<O>, fused: Fused<O>, pieces: Range<u32>) {
        // SAFETY: upheld by the caller (see `# Safety` of `store`). A thread finishes what it added C to.
        unsafe {
            if g.beta != 0.0 {
                self.add_c::<W, O>(g, c, pieces.clone());
            }
            self.store_each::<W, O>(g, c, fused, pieces);
        }
    }

    /// Makes these pieces of the sum alpha*sum + beta*C.
    #[allow(clippy::needless_range_loop)] // an iterator would keep the values in memory
    #[inline(always)]
    unsafe fn add_c<const W: usize, O: Output>(self, g: &Gemm, c: Elements<O>, pieces: Range<u32>) {
        let mut first = pieces.start + thread::thread_idx_x();
        while first < pieces.end {
            let piece = |v: usize| {
                let index = first + v as u32 * self.threads;
                if index < pieces.end { self.piece::<W>(g, index) } else { None }
            };
            // SAFETY: inside the tile, and in bounds of C.
            unsafe {
                let old: [[f32; W]; OF_C] =
                    core::array::from_fn(|v| piece(v).map_or([0.0; W], |(_, _, index)| c.load(index)));
                for v in 0..OF_C {
                    if let Some((sum, ..)) = piece(v) {
                        let values: [f32; W] = f32::load_adjacent(sum);
                        f32::store_adjacent::<W>(sum, core::array::from_fn(|w| g.axpby(values[w], old[v][w])));
                    }
                }
            }
            first += OF_C as u32 * self.threads;
        }
    }

    /// Stores these pieces of the tile, with what is fused.
    #[inline(always)]
    unsafe fn store_each<const W: usize, O: Output>(
        self,
        g: &Gemm,
        c: Elements<O>,
        fused: Fused<O>,
        pieces: Range<u32>,
    ) {
        let bias = Elements { first: fused.bias.cast_mut(), is_f32: c.is_f32 };
        let alpha = if g.beta == 0.0 { g.alpha } else { 1.0 };
        let mut index = pieces.start + thread::thread_idx_x();
        while index < pieces.end {
            if let Some((sum, Coord { row, col }, at)) = self.piece::<W>(g, index) {
                // SAFETY: inside the tile, and in bounds of C and the bias.
                unsafe {
                    let sum: [f32; W] = f32::load_adjacent(sum);
                    let mut values = sum.map(|sum| alpha * sum);
                    if !bias.first.is_null() {
                        let (first, step) = if fused.is_per_row() { (row, 0) } else { (col, 1) };
                        let bias = |w: usize| bias.load::<1>(first as usize + w * step)[0];
                        values = core::array::from_fn(|w| values[w] + bias(w));
                    }
                    let [values] = activation::apply(fused.activation, [values]);
                    c.store(at, values);
                }
            }
            index += self.threads;
        }
    }
}
