//! Kinds of numbers, and the modules that kernels are in.

/// What a matrix is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Element {
    /// IEEE single precision.
    F32,
    /// IEEE half precision: a significand of 11 bits, an exponent of 5.
    F16,
    /// bfloat16: a significand of 8 bits, and the exponents of single precision.
    Bf16,
}

impl Element {
    /// Its size.
    #[must_use]
    pub const fn bytes(self) -> u32 {
        match self {
            Self::F32 => 4,
            Self::F16 | Self::Bf16 => 2,
        }
    }

    /// Its name in Rust.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::F16 => "f16",
            Self::Bf16 => "bf16",
        }
    }
}

/// The arithmetic of a kernel, as the tables name it. Accumulators are f32 in all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Precision {
    /// IEEE single precision: operands, products and accumulators.
    Fp32,
    /// f32 operands, truncated by the tensor cores to TF32: a significand of 11 bits.
    Tf32,
    /// Hi/lo split into scaled f16, three MMAs, two-level summation in f32: as accurate as [`Self::Fp32`] except on short sums
    /// and rows of widely different magnitudes.
    Fp16x3,
    /// Hi/lo split into TF32, which needs no scaling; otherwise as [`Self::Fp16x3`].
    Tf32x3,
    /// f16 operands.
    F16,
    /// bf16 operands.
    Bf16,
}

impl Precision {
    /// The name in tables and JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fp32 => "fp32",
            Self::Tf32 => "tf32",
            Self::Fp16x3 => "fp16x3",
            Self::Tf32x3 => "tf32x3",
            Self::F16 => "f16",
            Self::Bf16 => "bf16",
        }
    }

    /// What A and B are made of.
    #[must_use]
    pub const fn input(self) -> Element {
        match self {
            Self::Fp32 | Self::Tf32 | Self::Fp16x3 | Self::Tf32x3 => Element::F32,
            Self::F16 => Element::F16,
            Self::Bf16 => Element::Bf16,
        }
    }
}

/// A PTX target. There is one module of kernels for each target that a step names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// The baseline: compute capability 8.0 and later.
    Sm80,
    /// Hopper's own instructions: compute capability 9.0 and no other.
    Sm90a,
    /// Blackwell's packed arithmetic: compute capability 10.0 and later.
    Sm100,
}

impl Target {
    /// Every target, the baseline first.
    pub const ALL: [Self; 3] = [Self::Sm80, Self::Sm90a, Self::Sm100];

    /// The name that PTX and the compiler use, such as `sm_80`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sm80 => "sm_80",
            Self::Sm90a => "sm_90a",
            Self::Sm100 => "sm_100",
        }
    }

    /// Whether a device of compute capability `major`.`minor` runs this target's module.
    #[must_use]
    pub const fn runs_on(self, major: u32, minor: u32) -> bool {
        match self {
            Self::Sm80 => major >= 8,
            Self::Sm90a => major == 9 && minor == 0,
            Self::Sm100 => major >= 10,
        }
    }

    /// The devices that run it, for messages.
    #[must_use]
    pub const fn devices(self) -> &'static str {
        match self {
            Self::Sm80 => "compute capability 8.0 or later",
            Self::Sm90a => "compute capability 9.0 (Hopper)",
            Self::Sm100 => "compute capability 10.0 or later (Blackwell)",
        }
    }
}
