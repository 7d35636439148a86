//! Columns, which become rows: a cluster a strip of them.

use super::hi_lo::HiLo;
use super::kernels::{Arguments, CHUNK_WORDS, HELD, Held, store};
use super::{COLUMN_WARPS as WARPS, SHARED_ROWS, STRIP};
use crate::hardware::{SWIZZLE_BYTES, VEC, WARP};
use crate::ptx::{cluster, compiler, f32x4, griddepcontrol, read_only};
use crate::{MAX_SHARERS, Magnitudes};
use cuda_std::prelude::*;

/// Lanes of a warp along the columns, and along the rows.
const LANES_N: u32 = STRIP / VEC;
const LANES_K: u32 = WARP / LANES_N;
/// Pieces of 16 bytes in the hi half of a chunk.
const PIECES: u32 = SWIZZLE_BYTES / 2 / 16;
/// Chunks that a warp has at once, side by side.
const WARP_CHUNKS: u32 = LANES_K / PIECES;
/// Lanes of a warp for each column where ranges are joined.
const SHARES: u32 = WARP / STRIP;
const _: () = assert!(HELD as u32 * LANES_K * WARPS == SHARED_ROWS, "rows that a block holds");

/// A lane's part of the columns of a block.
struct Strip {
    of: Arguments,
    is_wide: bool,
    /// Blocks that share the columns.
    sharers: u32,
    /// The lane's first chunk.
    chunk: u32,
    /// Rows of a chunk, the lane's first of them, and how many it has.
    depth: u32,
    row: u32,
    piece: u32,
    /// The lane's first column, and how far the next one is.
    col: u32,
    step: u32,
}

impl Strip {
    /// The chunk of the i-th rows.
    #[inline(always)]
    fn chunk(&self, start: u32, i: u32) -> u32 {
        start / self.depth + i / self.piece * (self.sharers * WARPS * WARP_CHUNKS) + self.chunk
    }

    /// Out of bounds, zeros.
    #[inline(always)]
    unsafe fn load(&self, start: u32) -> Held {
        let mut held = [[0.0; VEC as usize]; HELD];
        let row = |i: u32| self.chunk(start, i) * self.depth + self.row + i % self.piece;
        let Arguments { rows, columns, source, ld, .. } = self.of;
        let (ld, col) = (ld as usize, compiler::opaque(self.col));
        // SAFETY: inside the columns where it is loaded.
        unsafe {
            if self.is_wide {
                for first in (0..HELD as u32).step_by(self.piece as usize) {
                    let mut from = source.wrapping_add(row(first) as usize * ld + col as usize);
                    for i in first..first + self.piece {
                        held[i as usize] = read_only::load_4_below(from, row(i), rows);
                        from = from.wrapping_add(ld);
                    }
                }
            } else {
                for i in 0..HELD as u32 {
                    for j in 0..VEC {
                        let col = col + j * self.step;
                        let from = source.wrapping_add(row(i) as usize * ld + col as usize);
                        let end = if col < columns { rows } else { 0 };
                        held[i as usize][j as usize] = read_only::load_below(from, row(i), end);
                    }
                }
            }
        }
        held
    }
}

/// The ranges of a block's columns, by warp; those of all blocks' parts of them; and what follows.
#[address_space(shared)]
static mut WARP_RANGES: MaybeUninit<[f32; (WARPS * STRIP * VEC) as usize]> = MaybeUninit::uninit();
#[address_space(shared)]
static mut BLOCK_RANGES: MaybeUninit<[f32; (MAX_SHARERS * STRIP * VEC) as usize]> = MaybeUninit::uninit();
#[address_space(shared)]
static mut WORDS: MaybeUninit<[i32; STRIP as usize]> = MaybeUninit::uninit();

/// Splits columns, which become rows: a cluster a strip of them.
#[inline(always)]
pub(super) unsafe fn split<P: HiLo>(arguments: Arguments) {
    griddepcontrol::launch_dependents();
    let Arguments { rows, columns, source, ld, target, target_ld, scales } = arguments;
    cluster::arrive_relaxed();
    let (warp, lane) = (thread::thread_idx_x() / WARP, warp::lane_id());
    let (rank, sharers) = (cluster::rank(), thread::grid_dim_y());
    let first_col = thread::block_idx_x() * STRIP;
    let (lane_row, lane_col) = (lane / LANES_N, lane % LANES_N);
    // The lane's columns: contiguous columns, or where they cannot be loaded together, those that adjacent lanes are next to.
    let is_wide = f32x4::aligned(source, ld as usize) && first_col + STRIP <= columns;
    let (lane_col, step) = if is_wide { (lane_col * VEC, 1) } else { (lane_col, LANES_N) };
    let piece = P::CHUNK / PIECES;
    let strip = Strip {
        of: arguments,
        is_wide,
        sharers,
        chunk: (warp * sharers + rank) * WARP_CHUNKS + lane_row / PIECES,
        depth: P::CHUNK,
        row: lane_row % PIECES * piece,
        piece,
        col: first_col + lane_col,
        step,
    };
    // SAFETY: what is written is inside the columns, whose rows in the target have whole chunks; indices of shared memory are
    // below its size.
    unsafe {
        let warp_ranges = (&raw mut WARP_RANGES).cast::<f32>(); // (WARPS, STRIP, VEC)
        let block_ranges = (&raw mut BLOCK_RANGES).cast::<f32>(); // (sharers, STRIP, VEC)
        let words = (&raw mut WORDS).cast::<i32>(); // (STRIP)
        let warp_row = (warp * sharers + rank) * WARP_CHUNKS * P::CHUNK; // the first of the warp's: there may be none
        let held_rows = sharers * SHARED_ROWS;
        let last = rows.saturating_sub(1) / held_rows * held_rows;
        let mut start = last;
        let mut held;
        loop {
            held = strip.load(start);
            let first = compiler::opaque(warp * STRIP + lane_col);
            for j in 0..VEC {
                let mut range = Magnitudes::NONE;
                if start + warp_row < rows {
                    range = Magnitudes::of(held.map(|values| values[j as usize])).over_lanes(WARP / 2, LANES_N);
                }
                if lane_row == j {
                    let at = warp_ranges.add(((first + j * step) * VEC) as usize);
                    let so_far = if start == last { Magnitudes::NONE } else { Magnitudes::from_words(f32x4::load(at)) };
                    f32x4::store(at, so_far.and(range).words());
                }
            }
            if start == 0 {
                break;
            }
            start -= held_rows;
        }
        thread::sync_threads(); // every warp's range is written
        cluster::wait(); // every block of the cluster runs
        // The lanes of a warp that have the same column share what there is to join.
        let (own_col, share) = (lane % STRIP, lane / STRIP);
        let range_at = |of: *mut f32, row: u32| of.add(((row * STRIP + own_col) * VEC) as usize);
        let join = |of: *mut f32, rows: u32| {
            let mut range = Magnitudes::NONE;
            let mut first = 0;
            while first < rows {
                if first + share < rows {
                    range = range.and(Magnitudes::from_words(f32x4::load(range_at(of, first + share))));
                }
                first += SHARES;
            }
            range.over_lanes(WARP / 2, STRIP)
        };
        if warp == 0 {
            let range = join(warp_ranges, WARPS).words();
            let to = shared::address(range_at(block_ranges, rank));
            let mut first = 0;
            while first < sharers {
                if first + share < sharers {
                    cluster::store_4(to, first + share, range);
                }
                first += SHARES;
            }
        }
        warp::sync_warp(u32::MAX); // barriers want it converged, and LLVM would have two of them
        cluster::sync(); // every block's range is written
        if warp == 0 {
            let word = P::word(join(block_ranges, sharers), rows, true);
            if share == 0 {
                *words.add(own_col as usize) = word;
                if rank == 0 && first_col + own_col < columns {
                    *scales.add((first_col + own_col) as usize) = word;
                }
            }
        }
        thread::sync_threads(); // the words are written

        let row_words = target_ld as usize * P::ELEMENT.bytes() as usize / 4;
        loop {
            let lane_col = compiler::opaque(lane_col);
            for j in 0..VEC {
                let col = lane_col + j * step;
                let word = *words.add(col as usize);
                let to =
                    target.wrapping_add((first_col + col) as usize * row_words + (lane_row % PIECES * VEC) as usize);
                for first in (0..HELD as u32).step_by(piece as usize) {
                    let chunk = strip.chunk(start, first);
                    if chunk < rows.div_ceil(P::CHUNK) && first_col + col < columns {
                        let to = to.add(chunk as usize * CHUNK_WORDS);
                        let values = |i: u32| [0, 1, 2, 3].map(|v| held[(first + i) as usize + v][j as usize]);
                        if piece == VEC {
                            store::<P, 1>(to, [values(0)], word);
                        } else {
                            store::<P, 2>(to, [values(0), values(VEC)], word);
                        }
                    }
                }
            }
            start += held_rows;
            if start >= rows {
                break;
            }
            held = strip.load(start);
        }
    }
    griddepcontrol::wait(); // what comes next waits for this launch only
}
