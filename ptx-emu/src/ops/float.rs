//! Floating-point arithmetic of one lane, in single and double precision. PTX ISA, "Floating Point Instructions".

use rustc_apfloat::Float;
use rustc_apfloat::Round;
use rustc_apfloat::ieee::{Double, Single};

use super::round::{F32, add_to_odd, is_tiny};

/// The canonical NaN of single precision.
pub(crate) const NAN32: u32 = 0x7fff_ffff;
/// The NaN of double precision if no operand is NaN.
const NAN64: u64 = 0xfff8_0000_0000_0000;

/// The modifiers of single-precision arithmetic.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Modes {
    pub round: Round,
    pub ftz: bool,
    pub sat: bool,
}

/// `.ftz`: flushes subnormals to zero of the same sign.
#[inline(always)]
pub(crate) fn flush(x: f32) -> f32 {
    let bits = x.to_bits();
    f32::from_bits(if bits & 0x7f80_0000 == 0 { bits & 0x8000_0000 } else { bits })
}

/// `.sat`: clamps to [0, 1], NaN to 0.
#[inline(always)]
pub(crate) fn saturate(x: f32) -> f32 {
    if x > 0.0 { x.min(1.0) } else { 0.0 }
}

/// Canonicalises NaN.
#[inline(always)]
pub(crate) fn canonical(x: f32) -> f32 {
    if x.is_nan() { f32::from_bits(NAN32) } else { x }
}

/// The input of an instruction with or without `.ftz`.
#[inline(always)]
pub(crate) fn input<const FTZ: bool>(x: f32) -> f32 {
    if FTZ { flush(x) } else { x }
}

/// The result of an instruction with or without `.ftz` and `.sat`.
#[inline(always)]
pub(crate) fn output<const FTZ: bool, const SAT: bool>(x: f32) -> f32 {
    let x = canonical(x);
    let x = if FTZ { flush(x) } else { x };
    if SAT { saturate(x) } else { x }
}

/// Half an ulp below the smallest normal number: smaller values are not rounded up to it.
const TINY: f64 = f32::MIN_POSITIVE as f64 * (1.0 - 1.0 / (1 << 25) as f64);

/// `.ftz` of a product rounded to nearest, also given exactly. GPUs detect tininess before rounding to the minimum
/// exponent: a result of the smallest normal number is flushed if the exact value is below it.
#[inline(always)]
pub(crate) fn flush_product(rounded: f32, exact: f64) -> f32 {
    f32::from_bits(if exact.abs() < TINY { rounded.to_bits() & 0x8000_0000 } else { rounded.to_bits() })
}

/// As [`flush_product`], of a * b + c.
#[inline(always)]
pub(crate) fn flush_sum(rounded: f32, a: f32, b: f32, c: f32) -> f32 {
    let (product, c) = (f64::from(a) * f64::from(b), f64::from(c));
    let sum = product + c;
    let c_part = sum - product;
    let lost = (product - (sum - c_part)) + (c - c_part);
    let is_less = (sum.abs() < TINY) | (sum.abs() == TINY) & (lost * sum < 0.0);
    f32::from_bits(if is_less { rounded.to_bits() & 0x8000_0000 } else { rounded.to_bits() })
}

impl Modes {
    /// As [`input`].
    pub(crate) fn input(self, x: f32) -> f32 {
        if self.ftz { flush(x) } else { x }
    }

    /// As [`output`].
    pub(crate) fn output(self, x: f32) -> f32 {
        if self.sat { output::<false, true>(self.input(x)) } else { canonical(self.input(x)) }
    }

    fn single(self, x: f32) -> Single {
        Single::from_bits(self.input(x).to_bits().into())
    }

    fn result(self, x: Single) -> f32 {
        self.output(f32::from_bits(x.to_bits() as u32))
    }

    /// As [`Self::result`], where rounding may hide that the value is subnormal: see [`flush_product`].
    fn tiny_result(self, x: Single, exact: f64) -> f32 {
        let x = f32::from_bits(x.to_bits() as u32);
        self.output(if self.ftz && is_tiny(&F32, self.round, exact) { 0f32.copysign(x) } else { x })
    }

    fn double(self, x: f32) -> f64 {
        self.input(x).into()
    }

    /// a + b
    pub(crate) fn add(self, a: f32, b: f32) -> f32 {
        self.result(self.single(a).add_r(self.single(b), self.round).value)
    }

    /// a - b
    pub(crate) fn sub(self, a: f32, b: f32) -> f32 {
        self.result(self.single(a).sub_r(self.single(b), self.round).value)
    }

    /// a * b
    pub(crate) fn mul(self, a: f32, b: f32) -> f32 {
        self.tiny_result(self.single(a).mul_r(self.single(b), self.round).value, self.double(a) * self.double(b))
    }

    /// a * b + c, rounded once.
    pub(crate) fn fma(self, a: f32, b: f32, c: f32) -> f32 {
        let exact = add_to_odd(self.double(a) * self.double(b), self.double(c));
        self.tiny_result(self.single(a).mul_add_r(self.single(b), self.single(c), self.round).value, exact)
    }

    /// a / b
    pub(crate) fn div(self, a: f32, b: f32) -> f32 {
        // A quotient of singles is never so close to a midpoint that rounding to double first would matter.
        self.tiny_result(self.single(a).div_r(self.single(b), self.round).value, self.double(a) / self.double(b))
    }

    /// The square root.
    pub(crate) fn sqrt(self, a: f32) -> f32 {
        let a = self.input(a);
        let root = a.sqrt();
        // A root of 24 bits has an exact square in double precision.
        let excess = f64::from(root) * f64::from(root) - f64::from(a);
        self.output(directed(self.round, root, excess, f32::next_up, f32::next_down))
    }
}

/// A root rounded to nearest, adjusted by one ulp for the rounding mode; `excess` has the sign of root^2 - argument.
fn directed<T>(round: Round, root: T, excess: f64, up: fn(T) -> T, down: fn(T) -> T) -> T {
    match round {
        Round::TowardPositive if excess < 0.0 => up(root),
        Round::TowardNegative | Round::TowardZero if excess > 0.0 => down(root),
        _ => root,
    }
}

/// The NaN of double precision: that of an operand, made quiet. An H200 takes the second of two; of three, it prefers
/// the second, then the third, then the first.
#[inline(always)]
pub(crate) fn propagate<const N: usize>(operands: [f64; N]) -> f64 {
    let mut nan = f64::from_bits(NAN64);
    for x in operands {
        nan = if x.is_nan() { f64::from_bits(x.to_bits() | 1 << 51) } else { nan };
    }
    nan
}

/// The result of double precision, or its NaN.
#[inline(always)]
pub(crate) fn output64<const N: usize>(x: f64, operands: [f64; N]) -> f64 {
    if x.is_nan() { propagate(operands) } else { x }
}

fn double(x: f64) -> Double {
    Double::from_bits(x.to_bits().into())
}

fn from_double(x: Double) -> f64 {
    f64::from_bits(x.to_bits() as u64)
}

/// a + b
pub(crate) fn add64(round: Round, a: f64, b: f64) -> f64 {
    output64(from_double(double(a).add_r(double(b), round).value), [a, b])
}

/// a - b
pub(crate) fn sub64(round: Round, a: f64, b: f64) -> f64 {
    output64(from_double(double(a).sub_r(double(b), round).value), [a, b])
}

/// a * b
pub(crate) fn mul64(round: Round, a: f64, b: f64) -> f64 {
    output64(from_double(double(a).mul_r(double(b), round).value), [a, b])
}

/// a * b + c, rounded once.
pub(crate) fn fma64(round: Round, a: f64, b: f64, c: f64) -> f64 {
    output64(from_double(double(a).mul_add_r(double(b), double(c), round).value), [a, c, b])
}

/// a / b
pub(crate) fn div64(round: Round, a: f64, b: f64) -> f64 {
    output64(from_double(double(a).div_r(double(b), round).value), [b, a])
}

/// 1 / a
pub(crate) fn rcp64(round: Round, a: f64) -> f64 {
    div64(round, 1.0, a)
}

/// The square root.
pub(crate) fn sqrt64(round: Round, a: f64) -> f64 {
    // Scaled by a power of four, so that the remainder of a tiny argument does not underflow.
    let scaled = if a < f64::MIN_POSITIVE * 2f64.powi(200) { a * 2f64.powi(400) } else { a };
    let root = scaled.sqrt();
    let root = directed(round, root, root.mul_add(root, -scaled), f64::next_up, f64::next_down);
    output64(if scaled == a { root } else { root * 2f64.powi(-200) }, [a])
}

/// Minimum or maximum, -0 below +0; a number wins over NaN.
#[inline(always)]
pub(crate) fn min_max(a: f32, b: f32, is_min: bool) -> f32 {
    let chosen = if (order(a) < order(b)) == is_min { a } else { b };
    let number = if a.is_nan() { b } else { chosen };
    canonical(if b.is_nan() { a } else { number })
}

/// An integer ordered as the floating-point numbers are.
#[inline(always)]
fn order(x: f32) -> i32 {
    let bits = x.to_bits() as i32;
    bits ^ ((bits >> 31) as u32 >> 1) as i32
}

/// As [`min_max`].
#[inline(always)]
pub(crate) fn min_max64(a: f64, b: f64, is_min: bool) -> f64 {
    let order = |x: f64| x.to_bits() as i64 ^ ((x.to_bits() as i64 >> 63) as u64 >> 1) as i64;
    let chosen = if (order(a) < order(b)) == is_min { a } else { b };
    let number = if a.is_nan() { b } else { chosen };
    let number = if b.is_nan() { a } else { number };
    output64(number, [a, b])
}
