//! Frequent half-precision operations without branches, so that they vectorise: conversions between f32 and f16 or
//! bf16, and f16 arithmetic without modifiers.

/// An f16 as f32, exactly.
#[inline(always)]
pub(crate) fn f16_to_f32(half: u16) -> f32 {
    let (sign, magnitude) = (u32::from(half & 0x8000) << 16, u32::from(half & 0x7fff));
    // The product adjusts the exponent, also of subnormals.
    let finite = (f32::from_bits(magnitude << 13) * f32::from_bits((127 + 112) << 23)).to_bits() | sign;
    let special = if magnitude > 0x7c00 { 0x7fff_ffff } else { 0x7f80_0000 | sign };
    f32::from_bits(if magnitude >= 0x7c00 { special } else { finite })
}

/// A bf16 as f32, exactly; NaN as it is.
#[inline(always)]
pub(crate) fn bf16_to_f32(half: u16) -> f32 {
    f32::from_bits(u32::from(half) << 16)
}

/// An f32 as f16, to nearest even.
#[inline(always)]
pub(crate) fn f32_to_f16(x: f32) -> u16 {
    let bits = x.to_bits();
    let (sign, magnitude) = (bits >> 16 & 0x8000, bits & 0x7fff_ffff);
    // The sum aligns the last bit with that of subnormal f16, and rounds there.
    let half = 0.5f32;
    let small = (f32::from_bits(magnitude) + half).to_bits().wrapping_sub(half.to_bits());
    let normal = magnitude.wrapping_add((15u32.wrapping_sub(127) << 23) + 0xfff + (magnitude >> 13 & 1)) >> 13;
    let finite = if magnitude < 0x3880_0000 { small } else { normal };
    let result = if magnitude >= 0x4780_0000 { 0x7c00 } else { finite };
    (if magnitude > 0x7f80_0000 { 0x7fff } else { result | sign }) as u16
}

/// An f32 as bf16, to nearest even.
#[inline(always)]
pub(crate) fn f32_to_bf16(x: f32) -> u16 {
    let bits = x.to_bits();
    let rounded = bits.wrapping_add(0x7fff + (bits >> 16 & 1)) >> 16;
    (if bits & 0x7fff_ffff > 0x7f80_0000 { 0x7fff } else { rounded }) as u16
}

/// a * b + c in f16, rounded once.
#[inline(always)]
pub(crate) fn fma16(a: u16, b: u16, c: u16) -> u16 {
    // A product of 11 by 11 bits is exact in f32.
    let (product, c) = (f16_to_f32(a) * f16_to_f32(b), f16_to_f32(c));
    let sum = product + c;
    // Round to odd: the last bit becomes odd if the sum is inexact. A second rounding, to 11 bits, is then as if
    // rounded once.
    let c_part = sum - product;
    let lost = (product - (sum - c_part)) + (c - c_part);
    let bits = sum.to_bits();
    let away = ((lost > 0.0) == (sum > 0.0)) as u32;
    let odd = if bits & 1 == 0 { bits.wrapping_sub(1).wrapping_add(2 * away) } else { bits };
    // The error of an infinite sum is NaN.
    let inexact = (lost > 0.0) | (lost < 0.0);
    f32_to_f16(f32::from_bits(if inexact { odd } else { bits }))
}

#[cfg(test)]
mod tests {
    use rustc_apfloat::Round;

    use super::*;
    use crate::ops::half::Half;
    use crate::ops::round::{BF16, F16, F32, from_f64, to_f64};

    #[test]
    fn every_half() {
        let nearest = Round::NearestTiesToEven;
        for half in 0..=u16::MAX {
            let expected = from_f64(&F32, nearest, to_f64(&F16, half.into()));
            assert_eq!(u64::from(f16_to_f32(half).to_bits()), expected, "{half:04x}");
            assert_eq!(bf16_to_f32(half).to_bits(), u32::from(half) << 16, "{half:04x}");
        }
    }

    #[test]
    fn singles_all_over() {
        for bits in (0..=u32::MAX).step_by(997).chain(0x3300_0000..0x3310_0000).chain(0x477f_d000..0x4780_1000) {
            let x = f32::from_bits(bits);
            let expected = |format| from_f64(format, Round::NearestTiesToEven, to_f64(&F32, bits.into()));
            assert_eq!(u64::from(f32_to_f16(x)), expected(&F16), "{bits:08x}");
            assert_eq!(u64::from(f32_to_bf16(x)), expected(&BF16), "{bits:08x}");
        }
    }

    #[test]
    fn fma_is_rounded_once() {
        let half = Half { format: &F16, ftz: false, sat: false, relu: false };
        let mut state = 1u64;
        for _ in 0..3_000_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let [a, b, c] = [state >> 48, state >> 32, state >> 16].map(|bits| bits as u16);
            assert_eq!(fma16(a, b, c), half.fma(a, b, c), "{a:04x} {b:04x} {c:04x}");
        }
    }
}
