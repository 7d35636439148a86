//! Rounding to any floating-point format and to integers. PTX ISA, "Rounding Modifiers" and "cvt".

use rustc_apfloat::Round;

/// A binary floating-point format: its sign bit stands above its magnitude, which grows with the value.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Format {
    /// Bits in all.
    pub bits: u32,
    /// Bits of the significand that are stored.
    pub mantissa: u32,
    /// Exponent of the smallest normal number.
    pub min_exponent: i32,
    /// The largest finite number.
    pub max: u64,
    /// Infinity, or the largest finite number where there is none.
    pub infinity: u64,
    /// The NaN that conversions give.
    pub nan: u64,
}

pub(crate) const F64: Format = Format {
    bits: 64,
    mantissa: 52,
    min_exponent: -1022,
    max: 0x7fef_ffff_ffff_ffff,
    infinity: 0x7ff0_0000_0000_0000,
    nan: 0x7fff_ffff_ffff_ffff,
};
pub(crate) const F32: Format =
    Format { bits: 32, mantissa: 23, min_exponent: -126, max: 0x7f7f_ffff, infinity: 0x7f80_0000, nan: 0x7fff_ffff };
/// As the upper 19 bits of a single.
pub(crate) const TF32: Format =
    Format { bits: 19, mantissa: 10, min_exponent: -126, max: 0x3_fbff, infinity: 0x3_fc00, nan: 0x3_ffff };
pub(crate) const F16: Format =
    Format { bits: 16, mantissa: 10, min_exponent: -14, max: 0x7bff, infinity: 0x7c00, nan: 0x7fff };
pub(crate) const BF16: Format =
    Format { bits: 16, mantissa: 7, min_exponent: -126, max: 0x7f7f, infinity: 0x7f80, nan: 0x7fff };
pub(crate) const E5M2: Format =
    Format { bits: 8, mantissa: 2, min_exponent: -14, max: 0x7b, infinity: 0x7c, nan: 0x7f };
pub(crate) const E4M3: Format = Format { bits: 8, mantissa: 3, min_exponent: -6, max: 0x7e, infinity: 0x7e, nan: 0x7f };

/// Whether truncated bits round a magnitude up: `rest` of `half + half`, after an odd digit or not.
fn rounds_up(round: Round, negative: bool, odd: bool, rest: u64, half: u64) -> bool {
    match round {
        Round::NearestTiesToEven => rest > half || rest == half && odd,
        Round::NearestTiesToAway => rest >= half,
        Round::TowardZero => false,
        Round::TowardPositive => rest != 0 && !negative,
        Round::TowardNegative => rest != 0 && negative,
    }
}

/// magnitude * 2^exponent, negated if so asked, rounded once.
pub(crate) fn from_parts(format: &Format, round: Round, negative: bool, magnitude: u64, exponent: i32) -> u64 {
    let sign = u64::from(negative) << (format.bits - 1);
    if magnitude == 0 {
        return sign;
    }
    let zeros = magnitude.leading_zeros();
    let magnitude = magnitude << zeros;
    let exponent = exponent + 63 - zeros as i32;
    let below = (format.min_exponent - exponent).max(0) as u32;
    // Two digits far below the smallest number decide as all of them would.
    let cut = (63 - format.mantissa + below).min(66);
    let (kept, rest, half) = match cut {
        ..=63 => (magnitude >> cut, magnitude & ((1 << cut) - 1), 1 << (cut - 1)),
        64 => (0, magnitude, 1 << 63),
        _ => (0, 1, 2),
    };
    let code = kept + (((exponent - format.min_exponent).max(0) as u64) << format.mantissa);
    let code = code + u64::from(rounds_up(round, negative, kept & 1 != 0, rest, half));
    let overflow = match round {
        Round::TowardZero => format.max,
        Round::TowardPositive if negative => format.max,
        Round::TowardNegative if !negative => format.max,
        _ => format.infinity,
    };
    sign | if code > format.max { overflow } else { code }
}

/// A number's sign, magnitude and exponent: magnitude * 2^exponent. Not for infinities and NaN.
fn parts(x: f64) -> (bool, u64, i32) {
    let bits = x.to_bits();
    let (biased, fraction) = ((bits >> 52 & 0x7ff) as i32, bits & ((1 << 52) - 1));
    let magnitude = if biased == 0 { fraction } else { fraction | 1 << 52 };
    (x.is_sign_negative(), magnitude, biased.max(1) - 1075)
}

/// The number in another format, rounded once.
pub(crate) fn from_f64(format: &Format, round: Round, x: f64) -> u64 {
    if x.is_nan() {
        return format.nan;
    }
    let sign = u64::from(x.is_sign_negative()) << (format.bits - 1);
    if x.is_infinite() {
        return sign | format.infinity;
    }
    let (negative, magnitude, exponent) = parts(x);
    from_parts(format, round, negative, magnitude, exponent)
}

/// The integer in a floating-point format, rounded once.
pub(crate) fn from_integer(format: &Format, round: Round, x: i128) -> u64 {
    from_parts(format, round, x < 0, x.unsigned_abs() as u64, 0)
}

/// A number of a format, exactly. NaN keeps its sign and payload, and becomes quiet unless it is a double.
pub(crate) fn to_f64(format: &Format, bits: u64) -> f64 {
    if format.bits == 64 {
        return f64::from_bits(bits);
    }
    let sign = (bits >> (format.bits - 1) & 1) << 63;
    let code = bits & ((1 << (format.bits - 1)) - 1);
    let magnitude = if code > format.max {
        let payload = code & ((1 << format.mantissa) - 1);
        let quiet = f64::INFINITY.to_bits() | 1 << 51 | payload << (52 - format.mantissa);
        if code == format.infinity { f64::INFINITY } else { f64::from_bits(quiet) }
    } else if code >> format.mantissa == 0 {
        let unit = (format.min_exponent - format.mantissa as i32 + 1023) as u64;
        code as f64 * f64::from_bits(unit << 52)
    } else {
        let bias = (format.min_exponent - 1 + 1023) as u64;
        f64::from_bits((code << (52 - format.mantissa)) + (bias << 52))
    };
    f64::from_bits(magnitude.to_bits() | sign)
}

/// The integer part, rounded as asked.
pub(crate) fn integral(round: Round, x: f64) -> f64 {
    match round {
        Round::NearestTiesToEven => x.round_ties_even(),
        Round::NearestTiesToAway => x.round(),
        Round::TowardZero => x.trunc(),
        Round::TowardPositive => x.ceil(),
        Round::TowardNegative => x.floor(),
    }
}

/// Whether a value, rounded with unbounded exponent, is below the smallest normal number. It is given exactly, or
/// rounded to odd.
pub(crate) fn is_tiny(format: &Format, round: Round, exact: f64) -> bool {
    let magnitude = exact.abs() * f64::from(-format.min_exponent).exp2();
    let ulp = f64::from(-1 - format.mantissa as i32).exp2();
    match round {
        Round::NearestTiesToEven | Round::NearestTiesToAway => magnitude < 1.0 - ulp / 2.0,
        Round::TowardPositive if exact > 0.0 => magnitude <= 1.0 - ulp,
        Round::TowardNegative if exact < 0.0 => magnitude <= 1.0 - ulp,
        _ => magnitude < 1.0,
    }
}

/// a + b rounded to odd, so that rounding it again to fewer bits equals rounding once.
pub(crate) fn add_to_odd(a: f64, b: f64) -> f64 {
    let sum = a + b;
    if !sum.is_finite() {
        return sum;
    }
    // The rounding error, exact since nothing overflows.
    let b_part = sum - a;
    let lost = (a - (sum - b_part)) + (b - b_part);
    if lost == 0.0 || sum.to_bits() & 1 != 0 {
        return sum;
    }
    if (lost > 0.0) == (sum > 0.0) { f64::from_bits(sum.to_bits() + 1) } else { f64::from_bits(sum.to_bits() - 1) }
}
