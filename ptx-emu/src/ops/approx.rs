//! Approximations in single precision, and two in double precision. PTX ISA, "Floating Point Instructions".
//!
//! Bit-exact for the Hopper generation: [`mufu`] models the special function unit, the functions here the instructions
//! that ptxas adds around it. Compared with an H200 for all 2^32 arguments in single precision, all 2^16 in half
//! precision, and at least 2^29 random ones in division and double precision.

mod mufu;
mod tables;
#[cfg(test)]
mod tests;

use super::half::Half;

/// 2^24, by which instructions without `.ftz` scale subnormal arguments, which the unit flushes.
const LIFT: f32 = 16_777_216.0;
/// 2^126: reciprocals of larger numbers are subnormal.
const LARGE: f32 = f32::from_bits(0x7e80_0000);

fn is_small(x: f32) -> bool {
    x.abs() < f32::MIN_POSITIVE
}

/// 1 / x
pub(crate) fn rcp(x: f32, ftz: bool) -> f32 {
    let scale = match x.abs() {
        _ if ftz => 1.0,
        size if size > LARGE => 0.25,
        size if size < f32::MIN_POSITIVE => LIFT,
        _ => 1.0,
    };
    mufu::rcp(x * scale) * scale
}

/// The square root.
pub(crate) fn sqrt(x: f32, ftz: bool) -> f32 {
    if !ftz && is_small(x) { mufu::sqrt(x * LIFT) / 4096.0 } else { mufu::sqrt(x) }
}

/// 1 / sqrt(x); of a zero, the infinity of its sign.
pub(crate) fn rsqrt(x: f32, ftz: bool) -> f32 {
    if !ftz && is_small(x) { mufu::rsqrt(x * LIFT) * 4096.0 } else { mufu::rsqrt(x) }
}

/// 2^x
pub(crate) fn ex2(x: f32, ftz: bool) -> f32 {
    if !ftz && x < -126.0 {
        let root = mufu::ex2(x * 0.5);
        return root * root;
    }
    mufu::ex2(x)
}

/// The binary logarithm; of both zeros, negative infinity.
pub(crate) fn lg2(x: f32, ftz: bool) -> f32 {
    if !ftz && is_small(x) { mufu::lg2(x * LIFT) - 24.0 } else { mufu::lg2(x) }
}

/// The sine; of an infinity, NaN.
pub(crate) fn sin(x: f32, _ftz: bool) -> f32 {
    mufu::sin(turns(x))
}

/// The cosine; of an infinity, NaN.
pub(crate) fn cos(x: f32, _ftz: bool) -> f32 {
    mufu::cos(turns(x))
}

/// x / 2π in single precision, rounded toward zero. Subnormal results have excess bits; the unit flushes them anyway.
fn turns(x: f32) -> f32 {
    let product = f64::from(x) * f64::from(0.159_154_94_f32);
    f64::from_bits(product.to_bits() & !0x1fff_ffff) as f32
}

/// The hyperbolic tangent.
pub(crate) fn tanh(x: f32, _ftz: bool) -> f32 {
    mufu::tanh(x)
}

/// `div.full`: a / b
pub(crate) fn div_full(a: f32, b: f32, ftz: bool) -> f32 {
    if b.abs() > LARGE { mufu::rcp(b * 0.25) * (a * 0.25) } else { div(a, b, ftz) }
}

/// `div.approx`: a * (1 / b); the reciprocal is flushed if b is very large.
pub(crate) fn div(a: f32, b: f32, ftz: bool) -> f32 {
    if !ftz && is_small(b) { mufu::rcp(b * LIFT) * (a * LIFT) } else { mufu::rcp(b) * a }
}

/// [`ex2`] or [`tanh`] in half precision: the single-precision result, truncated.
pub(crate) fn half(f: fn(f32, bool) -> f32, half: Half, x: u16) -> u16 {
    half.truncate(f(half.input(x) as f32, true).into())
}

/// `rcp.approx.ftz.f64`, which uses and returns the upper word of a double.
pub(crate) fn rcp64(x: f64) -> f64 {
    upper(x, mufu::rcp64h)
}

/// `rsqrt.approx.ftz.f64`, which uses and returns the upper word of a double.
pub(crate) fn rsqrt64_ftz(x: f64) -> f64 {
    upper(x, mufu::rsqrt64h)
}

/// A function of a double's upper word, the lower word zero.
fn upper(x: f64, f: fn(u32) -> u32) -> f64 {
    f64::from_bits(u64::from(f((x.to_bits() >> 32) as u32)) << 32)
}

/// `rsqrt.approx.f64`: the unit's result, refined.
pub(crate) fn rsqrt64(x: f64) -> f64 {
    let refined = |x: f64| {
        let guess = rsqrt64_ftz(x);
        let error = x.mul_add(-(guess * guess), 1.0);
        error.mul_add(0.375, 0.5).mul_add(guess * error, guess)
    };
    match x {
        x if x == 0.0 => f64::INFINITY.copysign(x),
        f64::INFINITY => 0.0,
        x if x < f64::MIN_POSITIVE => refined(x * 2f64.powi(54)) * 2f64.powi(27),
        x => refined(x),
    }
}
