//! The approximations of single precision, and the two of double. PTX ISA, "Floating Point Instructions".
//!
//! Each is computed in double precision and rounded to nearest: nearer to the truth than the error that the PTX ISA
//! allows, but not always what a GPU gives. Inputs that the ISA's tables list have the results that stand there.

/// 1 / x
pub(crate) fn rcp(x: f32) -> f32 {
    (1.0 / f64::from(x)) as f32
}

/// The square root.
pub(crate) fn sqrt(x: f32) -> f32 {
    f64::from(x).sqrt() as f32
}

/// 1 / sqrt(x); of a zero, the infinity of its sign.
pub(crate) fn rsqrt(x: f32) -> f32 {
    (1.0 / f64::from(x).sqrt()) as f32
}

/// 2^x
pub(crate) fn ex2(x: f32) -> f32 {
    f64::from(x).exp2() as f32
}

/// The binary logarithm; of both zeros, negative infinity.
pub(crate) fn lg2(x: f32) -> f32 {
    f64::from(x).log2() as f32
}

/// The sine; of an infinity, NaN.
pub(crate) fn sin(x: f32) -> f32 {
    f64::from(x).sin() as f32
}

/// The cosine; of an infinity, NaN.
pub(crate) fn cos(x: f32) -> f32 {
    f64::from(x).cos() as f32
}

/// The hyperbolic tangent.
pub(crate) fn tanh(x: f32) -> f32 {
    f64::from(x).tanh() as f32
}

/// `div.full`: a / b
pub(crate) fn div_full(a: f32, b: f32) -> f32 {
    a / b
}

/// `div.approx`: a times the reciprocal of b, which is lost where b is very large.
pub(crate) fn div(a: f32, b: f32) -> f32 {
    let lost = b.abs() > 2f32.powi(126) && b.is_finite();
    if lost { a * 0f32.copysign(b) } else { a / b }
}

/// A double's upper half, as a double.
fn upper(x: f64) -> f64 {
    f64::from_bits(x.to_bits() & !0xffff_ffff)
}

/// The lower half left out, subnormal numbers as zeros, NaN as the one that these instructions give.
fn gross(x: f64, f: fn(f64) -> f64) -> f64 {
    let flush = |x: f64| if x.is_subnormal() { 0f64.copysign(x) } else { x };
    let result = flush(upper(f(upper(flush(x)))));
    if result.is_nan() { f64::from_bits(0x7fff_ffff_0000_0000) } else { result }
}

/// `rcp.approx.ftz.f64`, which knows only the upper half of a double.
pub(crate) fn rcp64(x: f64) -> f64 {
    gross(x, |x| 1.0 / x)
}

/// `rsqrt.approx.ftz.f64`, which knows only the upper half of a double.
pub(crate) fn rsqrt64_ftz(x: f64) -> f64 {
    gross(x, |x| 1.0 / x.sqrt())
}

/// `rsqrt.approx.f64`
pub(crate) fn rsqrt64(x: f64) -> f64 {
    1.0 / x.sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tables of the PTX ISA: -inf, -0, +0, +inf.
    #[test]
    fn special_inputs() {
        let inf = f32::INFINITY;
        let table = |f: fn(f32) -> f32| [-inf, -0.0, 0.0, inf].map(|x| f(x).to_bits());
        let bits = |values: [f32; 4]| values.map(f32::to_bits);
        assert_eq!(table(rcp), bits([-0.0, -inf, inf, 0.0]));
        assert_eq!(table(sqrt)[1..], bits([0.0, -0.0, 0.0, inf])[1..]);
        assert_eq!(table(rsqrt)[1..], bits([0.0, -inf, inf, 0.0])[1..]);
        assert_eq!(table(ex2), bits([0.0, 1.0, 1.0, inf]));
        assert_eq!(table(lg2)[1..], bits([0.0, -inf, -inf, inf])[1..]);
        assert_eq!(table(sin)[1..3], bits([0.0, -0.0, 0.0, 0.0])[1..3]);
        assert_eq!(table(cos)[1..3], bits([0.0, 1.0, 1.0, 0.0])[1..3]);
        assert_eq!(table(tanh), bits([-1.0, -0.0, 0.0, 1.0]));
        assert!(sqrt(-inf).is_nan() && rsqrt(-1.0).is_nan() && lg2(-1.0).is_nan() && sin(inf).is_nan());
        assert_eq!(div(1.0, 2f32.powi(127)), 0.0);
        assert!(div(inf, 2f32.powi(127)).is_nan());
        assert_eq!(rcp64(3.0).to_bits() as u32, 0);
        assert_eq!(rcp64(f64::from_bits(1)), f64::INFINITY);
    }
}
