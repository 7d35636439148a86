//! Copies of operands whose rows do not start at multiples of 16 bytes, as the copy engine wants them.

use crate::{Operand, Prepass};
use cuda_std::prelude::*;

/// Columns that a block of [`align_rows`] copies, one for each thread.
const ALIGNED_COLUMNS: u32 = 256;
/// Rows that it copies.
const ALIGNED_ROWS: u32 = 8;

/// The copy engine reads rows that start at multiples of 16 bytes: others are copied first.
pub(crate) const fn align(operand: Operand) -> Prepass {
    Prepass {
        kernel: "align_rows",
        operand,
        transposes: false,
        split: None,
        only_unaligned: true,
        tile: [ALIGNED_ROWS, ALIGNED_COLUMNS],
        threads: ALIGNED_COLUMNS,
    }
}

/// The target is the source: see [`Prepass`].
///
/// # Safety
/// `source` and `target` are device buffers of `rows` x `columns` with those leading dimensions; launched as the
/// [`Prepass`] says.
#[kernel]
#[launch_bounds(ALIGNED_COLUMNS)]
pub unsafe fn align_rows(rows: u32, columns: u32, source: *const f32, ld: u32, target: *mut f32, target_ld: u32) {
    let col = thread::block_idx_x() * ALIGNED_COLUMNS + thread::thread_idx_x();
    let first_row = thread::block_idx_y() * ALIGNED_ROWS;
    for row in first_row..rows.min(first_row + ALIGNED_ROWS) {
        if col < columns {
            // SAFETY: inside both, just checked.
            unsafe {
                *target.add(row as usize * target_ld as usize + col as usize) =
                    *source.add(row as usize * ld as usize + col as usize);
            }
        }
    }
}
