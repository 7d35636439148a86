//! What an operand can be: the width of its register, and the values worth trying.

use super::rng::Rng;

/// What an operand of a case holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // their names say it
pub enum Kind {
    Pred,
    /// The low 8 bits of a register of 32, with anything above.
    Byte,
    Int16,
    Int32,
    Int64,
    F16,
    Bf16,
    F32,
    F64,
    F16x2,
    Bf16x2,
    /// Two 8-bit floating-point numbers: every value of each.
    F8x2,
    /// Two integers of 16 bits.
    Int16x2,
    /// A count of bits or a place among them, sensible or not.
    Shift,
    /// A lane, sensible or not.
    Lane,
    /// The last operand of `shfl`: the last lane of a segment, and what tells segments apart.
    Clamp,
    /// An index into a table of 8.
    Index,
    /// An angle in radians, up to 100 pi.
    Angle,
    /// A single whose magnitude lies between 2^-100 and 2^100.
    Moderate,
}

/// A floating-point format.
#[derive(Debug, Clone, Copy)]
struct Format {
    bits: u32,
    mantissa: u32,
}

const F16: Format = Format { bits: 16, mantissa: 10 };
const BF16: Format = Format { bits: 16, mantissa: 7 };
const F32: Format = Format { bits: 32, mantissa: 23 };
const F64: Format = Format { bits: 64, mantissa: 52 };

const SHIFTS: [u64; 24] =
    [0, 1, 2, 5, 7, 8, 15, 16, 17, 24, 31, 32, 33, 47, 48, 63, 64, 65, 127, 128, 255, 256, 0x8000_0000, 0xffff_ffff];

impl Kind {
    /// The register's width in bits; 1 for a predicate.
    #[must_use]
    pub const fn bits(self) -> u32 {
        match self {
            Self::Pred => 1,
            Self::Int16 | Self::F16 | Self::Bf16 | Self::F8x2 => 16,
            Self::Int64 | Self::F64 => 64,
            _ => 32,
        }
    }

    /// Bytes that a value takes in a file.
    #[must_use]
    pub const fn bytes(self) -> usize {
        self.bits().div_ceil(8) as usize
    }

    /// The values to combine with those of the other operands, the most telling first.
    #[must_use]
    pub fn specials(self) -> Vec<u64> {
        match self {
            Self::Pred => vec![0, 1],
            Self::Byte => vec![0, 1, 0x7f, 0x80, 0xff, 0xdead_be00, 0x1234_5680, 0xffff_ff7f],
            Self::Int16 => integers(16),
            Self::Int32 => integers(32),
            Self::Int64 => integers(64),
            Self::F16 => floats(F16),
            Self::Bf16 => floats(BF16),
            Self::F32 => floats(F32),
            Self::F64 => floats(F64),
            Self::F16x2 | Self::Bf16x2 | Self::Int16x2 => {
                let halves = match self {
                    Self::F16x2 => floats(F16),
                    Self::Bf16x2 => floats(BF16),
                    _ => integers(16),
                };
                let other = |index: usize| halves[(index * 5 + 3) % halves.len()];
                halves.iter().enumerate().map(|(index, low)| low | (other(index) << 16)).collect()
            }
            Self::F8x2 => (0..256).map(|low| low | (((low * 73 + 5) % 256) << 8)).collect(),
            Self::Shift => SHIFTS.to_vec(),
            Self::Lane => (0..32).chain([32, 33, 63, 255, 0xffff_ffff]).collect(),
            Self::Clamp => vec![0x1f, 0, 0x1c1f, 0x181f, 0x1c00, 0x1e1f, 0x1000, 0x0f],
            Self::Index => (0..8).collect(),
            Self::Angle => [0.0f32, 1.0, 0.5, 1.5, 3.0, 3.25, 1e-3, 1e-10, 6.25, 100.0, 314.0]
                .iter()
                .flat_map(|angle| [angle.to_bits().into(), (-angle).to_bits().into()])
                .chain([0x3fc9_0fdb, 0x4049_0fdb, 0x40c9_0fdb, 0x3f49_0fdb, 0x4096_cbe4, 0x7fc0_0000, 0x7f80_0000])
                .chain([0xff80_0000, 1, 0x8000_0001, 0x007f_ffff, 0x0080_0000])
                .collect(),
            Self::Moderate => [1.0f32, 2.0, 3.0, 0.5, 10.0, 1e20, 1e-20]
                .iter()
                .flat_map(|x| [x.to_bits().into(), (-x).to_bits().into()])
                .collect(),
        }
    }

    /// A random value: any bits, or one of the values that its kind is prone to be treated wrongly with.
    pub fn random(self, rng: &mut Rng) -> u64 {
        let mask = u64::MAX >> (64 - self.bits());
        match self {
            Self::Pred | Self::Byte | Self::F8x2 => rng.bits() & mask,
            Self::Int16 => integer(16, rng),
            Self::Int32 => integer(32, rng),
            Self::Int64 => integer(64, rng),
            Self::F16 => float(F16, rng),
            Self::Bf16 => float(BF16, rng),
            Self::F32 => float(F32, rng),
            Self::F64 => float(F64, rng),
            Self::F16x2 => float(F16, rng) | float(F16, rng) << 16,
            Self::Bf16x2 => float(BF16, rng) | float(BF16, rng) << 16,
            Self::Int16x2 => integer(16, rng) | integer(16, rng) << 16,
            Self::Shift if rng.below(8) == 0 => rng.bits() & mask,
            Self::Shift => rng.below(70),
            Self::Lane if rng.below(8) == 0 => rng.bits() & mask,
            Self::Lane => rng.below(32),
            Self::Clamp if rng.below(4) == 0 => rng.bits() & mask,
            Self::Clamp => rng.bits() & 0x1f1f,
            Self::Index => rng.below(8),
            Self::Angle => {
                let range = [0.1, 1.0, 3.2, 6.3, 314.0][rng.below(5) as usize];
                let unit = (rng.bits() >> 40) as f32 / (1 << 23) as f32 - 1.0;
                (unit * range).to_bits().into()
            }
            Self::Moderate => {
                let exponent = 27 + rng.below(201);
                rng.bits() & 0x807f_ffff | exponent << 23
            }
        }
    }
}

/// Where integers of this width begin, end, and change sign, narrower ones included.
fn integers(bits: u32) -> Vec<u64> {
    let mask = u64::MAX >> (64 - bits);
    let mut values = vec![0, mask, 1, mask >> 1, mask ^ (mask >> 1), 2, mask - 1, (mask ^ (mask >> 1)) + 1, 3, 7, 10];
    for narrow in [8, 16, 24, 32, 48].into_iter().filter(|narrow| *narrow < bits) {
        let end = 1u64 << narrow;
        values.extend([end - 1, end, end / 2, end / 2 - 1, mask - end / 2, mask - end / 2 + 1]);
    }
    values
}

/// A random integer, of any length, positive or negative.
fn integer(bits: u32, rng: &mut Rng) -> u64 {
    let mask = u64::MAX >> (64 - bits);
    let value = (rng.bits() & mask) >> rng.below(u64::from(bits));
    if rng.below(2) == 0 { value } else { !value & mask }
}

/// Zeros, infinities, NaN of several kinds, and the ends of the subnormal and normal numbers, of both signs.
fn floats(format: Format) -> Vec<u64> {
    let Format { bits, mantissa } = format;
    let sign = 1 << (bits - 1);
    let unit = 1 << mantissa;
    let infinity = sign - unit;
    let one = (infinity >> 1) & !(unit - 1);
    let quiet = infinity | unit >> 1;
    let payload = unit >> 2 | 1;
    vec![
        0,
        infinity,
        quiet | payload | sign,
        infinity | 1,
        1,
        one,
        (unit - 1) | sign,
        infinity - 1,
        sign,
        infinity | sign,
        quiet,
        infinity | payload | sign,
        unit,
        1 | sign,
        one | sign,
        (infinity - 1) | sign,
        sign - 1,
        unit | sign,
        one - 1,
        one + 1,
        (unit - 1) & !3,
        ((one << 1) & infinity) | 1,
        infinity - 2 * unit,
        infinity - 2 * unit + 1,
        infinity - 2 * unit - 1,
        infinity - unit,
        infinity - unit + 1,
    ]
}

impl Kind {
    /// Two numbers whose product, or quotient, is near the smallest normal number; `None` of other kinds.
    pub fn nearly_tiny(self, rng: &mut Rng) -> Option<[u64; 2]> {
        let Format { bits, mantissa } = match self {
            Self::F16 => F16,
            Self::F32 => F32,
            Self::F64 => F64,
            _ => return None,
        };
        let bias = (1i64 << (bits - 2 - mantissa)) - 1;
        let least = 1 - bias;
        let mut near_power = |exponent: i64| {
            let (sign, step) = (rng.below(2) << (bits - 1), rng.below(12) as i64 - 6);
            let power = ((exponent + bias).max(1) as u64) << mantissa;
            sign | power.wrapping_add_signed(step)
        };
        let first = least / 2;
        let product = [near_power(first), near_power(least - first)];
        let quotient = [near_power(least), near_power(0)];
        Some(if rng.below(4) == 0 { quotient } else { product })
    }
}

/// A random number: any bits, or near 1, or with few digits, so that it lies halfway between shorter ones.
fn float(format: Format, rng: &mut Rng) -> u64 {
    let Format { bits, mantissa } = format;
    let mask = u64::MAX >> (64 - bits);
    let any = rng.bits() & mask;
    let bias = (1 << (bits - 2 - mantissa)) - 1u64;
    let largest = 2 * bias;
    let fraction_mask = (1u64 << mantissa) - 1;
    let near = |exponent: i64| (bias as i64 + exponent).clamp(0, largest as i64) as u64;
    let exponent = match rng.below(6) {
        0 => return any,
        1 | 2 => near(rng.below(9) as i64 - 4),
        3 => near(rng.below(70) as i64 - 2),
        4 => near(rng.below(60) as i64 - 30),
        _ => near(rng.below(300) as i64 - 150),
    };
    let cut = if rng.below(2) == 0 { 0 } else { rng.below(u64::from(mantissa) + 1) };
    let fraction = any & fraction_mask & !((1 << cut) - 1);
    any & 1 << (bits - 1) | exponent << mantissa | fraction
}
