//! The hi/lo split of f32 values: hi is the nearest value of the format, lo the nearest to the remainder. Layout:
//! [`crate::Split`].

use super::range::{INFINITE, Range, exponent};
use super::{F16, Format, Tf32};
use crate::NOT_SPLIT;
use crate::hardware::VEC;
use crate::ptx::convert;
use crate::ptx::wgmma::{self, Descriptor};

/// How values are split, and the MMAs of hi and lo.
pub(crate) trait HiLo: Format {
    /// Words of the hi values of VEC values.
    const WORDS: usize = (VEC * Self::ELEMENT.bytes() / 4) as usize;

    /// The exponent of the power of two that scales values in that range, or [`NOT_SPLIT`].
    fn exponent(range: Range) -> i32;

    /// hi and lo of contiguous values, in the first WORDS words.
    fn split(values: [f32; VEC as usize]) -> [[u32; VEC as usize]; 2];

    /// An MMA of the format: [`wgmma::f16`], [`wgmma::tf32`].
    ///
    /// # Safety
    /// As of these.
    unsafe fn mma<const ACC: usize>(acc: &mut [f32; ACC], a: Descriptor, b: Descriptor, accumulate: bool);
}

impl HiLo for F16 {
    #[inline(always)]
    fn exponent(range: Range) -> i32 {
        const TOP: i32 = 14;
        // Down to f16's smallest number: what is further below the largest would become zero.
        const SPAN: i32 = TOP + 24;
        // Down to there hi + lo has its full significand. Where most values are smaller, the row is its largest, and noise.
        const DEPTH: f32 = 14.0;
        if range.largest == 0 {
            0
        } else if range.largest >= INFINITE || range.span() > SPAN || range.is_deeper(DEPTH) {
            NOT_SPLIT
        } else {
            TOP - exponent(range.largest)
        }
    }

    #[inline(always)]
    fn split([x, y, z, w]: [f32; VEC as usize]) -> [[u32; VEC as usize]; 2] {
        let hi = [convert::f16x2(x, y), convert::f16x2(z, w)];
        let rest = |value: f32, bits: u32| value - convert::from_f16(bits);
        let lo = [
            convert::f16x2(rest(x, hi[0]), rest(y, hi[0] >> 16)),
            convert::f16x2(rest(z, hi[1]), rest(w, hi[1] >> 16)),
        ];
        [hi, lo].map(|[first, second]| [first, second, 0, 0])
    }

    #[inline(always)]
    unsafe fn mma<const ACC: usize>(acc: &mut [f32; ACC], a: Descriptor, b: Descriptor, accumulate: bool) {
        // SAFETY: upheld by the caller (see `# Safety`).
        unsafe { wgmma::f16(acc, a, b, accumulate) }
    }
}

impl HiLo for Tf32 {
    #[inline(always)]
    fn exponent(range: Range) -> i32 {
        // What would round to infinity; and values whose lo would be subnormal.
        const LARGE: u32 = INFINITE - (1 << 12);
        const SMALL: i32 = -126 + 24;
        // Where magnitudes differ that much, a sum is one product, which SGEMM rounds once.
        const DEPTH: f32 = 24.0;
        if range.largest == 0 {
            0
        } else if range.largest >= LARGE || exponent(range.smallest) < SMALL || range.is_deeper(DEPTH) {
            NOT_SPLIT
        } else {
            0
        }
    }

    #[inline(always)]
    fn split(values: [f32; VEC as usize]) -> [[u32; VEC as usize]; 2] {
        let hi = values.map(convert::tf32);
        let lo: [f32; VEC as usize] = core::array::from_fn(|i| convert::tf32(values[i] - hi[i]));
        [hi, lo].map(|values| values.map(f32::to_bits))
    }

    #[inline(always)]
    unsafe fn mma<const ACC: usize>(acc: &mut [f32; ACC], a: Descriptor, b: Descriptor, accumulate: bool) {
        // SAFETY: upheld by the caller (see `# Safety`).
        unsafe { wgmma::tf32(acc, a, b, accumulate) }
    }
}
