//! The long operand: a warp's vectors of it in registers, and its MMAs.

use super::vectors::{self, Vectors};
use super::{CHUNK, CHUNK_BYTES, OCTETS, ROWS, VECTOR, WARPS};
use crate::mainloop::gemv::Strided;
use crate::ptx::mma::WarpMma;
use crate::ptx::{lanes, read_only};
use core::ops::Range;
use cuda_std::prelude::*;

/// Vectors of a lane in flight: its share of a chunk.
const LOADS: usize = (ROWS * CHUNK / (super::THREADS * VECTOR)) as usize;

/// Rows of a warp where k is contiguous, and the warps that have them.
pub(super) const WARP_ROWS: u32 = 16;
pub(super) const SHARERS: u32 = WARPS * WARP_ROWS / ROWS;
/// k of such a warp in a chunk, and of all lanes in two loads.
const WARP_K: u32 = CHUNK / SHARERS;
const STEP_K: u32 = 4 * VECTOR;

/// Depth of an MMA, and so many above each other where rows are contiguous.
const DEPTH: u32 = 16;
pub(super) const BLOCKS: usize = (ROWS / DEPTH) as usize;

/// Accumulators of a warp's rows, by eight vectors: where rows are contiguous, row 8i + 2j is of lane 4i in the first half of the jth MMA,
/// and the next one in the other half.
pub(super) type OfRows = [[f32; 4]; OCTETS];
pub(super) type OfColumns = [[[f32; 4]; OCTETS]; BLOCKS];

/// A block's rows of the long operand.
#[derive(Clone, Copy)]
pub(super) struct Matrix {
    pub from: Strided<u16>,
    /// Rows, at least 1, and [`ROWS`] at most.
    pub rows: u32,
}

impl Matrix {
    /// Whether rows are contiguous, and not k.
    #[inline(always)]
    pub fn has_adjacent_rows(&self) -> bool {
        self.from.along_k != 1
    }

    /// How much of k is loaded in vectors.
    #[inline(always)]
    pub fn of_vectors(&self, k: &Range<u32>) -> Range<u32> {
        let (ld, inner) =
            if self.has_adjacent_rows() { (self.from.along_k, self.rows) } else { (self.from.across, k.end) };
        let is_aligned = self.from.start.addr().is_multiple_of(16) & ld.is_multiple_of(VECTOR);
        let is_possible = is_aligned & (!self.has_adjacent_rows() | inner.is_multiple_of(VECTOR));
        let end = if self.has_adjacent_rows() { k.end } else { k.end / VECTOR * VECTOR };
        k.start..if is_possible { end.max(k.start) } else { k.start }
    }

    /// acc += the products of that k, which is contiguous.
    ///
    /// # Safety
    /// Every thread of the block calls it; k is [`of_vectors`](Self::of_vectors).
    #[allow(clippy::needless_range_loop)] // an iterator would keep the accumulators in memory
    #[inline(always)]
    pub unsafe fn multiply_rows<I: WarpMma>(&self, vectors: Vectors, k: Range<u32>, acc: &mut OfRows) {
        let (warp, lane) = (lanes::warp_index(), warp::lane_id());
        let first_k = warp / (WARPS / SHARERS) * WARP_K;
        let (row, of_lane) = (warp % (WARPS / SHARERS) * WARP_ROWS + lane / 4, first_k + lane % 4 * VECTOR);
        // Rows that are not there are others, and not stored.
        let mut sources = [row, row + 8].map(|row| self.from.at(row.min(self.rows - 1), k.start + of_lane));
        let mut at = k.start + of_lane;
        let of_matrices = vectors::row_of_vectors(first_k);
        // SAFETY: in bounds, or not loaded; the chunk is complete.
        unsafe {
            let load = |sources: [*const u16; 2], at: u32, i: usize| {
                let source = sources[i % 2].wrapping_add(i / 2 * STEP_K as usize);
                load_below(source, at + i as u32 / 2 * STEP_K, k.end)
            };
            let mut a: [_; LOADS] = core::array::from_fn(|i| load(sources, at, i));
            vectors.for_each_chunk(k.clone(), |buffer| {
                sources = sources.map(|source| source.wrapping_add(CHUNK as usize));
                at += CHUNK;
                for i in 0..LOADS / 2 {
                    let [upper, lower] = [a[2 * i], a[2 * i + 1]];
                    for octet in 0..OCTETS {
                        if vectors.has(octet) {
                            let row = buffer + of_matrices + i as u32 * STEP_K * VECTOR * 2;
                            let b = vectors::load_2_mmas(row, octet);
                            I::mma(&mut acc[octet], [upper[0], lower[0], upper[1], lower[1]], [b[0], b[1]]);
                            I::mma(&mut acc[octet], [upper[2], lower[2], upper[3], lower[3]], [b[2], b[3]]);
                        }
                    }
                    a[2 * i] = load(sources, at, 2 * i);
                    a[2 * i + 1] = load(sources, at, 2 * i + 1);
                }
            });
        }
    }

    /// The same where rows are contiguous.
    ///
    /// # Safety
    /// As of [`multiply_rows`](Self::multiply_rows).
    #[allow(clippy::needless_range_loop)] // as of `multiply_rows`
    #[inline(always)]
    pub unsafe fn multiply_columns<I: WarpMma>(&self, vectors: Vectors, k: Range<u32>, acc: &mut OfColumns) {
        let (warp, lane) = (lanes::warp_index(), warp::lane_id());
        let first_k = warp * DEPTH;
        let row = (lane / 4 * VECTOR).min(self.rows - VECTOR);
        let mut at = k.start + first_k + lane % 4 * 2;
        let mut source = self.from.at(row, at);
        let line = self.from.along_k as usize;
        let of_matrices = vectors::row_in_order(first_k);
        // SAFETY: in bounds, or not loaded; the chunk is complete.
        unsafe {
            let load = |source: *const u16, at: u32, i: usize| {
                let further = i as u32 / 4 * WARPS * DEPTH + [0, 1, 8, 9][i % 4];
                load_below(source.wrapping_add(further as usize * line), at + further, k.end)
            };
            let mut a: [_; LOADS] = core::array::from_fn(|i| load(source, at, i));
            vectors.for_each_chunk(k.clone(), |buffer| {
                source = source.wrapping_add(CHUNK as usize * line);
                at += CHUNK;
                for i in 0..LOADS / 4 {
                    let [first, second, third, fourth] = core::array::from_fn(|line| a[4 * i + line]);
                    for octet in 0..OCTETS {
                        if vectors.has(octet) {
                            let row = buffer + of_matrices + i as u32 * WARPS * DEPTH * VECTOR * 2;
                            let b = vectors::load_mma(row, octet);
                            for j in 0..BLOCKS {
                                let [upper, lower] = [[first[j], second[j]], [third[j], fourth[j]]].map(pairs);
                                I::mma(&mut acc[j][octet], [upper[0], upper[1], lower[0], lower[1]], b);
                            }
                        }
                    }
                    for line in 0..4 {
                        a[4 * i + line] = load(source, at, 4 * i + line);
                    }
                }
            });
        }
    }

    /// acc += the products of that k, element by element: in the order of [`multiply_rows`](Self::multiply_rows).
    ///
    /// # Safety
    /// Every thread of the block calls it; what is in bounds of the operands may be read.
    #[allow(clippy::needless_range_loop)] // as of `multiply_rows`
    #[inline(always)]
    pub unsafe fn multiply_elements<I: WarpMma>(&self, vectors: Vectors, mut k: Range<u32>, acc: &mut OfRows) {
        let (warp, lane) = (lanes::warp_index(), warp::lane_id());
        let row = warp % (WARPS / SHARERS) * WARP_ROWS + lane / 4;
        k.start += warp / (WARPS / SHARERS) * DEPTH;
        while k.start < k.end {
            let of_lane = k.start + lane % 4 * 2;
            // Two words of a row of either operand.
            let words = |from: Strided<u16>, row: u32, end: u32| {
                let source = from.at(row, of_lane);
                [0, 8].map(|half| {
                    let [low, high] = [half, half + 1].map(|further| {
                        let source = source.wrapping_add(further as usize * from.along_k as usize);
                        // SAFETY: in bounds, or not loaded.
                        unsafe { read_only::load_16_below(source, of_lane + further, end) }
                    });
                    low | high << 16
                })
            };
            let [upper, lower] = [row, row + 8].map(|row| words(self.from, row.min(self.rows - 1), k.end));
            for octet in 0..OCTETS {
                if vectors.has(octet) {
                    let vector = octet as u32 * VECTOR + lane / 4;
                    let b = words(vectors.from, vector, if vector < vectors.few { k.end } else { 0 });
                    // SAFETY: the whole warp is here.
                    unsafe { I::mma(&mut acc[octet], [upper[0], lower[0], upper[1], lower[1]], b) }
                }
            }
            k.start += SHARERS * DEPTH;
        }
    }
}

impl Vectors {
    /// Calls `multiply` with the byte of each chunk of the narrow operand, when it is in shared memory.
    ///
    /// # Safety
    /// Every thread of the block calls it.
    #[inline(always)]
    unsafe fn for_each_chunk(self, k: Range<u32>, mut multiply: impl FnMut(u32)) {
        let (mut chunk, mut buffer) = (k.start, 0);
        // SAFETY: a buffer is free: behind the barrier of the other one, every warp has multiplied it.
        unsafe {
            let mut raw = self.load(chunk);
            while chunk < k.end {
                self.store(buffer, raw);
                thread::sync_threads(); // the chunk is complete
                chunk += CHUNK;
                raw = self.load(chunk); // while this chunk is multiplied
                multiply(buffer);
                buffer ^= CHUNK_BYTES;
            }
        }
    }
}

/// A vector whose first element has that index, or zeros.
#[inline(always)]
unsafe fn load_below(source: *const u16, index: u32, end: u32) -> [u32; 4] {
    // SAFETY: upheld by the caller: in bounds and aligned, if it is loaded.
    unsafe { read_only::load_4_of_line_below(source.cast(), index, end).map(f32::to_bits) }
}

/// The lower halves of two words, and the upper ones.
#[inline(always)]
fn pairs([first, second]: [u32; 2]) -> [u32; 2] {
    [first & 0xffff | second << 16, first >> 16 | second & 0xffff_0000]
}
