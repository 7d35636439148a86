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
use crate::range::powers;
use crate::{MAX_SIZE, NOT_SPLIT, Operand, Prepass, Split};
use cuda_std::prelude::*;

mod columns;
mod rows;

/// Words of 32 bits in a chunk.
const CHUNK_WORDS: usize = ROW_BYTES as usize / 4;
/// Groups of VEC values that a lane holds, which are on their way at once.
const HELD: usize = 8;

/// Values of a row of A, or of a column of B, that are held at once.
const LONG: u32 = 4096;

/// The pre-passes with these kernels.
pub(crate) const fn prepasses<P: Part>(kernels: [&'static str; 2]) -> [Prepass; 2] {
    let of_rows = Prepass {
        kernel: kernels[0],
        operand: Operand::A,
        transposes: false,
        split: Some(Split { part: P::ELEMENT, depth: P::DEPTH }),
        only_unaligned: false,
        tile: [1, MAX_SIZE],
        threads: rows::THREADS,
        cluster: [1; 3],
    };
    let of_columns = Prepass {
        kernel: kernels[1],
        operand: Operand::B,
        transposes: true,
        tile: [MAX_SIZE, columns::STRIP],
        threads: columns::THREADS,
        cluster: [1, columns::SHARERS, 1],
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

/// Makes a pre-pass's kernel.
macro_rules! kernels {
    ($($kernel:ident $of:ident $part:ty, $blocks:expr;)*) => {$(
        /// Splits: see [`Split`].
        ///
        /// # Safety
        /// `source` is a device buffer of `rows` x `columns` with that leading dimension, `target` one for the chunks of its
        /// rows, or columns, and `scales` one of an exponent for each; launched as the [`Prepass`] says.
        #[kernel]
        #[launch_bounds($of::THREADS, $blocks)] // 64 registers a thread
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
            unsafe { $of::split::<$part>(rows, columns, source, ld, target, target_ld, scales) }
        }
    )*};
}

kernels! {
    split_rows_f16 rows F16, 8;
    split_columns_f16 columns F16, 4;
    split_rows_tf32 rows Tf32, 8;
    split_columns_tf32 columns Tf32, 4;
}
