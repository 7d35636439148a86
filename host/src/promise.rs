//! What `--precision` promises of the arithmetic, and so which kernels may be chosen.

use gpu_kernels::{Precision, Step};

use crate::baseline::class;

/// An arithmetic, or one that is as accurate.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Promise {
    /// Single precision, on the CUDA cores.
    #[default]
    Fp32Strict,
    /// Errors no larger than SGEMM's: also several products of smaller parts, on the tensor cores.
    Fp32,
    /// TF32, on matrices of f32.
    Tf32,
    /// Matrices of f16, sums of f32.
    F16,
    /// Matrices of bf16, sums of f32.
    Bf16,
}

impl Promise {
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
        Self::ALL.into_iter().find(|promise| promise.name() == name)
    }

    /// What keeps it, the fastest first.
    #[must_use]
    pub const fn precisions(self) -> &'static [Precision] {
        match self {
            Self::Fp32Strict => &[Precision::Fp32],
            // The tensor cores multiply 16-bit numbers twice as fast as TF32.
            Self::Fp32 => &[Precision::Fp16x3, Precision::Tf32x3, Precision::Fp32],
            Self::Tf32 => &[Precision::Tf32],
            Self::F16 => &[Precision::F16],
            Self::Bf16 => &[Precision::Bf16],
        }
    }

    /// Whether a kernel of that arithmetic keeps it.
    #[must_use]
    pub fn allows(self, precision: Precision) -> bool {
        self.precisions().contains(&precision)
    }

    /// Whether a step keeps it, with C made of what A and B are made of.
    #[must_use]
    pub fn keeps(self, step: &Step) -> bool {
        self.allows(step.precision) && step.output == step.precision.input()
    }

    /// The one that kernels of an arithmetic keep.
    #[must_use]
    pub fn of(precision: Precision) -> Self {
        match class(precision) {
            Precision::Tf32 => Self::Tf32,
            Precision::F16 => Self::F16,
            Precision::Bf16 => Self::Bf16,
            _ => Self::Fp32,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_arithmetic_keeps_its_promise() {
        use Precision::{Bf16, F16, Fp16x3, Fp32, Tf32, Tf32x3};
        for precision in [Fp32, Tf32, Fp16x3, Tf32x3, F16, Bf16] {
            assert!(Promise::of(precision).allows(precision));
            let keeps = Promise::ALL.into_iter().filter(|promise| promise.allows(precision)).count();
            assert_eq!(keeps, if precision == Fp32 { 2 } else { 1 }, "{}", precision.name());
        }
        assert!(!Promise::default().allows(Fp16x3) && !Promise::Fp32.allows(Tf32));
    }

    #[test]
    fn names_are_found() {
        for promise in Promise::ALL {
            assert_eq!(Promise::find(promise.name()), Some(promise));
        }
        assert_eq!(Promise::find("fp64"), None);
    }
}
