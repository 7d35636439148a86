//! The pre-passes that take operands apart ([`crate::Split`]). What a row is multiplied by depends on all of it, so values wait
//! in registers until the range of their magnitudes is known: memory is read once where k is at most 4096. Of longer rows all
//! but the first part is read twice, what was read last first, since that is still in the caches.
//!
//! ```text
//!   a row of A: a warp, or where it is long a block       16 columns of B: a cluster; 64 or 32 rows of them: a warp
//!
//!     lane 0  lane 1  ┄┄  lane 31 or 127                    lane 0     ┄  lane 3
//!   ┌───────┬───────┬┄┄┄┬───────┐                           4 columns     4 columns    8 rows, or 4
//!   │ 4 of k│ 4 of k│   │ 4 of k│  8 times                  lane 4     ┄  lane 7
//!   └───────┴───────┴┄┄┄┴───────┘                           4 columns     4 columns    those below
//! ```
//!
//! Of a column a lane has as many rows as fill 16 bytes with parts: it stores what it loaded, and no shared memory is needed to
//! transpose.

use crate::f32x4::{self, VEC};
use crate::parts::{F16, Part, Tf32};
use crate::ptx::wgmma::ROW_BYTES;
use crate::ptx::{cluster, compiler, read_only};
use crate::range::{Range, powers};
use crate::tile::WARP;
use crate::{MAX_SIZE, NOT_SPLIT, Operand, Prepass, Split};
use cuda_std::prelude::*;

/// Words of 32 bits in a chunk.
const CHUNK_WORDS: usize = ROW_BYTES as usize / 4;
/// Groups of VEC values that a lane holds, which are on their way at once.
const HELD: usize = 8;

/// Warps of a block that splits rows.
const ROW_WARPS: u32 = 4;
const ROW_THREADS: u32 = ROW_WARPS * WARP;
/// Columns of a row that a warp holds, and that a block holds.
const SHORT: u32 = HELD as u32 * VEC * WARP;
const LONG: u32 = SHORT * ROW_WARPS;

/// Warps of a block that splits columns.
const COLUMN_WARPS: u32 = 8;
const COLUMN_THREADS: u32 = COLUMN_WARPS * WARP;
/// Blocks that share columns.
const SHARERS: u32 = 8;
/// These columns.
const STRIP: u32 = 16;
/// Lanes of a warp along them, and along the rows.
const LANES_N: u32 = STRIP / VEC;
const LANES_K: u32 = WARP / LANES_N;
/// Pieces of 16 bytes that the high parts of a chunk are.
const PIECES: u32 = ROW_BYTES / 2 / 16;
/// Chunks that a warp has at once, side by side, and that a cluster has.
const WARP_CHUNKS: u32 = LANES_K / PIECES;
const CLUSTER_CHUNKS: u32 = SHARERS * COLUMN_WARPS * WARP_CHUNKS;
const _: () = assert!(HELD as u32 * LANES_K * COLUMN_WARPS * SHARERS == LONG, "rows that a cluster holds");

/// The pre-passes with these kernels.
pub(crate) const fn prepasses<P: Part>([rows, columns]: [&'static str; 2]) -> [Prepass; 2] {
    let of_rows = Prepass {
        kernel: rows,
        operand: Operand::A,
        transposes: false,
        split: Some(Split { part: P::ELEMENT, depth: P::DEPTH }),
        only_unaligned: false,
        tile: [1, MAX_SIZE],
        threads: ROW_THREADS,
        cluster: [1; 3],
    };
    let of_columns = Prepass {
        kernel: columns,
        operand: Operand::B,
        transposes: true,
        tile: [MAX_SIZE, STRIP],
        threads: COLUMN_THREADS,
        cluster: [1, SHARERS, 1],
        ..of_rows
    };
    [of_rows, of_columns]
}

/// What numbers are multiplied by; nothing comes of those that cannot be split.
#[inline(always)]
fn scale<const N: usize>(values: [f32; N], exponent: i32) -> [f32; N] {
    let [first, second] = powers(exponent);
    values.map(|value| if exponent == NOT_SPLIT { 0.0 } else { value * first * second })
}

/// Stores the high and the low parts of neighbours in their halves of a chunk.
///
/// # Safety
/// Both places are inside the target, at multiples of their size.
#[inline(always)]
unsafe fn store<P: Part, const VECTORS: usize>(to: *mut u32, values: [[f32; VEC as usize]; VECTORS], exponent: i32) {
    let mut words = [[0; VEC as usize]; 2];
    for i in 0..VECTORS {
        let [high, low] = P::parts(scale(values[i], exponent));
        for word in 0..P::WORDS {
            words[0][i * P::WORDS + word] = high[word];
            words[1][i * P::WORDS + word] = low[word];
        }
    }
    for half in 0..2 {
        let words = words[half];
        // SAFETY: by the caller's promise.
        unsafe {
            let to = to.add(half * CHUNK_WORDS / 2);
            if VECTORS * P::WORDS == VEC as usize {
                f32x4::store(to.cast(), words.map(f32::from_bits));
            } else {
                *to.cast::<u64>() = u64::from(words[0]) | u64::from(words[1]) << 32;
            }
        }
    }
}

/// What a lane holds.
type Held = [[f32; VEC as usize]; HELD];

/// A lane's part of a row.
struct Row {
    source: *const f32,
    columns: u32,
    is_wide: bool,
    lane: u32,
    /// So many share the row.
    lanes: u32,
}

impl Row {
    #[inline(always)]
    fn col(&self, start: u32, i: usize) -> u32 {
        start + (i as u32 * self.lanes + self.lane) * VEC
    }

    /// What is behind its end is zero.
    #[inline(always)]
    #[allow(clippy::needless_range_loop)] // an iterator would keep them in memory
    unsafe fn load(&self, start: u32) -> Held {
        let mut held = [[0.0; VEC as usize]; HELD];
        // SAFETY: inside the row where it is loaded.
        unsafe {
            if self.is_wide {
                for i in 0..HELD {
                    let col = self.col(start, i);
                    held[i] = read_only::load_4_below(self.source.wrapping_add(col as usize), col, self.columns);
                }
            } else {
                for i in 0..HELD {
                    for v in 0..VEC as usize {
                        let col = self.col(start, i) + v as u32;
                        held[i][v] = read_only::load_below(self.source.wrapping_add(col as usize), col, self.columns);
                    }
                }
            }
        }
        held
    }
}

#[address_space(shared)]
static mut ROW_RANGES: MaybeUninit<[f32; (ROW_WARPS * VEC) as usize]> = MaybeUninit::uninit();

/// Splits rows: a warp each where they are short, the block one where they are not.
#[inline(always)]
#[allow(clippy::needless_range_loop)] // an iterator would keep the values in memory
unsafe fn split_rows<P: Part>(
    rows: u32,
    columns: u32,
    source: *const f32,
    ld: u32,
    target: *mut u32,
    target_ld: u32,
    scales: *mut i32,
) {
    let (block, tid) = (thread::block_idx_y(), thread::thread_idx_x());
    let warp = tid / WARP;
    let is_short = columns <= SHORT;
    let (index, lane, lanes) =
        if is_short { (block * ROW_WARPS + warp, tid % WARP, WARP) } else { (block, tid, ROW_THREADS) };
    if index >= rows {
        return;
    }
    let is_wide = f32x4::aligned(source, ld as usize) && columns.is_multiple_of(VEC);
    // SAFETY: the row is below rows, and the columns that are written are inside it; a row of the target has whole chunks.
    unsafe {
        let row = Row { source: source.add(index as usize * ld as usize), columns, is_wide, lane, lanes };
        // Columns that are held at once, and the first of the last ones.
        let width = if is_short { SHORT } else { LONG };
        let mut start = if is_short { 0 } else { (columns - 1) / LONG * LONG };
        let mut range = Range::NONE;
        let mut held;
        loop {
            held = row.load(start);
            for i in 0..HELD {
                range = range.and(Range::of(held[i]));
            }
            if start == 0 {
                break;
            }
            start -= width;
        }
        range = range.over_lanes(WARP / 2, 1);
        if !is_short {
            let ranges = (&raw mut ROW_RANGES).cast::<f32>(); // (ROW_WARPS, VEC)
            if lane % WARP == 0 {
                f32x4::store(ranges.add((warp * VEC) as usize), range.words());
            }
            thread::sync_threads(); // the ranges of all warps are there
            let all = (0..ROW_WARPS).map(|warp| Range::from_words(f32x4::load(ranges.add((warp * VEC) as usize))));
            range = all.fold(Range::NONE, Range::and);
        }
        let exponent = P::exponent(range);
        if lane == 0 {
            *scales.add(index as usize) = exponent;
        }

        let chunks = target.add(index as usize * (target_ld as usize * P::ELEMENT.bytes() as usize / 4));
        loop {
            for i in 0..HELD {
                let col = row.col(start, i);
                if col < columns.next_multiple_of(P::DEPTH) {
                    let word = (col / P::DEPTH) as usize * CHUNK_WORDS + (col % P::DEPTH / VEC) as usize * P::WORDS;
                    store::<P, 1>(chunks.add(word), [held[i]], exponent);
                }
            }
            start += width;
            if start >= columns {
                break;
            }
            held = row.load(start);
        }
    }
}

/// A lane's part of the columns of a block.
struct Strip {
    source: *const f32,
    rows: u32,
    columns: u32,
    ld: u32,
    is_wide: bool,
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
        start / self.depth + i / self.piece * CLUSTER_CHUNKS + self.chunk
    }

    /// What is behind their ends is zero.
    #[inline(always)]
    unsafe fn load(&self, start: u32) -> Held {
        let mut held = [[0.0; VEC as usize]; HELD];
        let row = |i: u32| self.chunk(start, i) * self.depth + self.row + i % self.piece;
        let (rows, ld, col) = (self.rows, self.ld as usize, compiler::anew(self.col));
        // SAFETY: inside the columns where it is loaded.
        unsafe {
            if self.is_wide {
                for first in (0..HELD as u32).step_by(self.piece as usize) {
                    let mut from = self.source.wrapping_add(row(first) as usize * ld + col as usize);
                    for i in first..first + self.piece {
                        held[i as usize] = read_only::load_4_below(from, row(i), rows);
                        from = from.wrapping_add(ld);
                    }
                }
            } else {
                for i in 0..HELD as u32 {
                    for j in 0..VEC {
                        let col = col + j * self.step;
                        let from = self.source.wrapping_add(row(i) as usize * ld + col as usize);
                        let end = if col < self.columns { rows } else { 0 };
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
static mut WARP_RANGES: MaybeUninit<[f32; (COLUMN_WARPS * STRIP * VEC) as usize]> = MaybeUninit::uninit();
#[address_space(shared)]
static mut BLOCK_RANGES: MaybeUninit<[f32; (SHARERS * STRIP * VEC) as usize]> = MaybeUninit::uninit();
#[address_space(shared)]
static mut EXPONENTS: MaybeUninit<[i32; STRIP as usize]> = MaybeUninit::uninit();

/// Splits columns, which become rows: a cluster a strip of them.
#[inline(always)]
unsafe fn split_columns<P: Part>(
    rows: u32,
    columns: u32,
    source: *const f32,
    ld: u32,
    target: *mut u32,
    target_ld: u32,
    scales: *mut i32,
) {
    cluster::begin();
    let (warp, lane, rank) = (thread::thread_idx_x() / WARP, warp::lane_id(), cluster::rank());
    let first_col = thread::block_idx_x() * STRIP;
    let (lane_row, lane_col) = (lane / LANES_N, lane % LANES_N);
    // The lane's columns: neighbours, or where they cannot be loaded together, those that neighbouring lanes are next to.
    let is_wide = f32x4::aligned(source, ld as usize) && first_col + STRIP <= columns;
    let (lane_col, step) = if is_wide { (lane_col * VEC, 1) } else { (lane_col, LANES_N) };
    let piece = P::DEPTH / PIECES;
    let strip = Strip {
        source,
        rows,
        columns,
        ld,
        is_wide,
        chunk: (warp * SHARERS + rank) * WARP_CHUNKS + lane_row / PIECES,
        depth: P::DEPTH,
        row: lane_row % PIECES * piece,
        piece,
        col: first_col + lane_col,
        step,
    };
    // SAFETY: what is written is inside the columns, whose rows in the target have whole chunks; indices of shared memory are
    // below its size.
    unsafe {
        let of_warps = (&raw mut WARP_RANGES).cast::<f32>(); // (COLUMN_WARPS, STRIP, VEC)
        let of_blocks = (&raw mut BLOCK_RANGES).cast::<f32>(); // (SHARERS, STRIP, VEC)
        let exponents = (&raw mut EXPONENTS).cast::<i32>(); // (STRIP)
        let warp_row = (warp * SHARERS + rank) * WARP_CHUNKS * P::DEPTH; // the first of the warp's: there may be none
        let last = rows.saturating_sub(1) / LONG * LONG;
        let mut start = last;
        let mut held;
        loop {
            held = strip.load(start);
            let first = compiler::anew(warp * STRIP + lane_col);
            for j in 0..VEC {
                let mut range = Range::NONE;
                if start + warp_row < rows {
                    range = Range::of(held.map(|values| values[j as usize])).over_lanes(WARP / 2, LANES_N);
                }
                if lane_row == j {
                    let at = of_warps.add(((first + j * step) * VEC) as usize);
                    let so_far = if start == last { Range::NONE } else { Range::from_words(f32x4::load(at)) };
                    f32x4::store(at, so_far.and(range).words());
                }
            }
            if start == 0 {
                break;
            }
            start -= LONG;
        }
        thread::sync_threads(); // the ranges of all warps are there
        cluster::wait(); // all blocks have begun
        // The lanes of a warp that have the same column share what there is to join.
        let (own_col, share) = (lane % STRIP, lane / STRIP);
        let range_at = |of: *mut f32, row: u32| of.add(((row * STRIP + own_col) * VEC) as usize);
        let join = |of: *mut f32, rows: u32| {
            let rows = rows / (WARP / STRIP);
            let ranges = (0..rows).map(|row| Range::from_words(f32x4::load(range_at(of, share * rows + row))));
            ranges.fold(Range::NONE, Range::and).over_lanes(WARP / 2, STRIP)
        };
        if warp == 0 {
            let range = join(of_warps, COLUMN_WARPS).words();
            let to = shared::address(range_at(of_blocks, rank));
            for other in 0..SHARERS / (WARP / STRIP) {
                cluster::store_4(to, other * (WARP / STRIP) + share, range);
            }
        }
        cluster::sync(); // the ranges of all blocks are there
        if warp == 0 {
            let exponent = P::exponent(join(of_blocks, SHARERS));
            if share == 0 {
                *exponents.add(own_col as usize) = exponent;
                if rank == 0 && first_col + own_col < columns {
                    *scales.add((first_col + own_col) as usize) = exponent;
                }
            }
        }
        thread::sync_threads(); // the exponents are there

        let row_words = target_ld as usize * P::ELEMENT.bytes() as usize / 4;
        loop {
            let lane_col = compiler::anew(lane_col);
            for j in 0..VEC {
                let col = lane_col + j * step;
                let exponent = *exponents.add(col as usize);
                let to =
                    target.wrapping_add((first_col + col) as usize * row_words + (lane_row % PIECES * VEC) as usize);
                for first in (0..HELD as u32).step_by(piece as usize) {
                    let chunk = strip.chunk(start, first);
                    if chunk < rows.div_ceil(P::DEPTH) && first_col + col < columns {
                        let to = to.add(chunk as usize * CHUNK_WORDS);
                        let values = |i: u32| [0, 1, 2, 3].map(|v| held[(first + i) as usize + v][j as usize]);
                        if piece == VEC {
                            store::<P, 1>(to, [values(0)], exponent);
                        } else {
                            store::<P, 2>(to, [values(0), values(VEC)], exponent);
                        }
                    }
                }
            }
            start += LONG;
            if start >= rows {
                break;
            }
            held = strip.load(start);
        }
    }
}

/// Makes a pre-pass's kernel.
macro_rules! kernels {
    ($($kernel:ident $splits:ident $part:ty, $threads:expr, $blocks:expr;)*) => {$(
        /// Splits: see [`Split`].
        ///
        /// # Safety
        /// `source` is a device buffer of `rows` x `columns` with that leading dimension, `target` one for the chunks of its
        /// rows, or columns, and `scales` one of an exponent for each; launched as the [`Prepass`] says.
        #[kernel]
        #[launch_bounds($threads, $blocks)] // 64 registers a thread
        pub unsafe fn $kernel(
            rows: u32,
            columns: u32,
            source: *const f32,
            ld: u32,
            target: *mut u32,
            target_ld: u32,
            scales: *mut i32,
        ) {
            // SAFETY: by the caller's promise.
            unsafe { $splits::<$part>(rows, columns, source, ld, target, target_ld, scales) }
        }
    )*};
}

kernels! {
    split_rows_f16 split_rows F16, ROW_THREADS, 8;
    split_columns_f16 split_columns F16, COLUMN_THREADS, 4;
    split_rows_tf32 split_rows Tf32, ROW_THREADS, 8;
    split_columns_tf32 split_columns Tf32, COLUMN_THREADS, 4;
}
