//! The arithmetic of `mma` and `wmma.mma` beyond one fused k-step with f32 accumulators, which is in [`super::tensor_core`].
//!
//! As on Hopper. NVIDIA publishes none of it. The sources are P. Xie and others, arXiv 2511.10909, with their reference model
//! (github.com/microsoft/MMA-Sim), and the machine code that ptxas 13 makes for `sm_90`, which says what Hopper has no unit for:
//!
//! - f16 accumulators: the fused sum of the f32 case, with 25 fractional bits, rounded once to the nearest f16.
//! - f64: one FMA after the other, k ascending.
//! - Integers: exact; they wrap, or the exact sum is saturated. Of 4 bits, they are widened to 8.
//! - fp8: converted to f16. Elements k mod 4 = 0, 1 are multiplied first, from accumulators of 0, then the others; C is added last.
//! - `m8n8k4` of f16: FMAs of f32, see [`quad_f32`] and [`quad_f16`].

use half::f16;
use rustc_apfloat::Round;

use super::round::{F16, from_f64, from_parts};
use super::tensor_core::{Format, INFINITE, NAN, OF_PRODUCT};

const F16_NAN: u16 = 0x7fff;
const F32_NAN: u32 = 0x7fff_ffff;

/// The fused sum of the products and an f16 accumulator. Both formats have as many bits.
pub(crate) fn fused_f16(formats: [Format; 2], a: &[u32], b: &[u32], c: u16) -> u16 {
    let kept = formats[0].fraction();
    let products = a.iter().zip(b).map(|(a, b)| {
        let ((a, a_exponent), (b, b_exponent)) = (formats[0].unpack(*a), formats[1].unpack(*b));
        ((i32::from(a), a_exponent), (i32::from(b), b_exponent))
    });
    let (c_significand, c_exponent) = Format::F16.unpack(c.into());
    let mut infinite = (c_exponent == INFINITE).then_some(c >> 15 != 0);
    let mut is_nan = c_exponent == NAN;
    let mut top = c_exponent;
    for ((a, a_exponent), (b, b_exponent)) in products.clone() {
        is_nan |= [a_exponent, b_exponent].contains(&NAN);
        if [a_exponent, b_exponent].contains(&INFINITE) {
            let negative = (a < 0) != (b < 0);
            is_nan |= a == 0 || b == 0 || infinite.is_some_and(|sign| sign != negative);
            infinite = Some(negative);
        }
        top = top.max(a_exponent.saturating_add(b_exponent));
    }
    if is_nan {
        return F16_NAN;
    }
    if let Some(negative) = infinite {
        return f16::INFINITY.to_bits() | u16::from(negative) << 15;
    }
    let aligned = |significand: i64, exponent: i16| {
        let magnitude = significand.unsigned_abs() >> i32::from(top - exponent).min(63);
        if significand < 0 { -(magnitude as i64) } else { magnitude as i64 }
    };
    let products = products.map(|((a, a_exponent), (b, b_exponent))| {
        // What a product of 8-bit floats is truncated by is 0.
        let product = i64::from(a * b) << (kept - OF_PRODUCT).max(0) >> (OF_PRODUCT - kept).max(0);
        aligned(product, a_exponent.saturating_add(b_exponent))
    });
    let sum = aligned(i64::from(c_significand) << (kept - 10), c_exponent) + products.sum::<i64>();
    let exponent = i32::from(top) - i32::from(kept);
    match from_parts(&F16, Round::NearestTiesToEven, sum < 0, sum.unsigned_abs(), exponent) as u16 {
        // No -0.
        0x8000 => 0,
        sum => sum,
    }
}

/// The sum of two f32, with the NaN of the GPU.
pub(crate) fn add_f32(a: f32, b: f32) -> f32 {
    let sum = a + b;
    if sum.is_nan() { f32::from_bits(F32_NAN) } else { sum }
}

/// The sum of two f16, rounded once, with the NaN of the GPU.
pub(crate) fn add_f16(a: u16, b: u16) -> u16 {
    // Exact in f64.
    to_f16(f16::from_bits(a).to_f64() + f16::from_bits(b).to_f64())
}

pub(crate) fn to_f16(x: f64) -> u16 {
    from_f64(&F16, Round::NearestTiesToEven, x) as u16
}

/// An 8-bit floating-point format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Float8 {
    E4m3,
    E5m2,
}

impl Float8 {
    /// The number as an f16, exactly.
    pub(crate) fn to_f16(self, byte: u8) -> u16 {
        let sign = u16::from(byte >> 7) << 15;
        let magnitude = u16::from(byte & 0x7f);
        match self {
            Self::E5m2 => sign | magnitude << 8,
            Self::E4m3 if magnitude == 0x7f => F16_NAN,
            // The exponent's bias is 8 less.
            Self::E4m3 => sign | to_f16(f16::from_bits(magnitude << 7).to_f64() * 256.0),
        }
    }
}

/// An FMA for each element, in order.
pub(crate) fn chain_f64(a: &[f64], b: &[f64], c: f64, fma: impl Fn(f64, f64, f64) -> f64) -> f64 {
    a.iter().zip(b).fold(c, |sum, (a, b)| fma(*a, *b, sum))
}

/// The sum of products of integers and an accumulator, which wraps or saturates.
pub(crate) fn integers(a: &[i16], b: &[i16], c: i32, saturates: bool) -> i32 {
    let products: i64 = a.iter().zip(b).map(|(a, b)| i64::from(*a) * i64::from(*b)).sum();
    let sum = i64::from(c) + products;
    if saturates { sum.clamp(i32::MIN.into(), i32::MAX.into()) as i32 } else { sum as i32 }
}

/// What stands for the product of bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BitProduct {
    Xor,
    And,
}

/// The number of bits set in the products, added to an accumulator.
pub(crate) fn bits(product: BitProduct, a: &[u32], b: &[u32], c: i32) -> i32 {
    let ones = a.iter().zip(b).map(|(a, b)| match product {
        BitProduct::Xor => (a ^ b).count_ones(),
        BitProduct::And => (a & b).count_ones(),
    });
    c.wrapping_add_unsigned(ones.sum())
}

/// Row and column of `mma.m8n8k4` with f32 results: a chain of FMAs from 0, to which C is added.
pub(crate) fn quad_f32(a: [f32; 4], b: [f32; 4], c: f32) -> f32 {
    add_f32(c, a.into_iter().zip(b).fold(0.0, |sum, (a, b)| a.mul_add(b, sum)))
}

/// As [`quad_f32`], with f16 results: C, and the sums of two products each, are added in f32, and rounded.
pub(crate) fn quad_f16(a: [f32; 4], b: [f32; 4], c: f32) -> u16 {
    let pair = |k: usize| a[k + 1].mul_add(b[k + 1], a[k] * b[k]);
    to_f16(f64::from((c + pair(0)) + pair(2)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn half(x: f64) -> u32 {
        to_f16(x).into()
    }

    #[test]
    fn f16_accumulators_round_to_nearest_once() {
        let fused = |a: &[f64], c: f64| {
            let (a, ones) = (a.iter().map(|x| half(*x)).collect::<Vec<_>>(), vec![half(1.0); a.len()]);
            f16::from_bits(fused_f16([Format::F16; 2], &a, &ones, to_f16(c))).to_f64()
        };
        assert_eq!(fused(&[3.0, -5.0, 0.5], 10.0), 8.5);
        // Each is half a unit in the last place of 2048, a tie; both together are a unit.
        assert_eq!(fused(&[1.0], 2048.0), 2048.0);
        assert_eq!(fused(&[1.0, 1.0], 2048.0), 2050.0);
        // Beyond 25 fractional bits nothing is kept: 2^-11 is half a unit of 1, and 2^-26 would break the tie.
        let (tie, lost, kept) = (1.0 / 2048.0, 2f64.powi(-13), 2f64.powi(-12));
        let product =
            |last: f64| fused_f16([Format::F16; 2], &[half(tie), half(last)], &[half(1.0), half(last)], 0x3c00);
        assert_eq!((product(lost), product(kept)), (0x3c00, 0x3c01));
        assert_eq!(fused(&[65504.0, 16.0], 0.0), f64::INFINITY);
        assert_eq!(fused(&[f64::NEG_INFINITY, 1.0], 0.0), f64::NEG_INFINITY);
        assert_eq!(fused_f16([Format::F16; 2], &[0x7c00, 0xfc00], &[0x3c00, 0x3c00], 0), F16_NAN);
        assert_eq!(fused_f16([Format::F16; 2], &[0x7c00], &[0], 0), F16_NAN);
        assert_eq!(fused_f16([Format::F16; 2], &[0x8000], &[0x3c00], 0x8000), 0);
    }

    #[test]
    fn numbers_of_8_bits_are_those_of_their_formats() {
        for byte in 0..=u8::MAX {
            for (format, as_f64) in
                [(Float8::E4m3, super::super::round::E4M3), (Float8::E5m2, super::super::round::E5M2)]
            {
                let exact = super::super::round::to_f64(&as_f64, byte.into());
                let got = f16::from_bits(format.to_f16(byte)).to_f64();
                assert!(got == exact || got.is_nan() && exact.is_nan(), "{format:?} {byte:#x}: {got}, {exact}");
            }
        }
    }

    #[test]
    fn integers_wrap_or_saturate() {
        assert_eq!(integers(&[127, -128], &[127, 127], 5, false), 127 * 127 - 128 * 127 + 5);
        assert_eq!(integers(&[100], &[100], i32::MAX, true), i32::MAX);
        assert_eq!(integers(&[100], &[100], i32::MAX, false), i32::MIN + 9999);
        assert_eq!(integers(&[-100], &[100], i32::MIN, true), i32::MIN);
        assert_eq!(bits(BitProduct::Xor, &[0b1100], &[0b1010], 7), 9);
        assert_eq!(bits(BitProduct::And, &[0b1100], &[0b1010], 7), 8);
    }

    #[test]
    fn quads_add_the_accumulator_last_or_first() {
        let ones = [1.0; 4];
        // 2^24 + 1 is a tie of f32: from C on, each single 1 is lost.
        assert_eq!(quad_f32(ones, ones, 16_777_216.0), 16_777_220.0);
        assert_eq!(quad_f16([2048.0, 1.0, 0.0, 0.0], ones, 0.0), to_f16(2048.0));
        assert_eq!(quad_f16(ones, ones, -4.0), 0);
    }
}
