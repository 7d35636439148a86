//! Rows: a warp, two, or where they are long a block, each.

use super::ROW_WARPS as WARPS;
use super::hi_lo::HiLo;
use super::kernels::{Arguments, CHUNK_WORDS, HELD, Held, store};
use crate::Magnitudes;
use crate::hardware::{VEC, WARP};
use crate::ptx::{f32x4, griddepcontrol, read_only};
use cuda_std::prelude::*;

/// Columns that a block holds, and that a warp does.
const LONG: u32 = 4096;
const SHORT: u32 = HELD as u32 * VEC * WARP;
const _: () = assert!(SHORT * WARPS == LONG, "columns that a block holds");

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

    /// Out of bounds, zeros.
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
static mut RANGES: MaybeUninit<[f32; (WARPS * VEC) as usize]> = MaybeUninit::uninit();

/// Splits rows: by as many warps each as hold one, or by the block.
#[inline(always)]
#[allow(clippy::needless_range_loop)] // an iterator would keep the values in memory
pub(super) unsafe fn split<P: HiLo>(arguments: Arguments) {
    griddepcontrol::wait_then_launch_dependents();
    let Arguments { rows, columns, source, ld, target, target_ld, scales } = arguments;
    let (block, tid) = (thread::block_idx_y(), thread::thread_idx_x());
    let warp = tid / WARP;
    // So many warps have a row, a power of two: one more would have nothing to hold.
    let log_warps = u32::from(columns > SHORT) + u32::from(columns > 2 * SHORT);
    let warps = 1 << log_warps;
    let (index, lane, lanes) = ((block * WARPS + warp) >> log_warps, tid % (warps * WARP), warps * WARP);
    if (block * WARPS) >> log_warps >= rows {
        return;
    }
    // Behind the last row there is an empty one, since all warps of a block come to its barrier.
    let is_row = index < rows;
    let columns_held = if is_row { columns } else { 0 };
    let is_wide = f32x4::aligned(source, ld as usize) && columns.is_multiple_of(VEC);
    // SAFETY: the row is below rows, and the columns that are written are inside it; a row of the target has whole chunks.
    unsafe {
        let source = source.wrapping_add(index as usize * ld as usize);
        let row = Row { source, columns: columns_held, is_wide, lane, lanes };
        // Where the last columns begin that are held at once.
        let mut start = if warps == WARPS { (columns - 1) / LONG * LONG } else { 0 };
        let mut range = Magnitudes::NONE;
        let mut held;
        loop {
            held = row.load(start);
            for i in 0..HELD {
                range = range.and(Magnitudes::of(held[i]));
            }
            if start == 0 {
                break;
            }
            start -= LONG;
        }
        range = range.over_lanes(WARP / 2, 1);
        if warps > 1 {
            let ranges = (&raw mut RANGES).cast::<f32>(); // (WARPS, VEC)
            if lane % WARP == 0 {
                f32x4::store(ranges.add((warp * VEC) as usize), range.words());
            }
            thread::sync_threads(); // every warp's range is written
            range = Magnitudes::NONE;
            for other in (0..WARPS).filter(|other| other >> log_warps == warp >> log_warps) {
                range = range.and(Magnitudes::from_words(f32x4::load(ranges.add((other * VEC) as usize))));
            }
        }
        let word = P::word(range, columns, false);
        if lane == 0 && is_row {
            *scales.add(index as usize) = word;
        }

        let chunks = target.wrapping_add(index as usize * (target_ld as usize * P::ELEMENT.bytes() as usize / 4));
        loop {
            for i in 0..HELD {
                let col = row.col(start, i);
                if col < columns_held.next_multiple_of(P::CHUNK) {
                    let at = (col / P::CHUNK) as usize * CHUNK_WORDS + (col % P::CHUNK / VEC) as usize * P::WORDS;
                    store::<P, 1>(chunks.add(at), [held[i]], word);
                }
            }
            start += LONG;
            if start >= columns {
                break;
            }
            held = row.load(start);
        }
    }
}
