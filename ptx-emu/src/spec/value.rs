//! Single values: from text to bits, and back.

use half::{bf16, f16};

use crate::types::Type;

/// The types that values and buffers have.
pub const TYPES: [Type; 16] = [
    Type::U8,
    Type::U16,
    Type::U32,
    Type::U64,
    Type::S8,
    Type::S16,
    Type::S32,
    Type::S64,
    Type::B8,
    Type::B16,
    Type::B32,
    Type::B64,
    Type::F16,
    Type::Bf16,
    Type::F32,
    Type::F64,
];

/// The type of that name, if values have it.
///
/// # Errors
/// One line that names those that there are.
pub fn type_of(name: &str) -> Result<Type, String> {
    let found = TYPES.into_iter().find(|ty| ty.name() == name);
    found.ok_or_else(|| format!("'{name}' is no type: give one of {}", TYPES.map(Type::name).join(", ")))
}

/// The bits of a value of that type.
///
/// # Errors
/// One line, where the type has no such value.
pub fn parse(ty: Type, text: &str) -> Result<u64, String> {
    let mask = mask(ty);
    let bits = match (unsigned_hex(text), ty.is_float()) {
        (Some(bits), _) if bits <= mask.into() => Some(bits as u64),
        (Some(_), true) => None,
        (_, false) => integer(text).filter(|value| in_range(ty, *value)).map(|value| value as u64 & mask),
        (None, true) => text.parse().ok().filter(|_| !text.is_empty()).and_then(|value| float(ty, value, text)),
    };
    bits.ok_or_else(|| format!("'{text}' is no value of type {}", ty.name()))
}

/// The bits of a number, rounded or wrapped to the type.
pub(super) fn from_index(ty: Type, index: u64) -> u64 {
    match ty {
        Type::F16 | Type::Bf16 | Type::F32 | Type::F64 => from_f64(ty, index as f64),
        _ => index & mask(ty),
    }
}

/// The bits of a floating-point number, rounded to the type; of an integer, the number without its fraction.
pub(super) fn from_f64(ty: Type, value: f64) -> u64 {
    match ty {
        Type::F16 => f16::from_f64(value).to_bits().into(),
        Type::Bf16 => bf16::from_f64(value).to_bits().into(),
        Type::F32 => (value as f32).to_bits().into(),
        Type::F64 => value.to_bits(),
        _ => value as u64 & mask(ty),
    }
}

/// A value as text: the shortest that parses to the same bits; `.b` types in hexadecimal.
pub fn format(ty: Type, bits: u64) -> String {
    let signed = |bits: u64| (bits << (64 - ty.bits())) as i64 >> (64 - ty.bits());
    match ty {
        Type::F16 => format!("{:?}", f16::from_bits(bits as u16)),
        Type::Bf16 => format!("{:?}", bf16::from_bits(bits as u16)),
        Type::F32 => format!("{:?}", f32::from_bits(bits as u32)),
        Type::F64 => format!("{:?}", f64::from_bits(bits)),
        _ if ty.is_signed() => signed(bits).to_string(),
        _ if ty.is_bits() => format!("{bits:#0width$x}", width = 2 + ty.bytes() as usize * 2),
        _ => bits.to_string(),
    }
}

/// The bits that the type has.
pub(super) fn mask(ty: Type) -> u64 {
    u64::MAX >> (64 - ty.bits())
}

/// `0x...` with no sign.
fn unsigned_hex(text: &str) -> Option<u128> {
    let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"))?;
    digits.bytes().all(|byte| byte.is_ascii_hexdigit()).then(|| u128::from_str_radix(digits, 16).ok())?
}

/// A decimal number, or a hexadecimal one, with or without a sign.
fn integer(text: &str) -> Option<i128> {
    let (is_negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    let is_decimal = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let value = if is_decimal { digits.parse().ok()? } else { i128::try_from(unsigned_hex(digits)?).ok()? };
    Some(if is_negative { -value } else { value })
}

/// Whether the type has the value; bits may be meant with a sign or without.
fn in_range(ty: Type, value: i128) -> bool {
    let limit = 1i128 << ty.bits();
    let low = if ty.is_signed() || ty.is_bits() { -limit / 2 } else { 0 };
    let high = if ty.is_signed() { limit / 2 } else { limit };
    (low..high).contains(&value)
}

/// The number's bits, unless it is too large for the type and did not say that it is infinite.
fn float(ty: Type, value: f64, text: &str) -> Option<u64> {
    let bits = from_f64(ty, value);
    let infinite = match ty {
        Type::F16 => f16::from_bits(bits as u16).is_infinite(),
        Type::Bf16 => bf16::from_bits(bits as u16).is_infinite(),
        Type::F32 => f32::from_bits(bits as u32).is_infinite(),
        _ => value.is_infinite(),
    };
    let said = text.trim_start_matches(['-', '+']).to_ascii_lowercase().starts_with("inf");
    (!infinite || said).then_some(bits)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn values_become_bits() {
        for (ty, text, bits) in [
            (Type::U32, "5", 5),
            (Type::U8, "255", 255),
            (Type::U64, "18446744073709551615", u64::MAX),
            (Type::U32, "0xFFFFFFFF", 0xffff_ffff),
            (Type::S32, "-1", 0xffff_ffff),
            (Type::S32, "0xffffffff", 0xffff_ffff),
            (Type::S64, "-9223372036854775808", 1 << 63),
            (Type::S8, "-0x80", 0x80),
            (Type::B16, "-1", 0xffff),
            (Type::B16, "65535", 0xffff),
            (Type::F32, "0.5", 0x3f00_0000),
            (Type::F32, "0x3f800000", 0x3f80_0000),
            (Type::F32, "-inf", 0xff80_0000),
            (Type::F64, "-2.5e0", (-2.5f64).to_bits()),
            (Type::F16, "1", 0x3c00),
            (Type::Bf16, "1", 0x3f80),
        ] {
            assert_eq!(parse(ty, text), Ok(bits), "{ty} {text}");
        }
        assert!(f32::from_bits(parse(Type::F32, "nan").unwrap() as u32).is_nan());
        assert!(f16::from_bits(parse(Type::F16, "NaN").unwrap() as u16).is_nan());
    }

    #[test]
    fn what_a_type_does_not_have_is_refused() {
        for (ty, text) in [
            (Type::U8, "256"),
            (Type::U32, "-1"),
            (Type::U32, "1.5"),
            (Type::U32, ""),
            (Type::U32, "+"),
            (Type::U32, "0x"),
            (Type::U32, "0x100000000"),
            (Type::U32, "0x+1"),
            (Type::S8, "128"),
            (Type::S8, "0x100"),
            (Type::B8, "-129"),
            (Type::F32, ""),
            (Type::F32, "1e39"),
            (Type::F64, "1e999"),
            (Type::F16, "65536"),
            (Type::F16, "0x10000"),
            (Type::F32, "one"),
            (Type::U64, "340282366920938463463374607431768211456"),
            (Type::S64, "--1"),
        ] {
            let error = parse(ty, text).unwrap_err();
            assert_eq!(error, format!("'{text}' is no value of type {}", ty.name()));
        }
        assert!(type_of("u128").unwrap_err().contains("'u128' is no type: give one of u8, u16"));
    }

    #[test]
    fn values_are_shown_as_they_are_typed() {
        assert_eq!(format(Type::S16, 0xfffe), "-2");
        assert_eq!(format(Type::B32, 10), "0x0000000a");
        assert_eq!(format(Type::F32, 0x3dcc_cccd), "0.1");
        assert_eq!(format(Type::F16, 0x3c00), "1.0");
        assert_eq!(format(Type::U64, u64::MAX), "18446744073709551615");
    }

    proptest! {
        #[test]
        fn any_text_is_a_value_or_an_error(ty in prop::sample::select(&TYPES[..]), text in ".{0,24}|-?(0x)?[0-9a-f.e]{0,24}") {
            if let Ok(bits) = parse(ty, &text) {
                prop_assert_eq!(bits & !mask(ty), 0);
            }
        }

        #[test]
        fn what_is_shown_gives_the_same_bits(ty in prop::sample::select(&TYPES[..]), bits: u64) {
            let text = format(ty, bits & mask(ty));
            prop_assume!(!text.contains("NaN"));
            prop_assert_eq!(parse(ty, &text), Ok(bits & mask(ty)));
        }
    }
}
