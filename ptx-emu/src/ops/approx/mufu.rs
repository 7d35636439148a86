//! The special function unit of the Hopper generation, instruction `MUFU`, bit for bit.
//!
//! The upper bits of a number's significand choose a slice of the function, for which a table has three coefficients;
//! the lower bits go into a quadratic polynomial in fixed point. The method is published: S. F. Oberman and M. Y. Siu,
//! "A High-Performance Area-Efficient Multifunction Interpolator", 17th IEEE Symposium on Computer Arithmetic, 2005.
//! The envytools project describes how the first such unit, of the Tesla generation, lines up its coefficients and
//! rounds; the outputs of the Hopper generation show that it still does so. The square root and the hyperbolic tangent
//! came later: their formats are found from outputs.
//!
//! Subnormal numbers count as zeros here, going in and coming out, but for [`tanh`].

use super::tables::{self, Slice};

const NAN: f32 = f32::from_bits(0x7fff_ffff);

/// The width of the number whose polynomial is computed.
const LOW_BITS: u32 = 17;

/// The alignment of a function's coefficients and its rounding constant.
#[derive(Debug, Clone, Copy)]
struct Format {
    /// Left shift of the constant coefficient.
    constant: u32,
    /// Left shift of the quadratic coefficient.
    quadratic: u32,
    /// Added to round.
    bias: i64,
    /// Right shift to a significand of 24 bits.
    fraction: u32,
}

impl Format {
    const RCP: Self = Self { constant: 14, quadratic: 1, bias: 0x8fce, fraction: 16 };
    const RSQRT: Self = Self { constant: 14, quadratic: 2, bias: 0x7fff, fraction: 16 };
    // Those of double precision give significands of 21 bits.
    const RCP64: Self = Self { fraction: 19, ..Self::RCP };
    const RSQRT64: Self = Self { fraction: 19, ..Self::RSQRT };
    const SQRT: Self = Self { constant: 15, quadratic: 1, bias: 0x7fff, fraction: 17 };
    const EX2: Self = Self { constant: 13, quadratic: 0, bias: 0x77e2, fraction: 15 };
    const LG2: Self = Self { constant: 12, quadratic: 1, bias: 0x3345, fraction: 2 };
    const SIN: Self = Self { constant: 11, quadratic: 0, bias: 0, fraction: 0 };
    const TANH: Self = Self { constant: 15, quadratic: 0, bias: 0, fraction: 0 };

    /// The polynomial of the lowest 17 bits of `x`; the bits above them choose the slice.
    fn interpolate<const N: usize>(self, slices: &[Slice; N], x: u32) -> i64 {
        let (c0, c1, c2) = slices[(x >> LOW_BITS) as usize % N];
        let low = i64::from(x % (1 << LOW_BITS));
        ((c0 << self.constant) + c1 * low + ((c2 * square(low)) << self.quadratic) + self.bias) >> self.fraction
    }
}

/// x^2 / 2^19, with each partial product truncated.
fn square(x: i64) -> i64 {
    let mut sum = 0;
    for bit in 0..LOW_BITS {
        sum += if x >> bit & 1 != 0 { x >> (18 - bit) } else { 0 };
    }
    sum >> 1
}

/// A finite number other than zero: its sign, its exponent and its significand without the leading one.
#[derive(Debug, Clone, Copy)]
struct Parts {
    sign: u32,
    exponent: i32,
    fraction: u32,
}

/// The class of an argument.
#[derive(Debug, Clone, Copy)]
enum Argument {
    Zero,
    Number(Parts),
    Infinity,
    Nan,
}

impl From<f32> for Argument {
    fn from(x: f32) -> Self {
        let bits = x.to_bits();
        let (sign, fraction) = (bits & 0x8000_0000, bits & 0x007f_ffff);
        match bits >> 23 & 0xff {
            0 => Self::Zero,
            0xff if fraction == 0 => Self::Infinity,
            0xff => Self::Nan,
            exponent => Self::Number(Parts { sign, exponent: exponent as i32 - 127, fraction }),
        }
    }
}

/// The number with this exponent and this significand, which has 24 bits or is 2^24. A subnormal number becomes zero.
fn number(sign: u32, exponent: i32, significand: i64) -> f32 {
    let bits = (exponent + 126) * (1 << 23) + significand as i32;
    f32::from_bits(if bits < 1 << 23 { sign } else { sign | bits as u32 })
}

/// `value` / 2^`point`, truncated to a significand of 24 bits.
fn truncate(sign: u32, value: i64, point: i32) -> f32 {
    if value <= 0 {
        return f32::from_bits(sign);
    }
    let top = value.ilog2() as i32;
    number(sign, top - point, if top > 23 { value >> (top - 23) } else { value << (23 - top) })
}

/// 1 / x
pub(super) fn rcp(x: f32) -> f32 {
    match x.into() {
        Argument::Zero => f32::INFINITY.copysign(x),
        Argument::Number(Parts { sign, exponent, fraction }) => {
            number(sign, -exponent - 1, Format::RCP.interpolate(&tables::RCP, fraction << 1))
        }
        Argument::Infinity => 0f32.copysign(x),
        Argument::Nan => NAN,
    }
}

/// 1 / sqrt(x); of a zero, the infinity of its sign.
pub(super) fn rsqrt(x: f32) -> f32 {
    match x.into() {
        Argument::Zero => f32::INFINITY.copysign(x),
        Argument::Number(Parts { sign: 0, exponent, fraction }) => {
            let significand = fraction | (exponent as u32 & 1) << 23;
            let exponent = -(exponent >> 1);
            if significand == 0 {
                return number(0, exponent, 1 << 23);
            }
            number(0, exponent - 1, Format::RSQRT.interpolate(&tables::RSQRT, significand))
        }
        Argument::Infinity if x > 0.0 => 0.0,
        _ => NAN,
    }
}

/// The square root.
pub(super) fn sqrt(x: f32) -> f32 {
    match x.into() {
        Argument::Zero => 0f32.copysign(x),
        Argument::Number(Parts { sign: 0, exponent, fraction }) => {
            let significand = fraction | (exponent as u32 & 1) << 23;
            number(0, exponent >> 1, Format::SQRT.interpolate(&tables::SQRT, significand))
        }
        Argument::Infinity if x > 0.0 => x,
        _ => NAN,
    }
}

/// 2^x
pub(super) fn ex2(x: f32) -> f32 {
    let Parts { sign, exponent, fraction } = match x.into() {
        Argument::Zero => return 1.0,
        Argument::Number(parts) => parts,
        Argument::Infinity => return if x > 0.0 { x } else { 0.0 },
        Argument::Nan => return NAN,
    };
    if exponent >= 7 {
        return if sign == 0 { f32::INFINITY } else { 0.0 };
    }
    // 7 integer bits, 23 fractional bits.
    let fixed = fixed_point(exponent, fraction, 23);
    let (whole, part) = (fixed >> 23, fixed & 0x007f_ffff);
    let (whole, part) = match (sign, part) {
        (0, _) => (whole, part),
        (_, 0) => (-whole, 0),
        _ => (-whole - 1, !part & 0x007f_ffff),
    };
    number(0, whole, Format::EX2.interpolate(&tables::EX2, part as u32))
}

/// A number with `fraction_bits` fractional bits, truncated, modulo 2^31.
fn fixed_point(exponent: i32, fraction: u32, fraction_bits: i32) -> i32 {
    let significand = i64::from(fraction | 1 << 23);
    match exponent + fraction_bits - 23 {
        left @ 0..=30 => ((significand << left) & 0x7fff_ffff) as i32,
        right @ -31..0 => (significand >> -right) as i32,
        _ => 0,
    }
}

/// The binary logarithm; of both zeros, negative infinity.
pub(super) fn lg2(x: f32) -> f32 {
    match x.into() {
        Argument::Zero => f32::NEG_INFINITY,
        Argument::Number(Parts { sign: 0, exponent: 0, fraction: 0 }) => 0.0,
        Argument::Number(Parts { sign: 0, exponent, fraction }) => {
            let value = (i64::from(exponent) << 36) + Format::LG2.interpolate(&tables::LG2, fraction);
            if value < 0 { truncate(0x8000_0000, !value, 36) } else { truncate(0, value, 36) }
        }
        Argument::Infinity if x > 0.0 => x,
        _ => NAN,
    }
}

/// The sine of x turns; of an infinity, NaN.
pub(super) fn sin(x: f32) -> f32 {
    match x.into() {
        Argument::Zero => 0f32.copysign(x),
        Argument::Number(Parts { sign, exponent, fraction }) => wave(sign, fixed_point(exponent, fraction, 25) as u32),
        _ => NAN,
    }
}

/// The cosine of x turns; of an infinity, NaN.
pub(super) fn cos(x: f32) -> f32 {
    match x.into() {
        Argument::Zero => 1.0,
        Argument::Number(Parts { exponent, fraction, .. }) => {
            wave(0, fixed_point(exponent, fraction, 25) as u32 + (1 << 23))
        }
        _ => NAN,
    }
}

/// The sine of an angle in quarter turns with 23 fractional bits, negated if `sign` is set. The table has the first
/// quarter.
fn wave(sign: u32, angle: u32) -> f32 {
    let falls = angle >> 23 & 1 != 0;
    let part = if falls { !angle } else { angle } & 0x007f_ffff;
    let sign = sign ^ (angle >> 24 & 1) << 31;
    truncate(sign, Format::SIN.interpolate(&tables::SIN, part), 37)
}

/// The hyperbolic tangent; a number below 2^-8, subnormal or not, is its own.
pub(super) fn tanh(x: f32) -> f32 {
    match x.into() {
        Argument::Zero => x,
        Argument::Number(Parts { exponent: ..-8, .. }) => x,
        Argument::Number(Parts { sign, exponent: exponent @ -8..3, fraction }) => {
            let (first, bits, point) = tables::TANH_RANGES[(exponent + 8) as usize];
            let index = (first << LOW_BITS) + (fraction >> (23 - LOW_BITS - bits));
            truncate(sign, Format::TANH.interpolate(&tables::TANH, index), point)
        }
        Argument::Number(_) | Argument::Infinity => 1f32.copysign(x),
        Argument::Nan => NAN,
    }
}

/// 1 / x in double precision, of the upper words. Subnormal numbers count as zeros.
pub(super) fn rcp64h(x: u32) -> u32 {
    let (sign, exponent, fraction) = upper_parts(x);
    match exponent {
        0 => sign | INFINITY64,
        0x7ff if fraction == 0 => sign,
        0x7ff => NAN.to_bits(),
        _ => number64(sign, 1022 - exponent, Format::RCP64.interpolate(&tables::RCP, fraction << 4)),
    }
}

/// 1 / sqrt(x) in double precision, of the upper words. Subnormal numbers count as zeros.
pub(super) fn rsqrt64h(x: u32) -> u32 {
    let (sign, exponent, fraction) = upper_parts(x);
    let odd = exponent & 1 == 0;
    match exponent {
        0 => sign | INFINITY64,
        0x7ff if sign == 0 && fraction == 0 => 0,
        _ if sign != 0 || exponent == 0x7ff => NAN.to_bits(),
        _ if fraction == 0 && !odd => number64(0, (1023 - exponent) / 2, 1 << 20),
        _ => {
            let significand = fraction << 3 | u32::from(odd) << 23;
            let half = (exponent - 1023) >> 1;
            number64(0, -half - 1, Format::RSQRT64.interpolate(&tables::RSQRT, significand))
        }
    }
}

const INFINITY64: u32 = 0x7ff0_0000;

/// The sign, the biased exponent and the fraction in the upper word of a double.
fn upper_parts(x: u32) -> (u32, i32, u32) {
    (x & 0x8000_0000, (x >> 20 & 0x7ff) as i32, x & 0x000f_ffff)
}

/// As [`number`], the upper word of a double: the significand has 21 bits or is 2^21.
fn number64(sign: u32, exponent: i32, significand: i64) -> u32 {
    let bits = (exponent + 1022) * (1 << 20) + significand as i32;
    if bits < 1 << 20 { sign } else { sign | bits as u32 }
}
