//! Small integers as elements of a type.

use half::{bf16, f16};

/// Bits of an element.
pub fn bits(ty: &str) -> usize {
    match ty {
        "b1" => 1,
        "s4" | "u4" => 4,
        "s8" | "u8" | "e4m3" | "e5m2" => 8,
        "f16" | "bf16" => 16,
        "f64" => 64,
        _ => 32,
    }
}

/// A number of the type out of a random one: each is exact, and so are sums of a few hundred products.
pub fn small(ty: &str, random: u32) -> i64 {
    let random = i64::from(random);
    match ty {
        "b1" => random % 2,
        "s4" => random % 16 - 8,
        "u4" => random % 16,
        "s8" => random % 256 - 128,
        "u8" => random % 256,
        _ => random % 9 - 4,
    }
}

pub fn encode(ty: &str, value: i64) -> u64 {
    match ty {
        "f16" => f16::from_f64(value as f64).to_bits().into(),
        "bf16" => bf16::from_f64(value as f64).to_bits().into(),
        "f32" | "tf32" => (value as f32).to_bits().into(),
        "f64" => (value as f64).to_bits(),
        // The upper half of an f16.
        "e5m2" => u64::from(f16::from_f64(value as f64).to_bits() >> 8),
        // The exponent's bias is 8 less, and a bit of it moves to the significand.
        "e4m3" => {
            let scaled = f16::from_f64(value as f64 / 256.0).to_bits();
            u64::from(scaled >> 8 & 0x80 | scaled >> 7 & 0x7f)
        }
        _ => value as u64 & (u64::MAX >> (64 - bits(ty))),
    }
}

/// The number that C or D holds.
pub fn decode(ty: &str, bits: u64) -> f64 {
    match ty {
        "f16" => f16::from_bits(bits as u16).to_f64(),
        "f32" => f32::from_bits(bits as u32).into(),
        "f64" => f64::from_bits(bits),
        _ => f64::from(bits as u32 as i32),
    }
}
