//! f32 values as sums of two smaller ones, which the tensor cores multiply: the high part is the nearest number of the kind,
//! the low part what is left. Layout: [`crate::Split`]; who takes operands apart: `split/`.

use crate::f32x4::VEC;
use crate::ptx::convert;
use crate::ptx::wgmma::{self, Matrix, ROW_BYTES};
use crate::range::{INFINITE, Range, exponent};
use crate::split::prepasses;
use crate::{Element, NOT_SPLIT, Prepass};

/// A kind of parts.
pub(crate) trait Part {
    /// What they are.
    const ELEMENT: Element;
    /// Values of a chunk, which is a row of a stage: high parts in its first half, their low parts in the other.
    const DEPTH: u32 = ROW_BYTES / 2 / Self::ELEMENT.bytes();
    /// Words of the high parts of VEC values.
    const WORDS: usize = (VEC * Self::ELEMENT.bytes() / 4) as usize;
    /// The pre-passes for A and B.
    const PREPASSES: &[Prepass];

    /// The exponent of the power of two that numbers in that range are multiplied by.
    fn exponent(range: Range) -> i32;

    /// The high and the low parts of neighbours, in the first WORDS words.
    fn parts(values: [f32; VEC as usize]) -> [[u32; VEC as usize]; 2];

    /// A product of parts: [`wgmma::f16`], [`wgmma::tf32`].
    ///
    /// # Safety
    /// As of these.
    unsafe fn product<const ACC: usize>(acc: &mut [f32; ACC], a: Matrix, b: Matrix, adds: bool);
}

/// f16: 11 bits each, after scaling. The largest of a row becomes at least 2^14: f16 ends at 2^16.
pub(crate) struct F16;

impl Part for F16 {
    const ELEMENT: Element = Element::F16;
    const PREPASSES: &[Prepass] = &prepasses::<Self>(["split_rows_f16", "split_columns_f16"]);

    #[inline(always)]
    fn exponent(range: Range) -> i32 {
        const TOP: i32 = 14;
        // From there down to f16's smallest number: what is further below the largest would vanish.
        const SPAN: i32 = TOP + 24;
        // Down to there a number has all its bits. Where most have less, a row is its largest, and noise.
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
    fn parts([x, y, z, w]: [f32; VEC as usize]) -> [[u32; VEC as usize]; 2] {
        let high = [convert::f16x2(x, y), convert::f16x2(z, w)];
        let rest = |value: f32, bits: u32| value - convert::from_f16(bits);
        let low = [
            convert::f16x2(rest(x, high[0]), rest(y, high[0] >> 16)),
            convert::f16x2(rest(z, high[1]), rest(w, high[1] >> 16)),
        ];
        [high, low].map(|[first, second]| [first, second, 0, 0])
    }

    #[inline(always)]
    unsafe fn product<const ACC: usize>(acc: &mut [f32; ACC], a: Matrix, b: Matrix, adds: bool) {
        // SAFETY: by the caller's promise.
        unsafe { wgmma::f16(acc, a, b, adds) }
    }
}

/// TF32: 11 bits each, and the exponents of f32, so that nothing is scaled.
pub(crate) struct Tf32;

impl Part for Tf32 {
    const ELEMENT: Element = Element::F32;
    const PREPASSES: &[Prepass] = &prepasses::<Self>(["split_rows_tf32", "split_columns_tf32"]);

    #[inline(always)]
    fn exponent(range: Range) -> i32 {
        // What would be rounded up to infinity; and numbers whose low part has no exponent any more.
        const LARGE: u32 = INFINITE - (1 << 12);
        const SMALL: i32 = -126 + 24;
        // Where the numbers are so far apart, a sum is one product, which SGEMM rounds once.
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
    fn parts(values: [f32; VEC as usize]) -> [[u32; VEC as usize]; 2] {
        let high = values.map(convert::tf32);
        let low: [f32; VEC as usize] = core::array::from_fn(|i| convert::tf32(values[i] - high[i]));
        [high, low].map(|parts| parts.map(f32::to_bits))
    }

    #[inline(always)]
    unsafe fn product<const ACC: usize>(acc: &mut [f32; ACC], a: Matrix, b: Matrix, adds: bool) {
        // SAFETY: by the caller's promise.
        unsafe { wgmma::tf32(acc, a, b, adds) }
    }
}
