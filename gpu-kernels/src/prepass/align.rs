//! Aligned copies of operands whose rows do not start at multiples of 16 bytes, as TMA needs them.

use crate::{Element, Extent, Operand, Prepass};

/// Columns that a block of [`align_rows`] copies, one for each thread.
const ALIGNED_COLUMNS: u32 = 256;
/// Rows that it copies: loads in flight per thread.
const ALIGNED_ROWS: u32 = 8;

/// The pre-pass that copies an operand of such elements to aligned rows. TMA loads rows that start at multiples of 16 bytes: others
/// are copied first. The source is aligned to an element, no more.
#[must_use]
pub const fn align(operand: Operand, element: Element) -> Prepass {
    Prepass {
        kernel: if element.bytes() == 4 { "align_rows" } else { "align_rows_16" },
        operand,
        transposes: false,
        split: None,
        only_unaligned: true,
        tile: Extent { rows: ALIGNED_ROWS, cols: ALIGNED_COLUMNS },
        threads: ALIGNED_COLUMNS,
        shared_rows: None,
        waits_last: false,
    }
}

/// What runs on the device.
#[cfg(feature = "device")]
pub mod kernel {
    use super::*;
    use crate::ptx::griddepcontrol;
    use cuda_std::prelude::*;

    /// The target is the source, for each size of an element.
    macro_rules! kernels {
        ($($kernel:ident $bits:ty;)*) => {$(
            /// The target is the source: see [`Prepass`].
            ///
            /// # Safety
            /// `source` and `target` are device buffers of `rows` x `columns` with those leading dimensions; launched as the
            /// [`Prepass`] says.
            #[kernel]
            #[launch_bounds(ALIGNED_COLUMNS)]
            pub unsafe fn $kernel(
                rows: u32,
                columns: u32,
                source: *const $bits,
                ld: u64,
                target: *mut $bits,
                target_ld: u32,
            ) {
                griddepcontrol::wait_then_launch_dependents();
                // SAFETY: upheld by the caller (see `# Safety`).
                unsafe { copy(rows, columns, source, ld, target, target_ld) }
            }
        )*};
    }

    kernels! {
        align_rows u32;
        align_rows_16 u16;
    }

    #[inline(always)]
    unsafe fn copy<T: Copy>(rows: u32, columns: u32, source: *const T, ld: u64, target: *mut T, target_ld: u32) {
        let col = thread::block_idx_x() * ALIGNED_COLUMNS + thread::thread_idx_x();
        let first_row = thread::block_idx_y() * ALIGNED_ROWS;
        if col >= columns {
            return;
        }
        let at = |row: u32, ld: u64| row as usize * ld as usize + col as usize;
        // SAFETY: the column is inside both, just checked; rows beyond the source stand for its last one, and are not stored.
        unsafe {
            let values: [T; ALIGNED_ROWS as usize] =
                core::array::from_fn(|i| *source.add(at((first_row + i as u32).min(rows - 1), ld)));
            for (row, value) in (first_row..rows).zip(values) {
                *target.add(at(row, target_ld.into())) = value;
            }
        }
    }
}
