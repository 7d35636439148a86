//! The kernels of the split, and how hi and lo are stored.

use super::hi_lo::HiLo;
use super::range::powers;
use super::{F16, Tf32, columns, rows};
use crate::hardware::{SWIZZLE_BYTES, VEC};
use crate::ptx::f32x4;
use crate::{CERTIFICATE_BITS, OF_HI_LO};
use cuda_std::prelude::*;

/// Words of 32 bits in a chunk.
pub(super) const CHUNK_WORDS: usize = SWIZZLE_BYTES as usize / 4;
/// Groups of VEC values that a lane holds: loads in flight.
pub(super) const HELD: usize = 8;

/// Scaled values; zeros where the row or column has no certificate of a hi/lo split.
#[inline(always)]
fn scale<P: HiLo, const N: usize>(values: [f32; N], word: i32) -> [f32; N] {
    let [first, second] = powers(word >> CERTIFICATE_BITS);
    let is_split = word as u32 & OF_HI_LO != 0;
    values.map(|value| match is_split {
        true if P::IS_SCALED => value * first * second,
        true => value,
        false => 0.0,
    })
}

/// Stores hi and lo of contiguous values in their halves of a chunk.
///
/// # Safety
/// Both places are inside the target, at multiples of their size.
#[inline(always)]
pub(super) unsafe fn store<P: HiLo, const VECTORS: usize>(
    to: *mut u32,
    values: [[f32; VEC as usize]; VECTORS],
    word_of_row: i32,
) {
    let mut words = [[0; VEC as usize]; 2];
    for i in 0..VECTORS {
        let [hi, lo] = P::split(scale::<P, _>(values[i], word_of_row));
        for word in 0..P::WORDS {
            words[0][i * P::WORDS + word] = hi[word];
            words[1][i * P::WORDS + word] = lo[word];
        }
    }
    for half in 0..2 {
        let words = words[half];
        // SAFETY: upheld by the caller (see `# Safety`).
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

/// The arguments of a kernel: [`crate::PREPASS_ARGUMENTS`], then [`crate::SPLIT_ARGUMENTS`].
#[derive(Clone, Copy)]
pub(super) struct Arguments {
    pub rows: u32,
    pub columns: u32,
    pub source: *const f32,
    pub ld: u64,
    pub target: *mut u32,
    pub target_ld: u32,
    pub scales: *mut i32,
}

/// What a lane holds.
pub(super) type Held = [[f32; VEC as usize]; HELD];

/// Makes a pre-pass's kernel.
macro_rules! kernels {
    ($($kernel:ident $of:ident $part:ty, $threads:ident $blocks:literal;)*) => {$(
        /// Splits: see [`crate::Split`].
        ///
        /// # Safety
        /// `source` is a device buffer of `rows` x `columns` with that leading dimension, `target` one for the chunks of its
        /// rows, or columns, and `scales` one of a word for each; launched as the [`crate::Prepass`] says.
        #[kernel]
        #[launch_bounds(super::$threads, $blocks)] // 64 registers a thread
        pub unsafe fn $kernel(
            rows: u32,
            columns: u32,
            source: *const f32,
            ld: u64,
            target: *mut u32,
            target_ld: u32,
            scales: *mut i32,
        ) {
            // SAFETY: upheld by the caller (see `# Safety`).
            unsafe { $of::split::<$part>(Arguments { rows, columns, source, ld, target, target_ld, scales }) }
        }
    )*};
}

kernels! {
    split_rows_f16 rows F16, ROW_THREADS 8;
    split_columns_f16 columns F16, COLUMN_THREADS 4;
    split_rows_tf32 rows Tf32, ROW_THREADS 8;
    split_columns_tf32 columns Tf32, COLUMN_THREADS 4;
}
