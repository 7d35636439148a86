//! The hi/lo split of f32 values: hi is the nearest value of the format, lo the nearest to the remainder. Layout:
//! [`crate::Split`].

use super::range::exponent;
use super::{F16, Format, Tf32};
use crate::hardware::VEC;
use crate::ptx::convert;
use crate::ptx::wgmma::{self, Descriptor};
use crate::{BF16_TOP, CERTIFICATE_BITS, Element, F16_TOP, InnerSums, Magnitudes};

/// By how much the exponent of the scaling for three bf16 is larger.
pub(crate) const BF16_MORE: i32 = BF16_TOP - F16_TOP;

/// How values are split, and the MMAs of hi and lo.
pub(crate) trait HiLo: Format {
    /// Words of the hi values of VEC values.
    const WORDS: usize = (VEC * Self::ELEMENT.bytes() / 4) as usize;

    /// Whether values are scaled: TF32 has the exponents of f32.
    const IS_SCALED: bool = matches!(Self::ELEMENT, Element::F16);

    /// What lo is stored times, so that it has its full significand where hi has.
    const LO_SCALE: f32;

    /// How k-tiles are added.
    const INNER_SUMS: InnerSums;

    /// The certificates of a row of A with such elements, or of a column of B.
    fn certificates(of: Magnitudes, k: u32, of_b: bool) -> u32;

    /// The exponent of the power of two that scales values up to that one.
    fn exponent(largest: u32) -> i32;

    /// The word of a row or column.
    #[inline(always)]
    fn word(of: Magnitudes, k: u32, of_b: bool) -> i32 {
        Self::exponent(of.largest) << CERTIFICATE_BITS | Self::certificates(of, k, of_b) as i32
    }

    /// hi and lo, scaled, of contiguous values, in the first WORDS words.
    fn split(values: [f32; VEC as usize]) -> [[u32; VEC as usize]; 2];

    /// An MMA of the format: [`wgmma::f16`], [`wgmma::tf32`].
    ///
    /// # Safety
    /// As of these.
    unsafe fn mma<const ACC: usize>(acc: &mut [f32; ACC], a: Descriptor, b: Descriptor, accumulate: bool);
}

impl HiLo for F16 {
    const LO_SCALE: f32 = (1 << 11) as f32;
    const INNER_SUMS: InnerSums = InnerSums::OF_F16;

    #[inline(always)]
    fn certificates(of: Magnitudes, k: u32, of_b: bool) -> u32 {
        of.certificates_of_f16(k, of_b) | of.certificates_of_bf16(k)
    }

    #[inline(always)]
    fn exponent(largest: u32) -> i32 {
        F16_TOP - exponent(largest)
    }

    #[inline(always)]
    fn split([x, y, z, w]: [f32; VEC as usize]) -> [[u32; VEC as usize]; 2] {
        let hi = [convert::f16x2(x, y), convert::f16x2(z, w)];
        let rest = |value: f32, bits: u32| (value - convert::from_f16(bits)) * Self::LO_SCALE;
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
    const LO_SCALE: f32 = 1.0;
    const INNER_SUMS: InnerSums = InnerSums::OF_TF32;

    #[inline(always)]
    fn certificates(of: Magnitudes, k: u32, _: bool) -> u32 {
        of.certificates_of_tf32(k)
    }

    #[inline(always)]
    fn exponent(_: u32) -> i32 {
        0
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
