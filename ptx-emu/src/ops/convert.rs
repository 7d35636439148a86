//! Conversions of one lane between any two scalar types. PTX ISA, "cvt".

use rustc_apfloat::Round;

use super::round::{self, BF16, E4M3, E5M2, F16, F32, F64, Format, TF32};
use crate::types::Type;

/// The modifiers of a conversion.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Conversion {
    pub from: Type,
    pub to: Type,
    /// How the number is rounded to an integer, if it is.
    pub integral: Option<Round>,
    /// How the number is rounded to the result's format.
    pub round: Round,
    pub ftz: bool,
    pub sat: bool,
    pub relu: bool,
    /// `.satfinite`: the largest finite number instead of infinity.
    pub satfinite: bool,
}

/// A value between the two types.
#[derive(Debug, Clone, Copy)]
enum Value {
    Integer(i128),
    Float(f64),
}

/// The format of a floating-point type, which may be an element of a pair.
pub(crate) fn format(ty: Type) -> Option<&'static Format> {
    Some(match ty {
        Type::F16 | Type::F16x2 => &F16,
        Type::Bf16 | Type::Bf16x2 => &BF16,
        Type::Tf32 => &TF32,
        Type::F32 => &F32,
        Type::F64 => &F64,
        Type::E4m3 | Type::E4m3x2 => &E4M3,
        Type::E5m2 | Type::E5m2x2 => &E5M2,
        _ => return None,
    })
}

impl Conversion {
    /// Without modifiers.
    pub(crate) fn plain(to: Type, from: Type) -> Self {
        let round = Round::NearestTiesToEven;
        Self { from, to, integral: None, round, ftz: false, sat: false, relu: false, satfinite: false }
    }

    /// The result's bits; those of an integer are extended to 64 by its sign.
    pub(crate) fn apply(&self, bits: u64) -> u64 {
        if let Some(moved) = self.moved(bits) {
            return moved;
        }
        let value = match self.decode(bits) {
            Value::Float(x) if x.is_nan() => Value::Float(x),
            Value::Float(x) => match self.integral {
                Some(round) => Value::Float(round::integral(round, x)),
                None => Value::Float(x),
            },
            integer => integer,
        };
        match format(self.to) {
            Some(format) => self.float_bits(format, value),
            None => self.integer_bits(value),
        }
    }

    /// The result if the value is not decoded: bits that are moved, or NaN and infinities to tf32, which an H200
    /// truncates when it rounds ties away.
    fn moved(&self, bits: u64) -> Option<u64> {
        let plain = self.integral.is_none() && !self.ftz && !self.sat;
        match (self.to, self.from) {
            (Type::F32, Type::F32) if plain => Some(bits & 0xffff_ffff),
            (Type::F64, Type::F64) if plain => Some(bits),
            (Type::F32, Type::Bf16) if plain => Some((bits & 0xffff) << 16),
            (Type::Tf32, Type::F32)
                if self.round == Round::NearestTiesToAway && bits & F32.infinity == F32.infinity =>
            {
                let cut = bits & 0xffff_e000;
                Some(if self.satfinite { cut - 0x2000 } else { cut })
            }
            _ => None,
        }
    }

    /// The NaN result. From and to double precision, NaN keeps its sign and as much payload as fits; elsewhere it is
    /// canonical.
    fn nan_to_float(&self, format: &Format, x: f64) -> u64 {
        let quiet = x.to_bits() | 1 << 51;
        match (self.to, self.from) {
            (Type::F64, Type::F32) if self.ftz => 0x7fff_ffff_e000_0000,
            (Type::F64, _) => quiet,
            (_, Type::F64) => {
                let payload = (quiet & ((1 << 52) - 1)) >> (52 - format.mantissa);
                u64::from(x.is_sign_negative()) << (format.bits - 1) | format.infinity | payload
            }
            _ => format.nan,
        }
    }

    fn decode(&self, bits: u64) -> Value {
        let width = self.from.bits();
        let bits = bits & (u64::MAX >> (64 - width));
        match format(self.from) {
            // f16 subnormals are not f32 subnormals: `.ftz` does not apply to them.
            Some(format) if self.ftz && self.from == Type::F32 && self.to != Type::F16 && bits & 0x7f80_0000 == 0 => {
                Value::Float(round::to_f64(format, bits & 0x8000_0000))
            }
            Some(format) => Value::Float(round::to_f64(format, bits)),
            None if self.from.is_signed() => Value::Integer(i128::from((bits << (64 - width)) as i64 >> (64 - width))),
            None => Value::Integer(bits.into()),
        }
    }

    fn float_bits(&self, format: &Format, value: Value) -> u64 {
        let satfinite = Format { infinity: format.max, ..*format };
        let format = if self.satfinite { &satfinite } else { format };
        let bits = match value {
            Value::Integer(x) if self.sat => round::from_integer(format, self.round, x.clamp(0, 1)),
            Value::Integer(x) => round::from_integer(format, self.round, x),
            Value::Float(x) if self.sat => round::from_f64(format, self.round, if x > 0.0 { x.min(1.0) } else { 0.0 }),
            Value::Float(x) if x.is_nan() => self.nan_to_float(format, x),
            Value::Float(x) if self.relu && x <= 0.0 => 0,
            Value::Float(x) => round::from_f64(format, self.round, x),
        };
        match self.to {
            Type::F32 if self.ftz && bits & 0x7f80_0000 == 0 => bits & 0x8000_0000,
            // It lies in the upper bits of a single.
            Type::Tf32 => bits << 13,
            _ => bits,
        }
    }

    fn integer_bits(&self, value: Value) -> u64 {
        let width = self.to.bits();
        let (least, greatest) = if self.to.is_signed() {
            (-1i128 << (width - 1), (1i128 << (width - 1)) - 1)
        } else {
            (0, (1i128 << width) - 1)
        };
        match value {
            Value::Integer(x) if self.sat => x.clamp(least, greatest) as u64,
            Value::Integer(x) if self.to.is_signed() => ((x as u64) << (64 - width)) as i64 as u64,
            Value::Integer(x) => x as u64 & (u64::MAX >> (64 - width)),
            Value::Float(x) if x.is_nan() => self.nan_to_integer(),
            // The cast saturates.
            Value::Float(x) => (x as i128).clamp(least, greatest) as u64,
        }
    }

    /// NaN as an integer.
    fn nan_to_integer(&self) -> u64 {
        let least = 1 << (self.to.bits() - 1);
        match self.from == Type::F64 || self.to.bits() == 64 {
            true if self.to.is_signed() => u64::wrapping_neg(least),
            true => least,
            false => 0,
        }
    }
}
