//! Arithmetic of one lane in half precision, `f16` and `bf16`. PTX ISA, "Half Precision Floating Point Instructions".

use rustc_apfloat::Round;

use super::round::{self, Format, add_to_odd, is_tiny};

/// A format of 16 bits and the modifiers of its arithmetic.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Half {
    pub format: &'static Format,
    pub ftz: bool,
    pub sat: bool,
    pub relu: bool,
}

impl Half {
    /// The number, which double precision holds exactly.
    pub(crate) fn input(&self, bits: u16) -> f64 {
        round::to_f64(self.format, self.flush(bits).into())
    }

    /// The value, rounded to nearest even, with the modifiers applied.
    pub(crate) fn output(&self, x: f64) -> u16 {
        let nearest = Round::NearestTiesToEven;
        let x = if self.ftz && is_tiny(self.format, nearest, x) { 0f64.copysign(x) } else { x };
        let x = match x {
            x if self.sat && x > 0.0 => x.min(1.0),
            _ if self.sat => 0.0,
            x if self.relu && x <= 0.0 => 0.0,
            x => x,
        };
        round::from_f64(self.format, nearest, x) as u16
    }

    /// The value, rounded toward zero; infinity from the first power of two above the format's range.
    pub(crate) fn truncate(&self, x: f64) -> u16 {
        let limit = 2f64.powi(2 - self.format.min_exponent);
        let x = if x.abs() >= limit { f64::INFINITY.copysign(x) } else { x };
        self.flush(round::from_f64(self.format, Round::TowardZero, x) as u16)
    }

    fn flush(&self, bits: u16) -> u16 {
        let subnormal = u64::from(bits & 0x7fff) < 1 << self.format.mantissa;
        if self.ftz && subnormal { bits & 0x8000 } else { bits }
    }

    /// a * b + c, rounded once.
    pub(crate) fn fma(&self, a: u16, b: u16, c: u16) -> u16 {
        // The significands have at most 11 bits: their product is exact.
        self.output(add_to_odd(self.input(a) * self.input(b), self.input(c)))
    }

    /// a + b
    pub(crate) fn add(&self, a: u16, b: u16) -> u16 {
        self.output(add_to_odd(self.input(a), self.input(b)))
    }

    /// a - b
    pub(crate) fn sub(&self, a: u16, b: u16) -> u16 {
        self.output(add_to_odd(self.input(a), -self.input(b)))
    }

    /// a * b
    pub(crate) fn mul(&self, a: u16, b: u16) -> u16 {
        self.output(self.input(a) * self.input(b))
    }
}

/// The function in both halves.
#[inline(always)]
pub(crate) fn both(f: impl Fn(u16) -> u16, a: u32) -> u32 {
    u32::from(f(a as u16)) | u32::from(f((a >> 16) as u16)) << 16
}

/// The function in both halves.
#[inline(always)]
pub(crate) fn both2(f: impl Fn(u16, u16) -> u16, a: u32, b: u32) -> u32 {
    u32::from(f(a as u16, b as u16)) | u32::from(f((a >> 16) as u16, (b >> 16) as u16)) << 16
}

/// The function in both halves.
#[inline(always)]
pub(crate) fn both3(f: impl Fn(u16, u16, u16) -> u16, a: u32, b: u32, c: u32) -> u32 {
    let high = f((a >> 16) as u16, (b >> 16) as u16, (c >> 16) as u16);
    u32::from(f(a as u16, b as u16, c as u16)) | u32::from(high) << 16
}

#[cfg(test)]
mod tests {
    use rustc_apfloat::Float;
    use rustc_apfloat::ieee;

    use super::*;
    use crate::ops::round::{BF16, F16};

    fn numbers() -> impl Iterator<Item = u16> {
        let mut state = 1u32;
        std::iter::repeat_with(move || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 16) as u16
        })
    }

    /// Every operation against the soft-float crate, on numbers of near and far exponents.
    fn matches_apfloat<F: Float>(format: &'static Format) {
        let half = Half { format, ftz: false, sat: false, relu: false };
        let soft = |bits: u16| F::from_bits(bits.into());
        let check = |name: &str, operands: &[u16], ours: u16, theirs: F| {
            let theirs = if theirs.is_nan() { 0x7fff } else { theirs.to_bits() as u16 };
            assert_eq!(ours, theirs, "{name} {operands:04x?}");
        };
        let mut random = numbers();
        for _ in 0..300_000 {
            let [a, b, c] = std::array::from_fn(|_| random.next().unwrap_or_default());
            let product = half.mul(a, b) & 0x7fff;
            for c in [c, product ^ 0x8000 ^ (c & 0x8001), c & 0x8003] {
                check("fma", &[a, b, c], half.fma(a, b, c), soft(a).mul_add(soft(b), soft(c)).value);
            }
            check("add", &[a, b], half.add(a, b), (soft(a) + soft(b)).value);
            check("sub", &[a, b], half.sub(a, b), (soft(a) - soft(b)).value);
            check("mul", &[a, b], half.mul(a, b), (soft(a) * soft(b)).value);
        }
    }

    #[test]
    fn f16_is_rounded_once() {
        matches_apfloat::<ieee::Half>(&F16);
    }

    #[test]
    fn bf16_is_rounded_once() {
        matches_apfloat::<ieee::BFloat>(&BF16);
    }

    #[test]
    fn modifiers() {
        let half = Half { format: &F16, ftz: true, sat: false, relu: true };
        assert_eq!(half.add(0x0001, 0x0001), 0);
        assert_eq!(half.add(0xc000, 0x0001), 0);
        assert_eq!(half.add(0x7e00, 0), 0x7fff);
        let half = Half { format: &F16, ftz: false, sat: true, relu: false };
        assert_eq!(half.add(0x7e00, 0), 0);
        assert_eq!(half.add(0x4000, 0), 0x3c00);
    }
}
