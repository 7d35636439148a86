//! How accurate a product is to be: what each class guarantees, and which arithmetic meets it.

use gpu_kernels::{Element, Precision, Step};

/// The longest k for which a split into TF32 meets [`AccuracyClass::Fp32`]. Its k-tiles are 16 long: sums of one more have a larger bound than
/// the class guarantees.
pub const LONGEST_TF32_SPLIT_K: usize = 2_003_112 * 16;

/// A guarantee on the arithmetic of a product. Sums are f32 in all of them, and u is the unit roundoff of f32, 2^-24.
///
/// | class | products | guarantee |
/// | --- | --- | --- |
/// | `fp32-strict` | f32, on the CUDA cores | IEEE: each element within k u (\|A\|\|B\|), SGEMM's own a-priori bound |
/// | `fp32` | three MMAs of a hi/lo split, or f32 | each element within c(k) u (\|A\|\|B\|), c(k) at most k + 2: see below |
/// | `tf32` | TF32, or f32 | operands keep a significand of 11 bits at least |
/// | `f16` | f16 | operands are f16 already; C is f16, rounded once, or f32 |
/// | `bf16` | bf16 | operands are bf16 already; C is bf16, rounded once, or f32 |
///
/// [`Self::Fp32`] guarantees for every input, for alpha and beta and for kernels chosen by name
///
/// |C - C'| <= u (c(k) |alpha| |A||B| + 3 |beta C|) + (|alpha| k + 2) 2^-149, c(k) <= min(k + 2, 40 + 3 sqrt(k / 32)) on the tensor cores.
///
/// Elements for which that is not certain from the magnitudes of their row of A and column of B are computed in another way, on the device.
/// So are those whose partial sums may overflow. Of a product that is cut along k, over ranks or for lack of memory, it holds for each
/// piece.
/// That is SGEMM's kind of bound, which does not make it as near for every input: where A is the identity, SGEMM copies B to the bit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum AccuracyClass {
    /// Single precision, on the CUDA cores.
    #[default]
    Fp32Strict,
    /// Single precision, or a hi/lo split of f32 on the tensor cores, whose errors for long dense sums are no larger.
    Fp32,
    /// TF32 on matrices of f32, or better.
    Tf32,
    /// Matrices of f16, sums of f32.
    F16,
    /// Matrices of bf16, sums of f32.
    Bf16,
}

impl AccuracyClass {
    /// Every one, the default first.
    pub const ALL: [Self; 5] = [Self::Fp32Strict, Self::Fp32, Self::Tf32, Self::F16, Self::Bf16];

    /// The name on the command line and in tables of what is fastest.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fp32Strict => "fp32-strict",
            Self::Fp32 => "fp32",
            Self::Tf32 => "tf32",
            Self::F16 => "f16",
            Self::Bf16 => "bf16",
        }
    }

    /// The one of that name.
    #[must_use]
    pub fn find(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|class| class.name() == name)
    }

    /// The arithmetics that it admits, the fastest first.
    #[must_use]
    pub const fn precisions(self) -> &'static [Precision] {
        match self {
            Self::Fp32Strict => &[Precision::Fp32],
            // The tensor cores multiply 16-bit numbers twice as fast as TF32.
            Self::Fp32 => &[Precision::Fp16x3, Precision::Tf32x3, Precision::Fp32],
            // More accurate, and faster where a problem is small.
            Self::Tf32 => &[Precision::Tf32, Precision::Fp32],
            Self::F16 => &[Precision::F16],
            Self::Bf16 => &[Precision::Bf16],
        }
    }

    /// What A and B are made of.
    #[must_use]
    pub const fn input(self) -> Element {
        self.precisions()[0].input()
    }

    /// The strictest class of operands of that type.
    #[must_use]
    pub const fn default_of(element: Element) -> Self {
        match element {
            Element::F32 => Self::Fp32Strict,
            Element::F16 => Self::F16,
            Element::Bf16 => Self::Bf16,
        }
    }

    /// Whether a kernel of that arithmetic meets it.
    #[must_use]
    pub fn admits(self, precision: Precision) -> bool {
        self.precisions().contains(&precision)
    }

    /// Whether a step meets it, with C made of what A and B are made of.
    #[must_use]
    pub fn meets(self, step: &Step) -> bool {
        self.admits(step.precision) && step.output == step.precision.input()
    }

    /// The widest class that kernels of an arithmetic meet.
    #[must_use]
    pub const fn of(precision: Precision) -> Self {
        match precision {
            Precision::Fp32 | Precision::Fp16x3 | Precision::Tf32x3 => Self::Fp32,
            Precision::Tf32 => Self::Tf32,
            Precision::F16 => Self::F16,
            Precision::Bf16 => Self::Bf16,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_arithmetic_meets_its_class() {
        use Precision::{Bf16, F16, Fp16x3, Fp32, Tf32, Tf32x3};
        for precision in [Fp32, Tf32, Fp16x3, Tf32x3, F16, Bf16] {
            assert!(AccuracyClass::of(precision).admits(precision));
            let classes = AccuracyClass::ALL.into_iter().filter(|class| class.admits(precision)).count();
            assert_eq!(classes, if precision == Fp32 { 3 } else { 1 }, "{}", precision.name());
        }
        assert!(!AccuracyClass::default().admits(Fp16x3) && !AccuracyClass::Fp32.admits(Tf32));
    }

    #[test]
    fn names_are_found() {
        for class in AccuracyClass::ALL {
            assert_eq!(AccuracyClass::find(class.name()), Some(class));
        }
        assert_eq!(AccuracyClass::find("fp64"), None);
    }
}
