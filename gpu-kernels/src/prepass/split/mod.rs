//! The pre-passes of the hi/lo split ([`crate::Split`]). The scale of a row depends on its largest value, so values stay in
//! registers until the range of the row is known: memory is read once where k is at most 4096. Longer rows are read twice but
//! for their first 4096 values; the second pass begins with what the first read last, which is still in L2.
//!
//! ```text
//!   a row of A: a warp, two, or where it is long a block  16 columns of B: a cluster, 512 rows of them a block; 64 or 32 a warp
//!
//!     lane 0  lane 1  ┄┄  lane 31 or 127                    lane 0     ┄  lane 3
//!   ┌───────┬───────┬┄┄┄┬───────┐                           4 columns     4 columns    8 rows, or 4
//!   │ 4 of k│ 4 of k│   │ 4 of k│  8 times                  lane 4     ┄  lane 7
//!   └───────┴───────┴┄┄┄┴───────┘                           4 columns     4 columns    those below
//! ```
//!
//! A lane has as many rows of a column as fill 16 bytes of hi values: it stores what it loaded, so the transposition needs no
//! shared memory.

use crate::hardware::{SWIZZLE_BYTES, WARP};
use crate::{Element, Extent, MAX_SIZE, Operand, Prepass, Split};

#[cfg(feature = "device")]
mod columns;
#[cfg(feature = "device")]
pub(crate) mod hi_lo;
#[cfg(feature = "device")]
pub mod kernels;
#[cfg(feature = "device")]
pub(crate) mod range;
#[cfg(feature = "device")]
mod rows;

/// Warps of a block, of rows and of columns.
const ROW_WARPS: u32 = 4;
const COLUMN_WARPS: u32 = 8;
/// Threads of these blocks.
const ROW_THREADS: u32 = ROW_WARPS * WARP;
const COLUMN_THREADS: u32 = COLUMN_WARPS * WARP;
/// Columns of a strip, and rows of it that a block of its cluster holds.
const STRIP: u32 = 16;
const SHARED_ROWS: u32 = 512;

/// The format of hi and lo.
pub(crate) trait Format {
    /// The element type of hi and lo.
    const ELEMENT: Element;
    /// Values of a chunk, which is a row of a stage: hi values in its first half, their lo values in the other.
    const CHUNK: u32 = SWIZZLE_BYTES / 2 / Self::ELEMENT.bytes();
    /// The pre-passes for A and B.
    const PREPASSES: &[Prepass];
}

/// f16: hi and lo have a significand of 11 bits, after scaling. The largest value of a row becomes at least 2^14: f16 ends at 2^16.
pub(crate) struct F16;

impl Format for F16 {
    const ELEMENT: Element = Element::F16;
    const PREPASSES: &[Prepass] = &prepasses::<Self>(["split_rows_f16", "split_columns_f16"]);
}

/// TF32: hi and lo have a significand of 11 bits, and the exponents of f32, so that nothing is scaled.
pub(crate) struct Tf32;

impl Format for Tf32 {
    const ELEMENT: Element = Element::F32;
    const PREPASSES: &[Prepass] = &prepasses::<Self>(["split_rows_tf32", "split_columns_tf32"]);
}

/// The pre-passes with these kernels.
const fn prepasses<P: Format>(kernels: [&'static str; 2]) -> [Prepass; 2] {
    let of_rows = Prepass {
        kernel: kernels[0],
        operand: Operand::A,
        transposes: false,
        split: Some(Split { element: P::ELEMENT, chunk: P::CHUNK }),
        only_unaligned: false,
        tile: Extent { rows: 1, cols: MAX_SIZE },
        threads: ROW_THREADS,
        shared_rows: None,
        waits_last: false,
    };
    let of_columns = Prepass {
        kernel: kernels[1],
        operand: Operand::B,
        transposes: true,
        tile: Extent { rows: MAX_SIZE, cols: STRIP },
        threads: COLUMN_THREADS,
        shared_rows: Some(SHARED_ROWS),
        waits_last: true,
        ..of_rows
    };
    [of_rows, of_columns]
}
