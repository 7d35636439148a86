//! GPU architectures.

use std::fmt;
use std::str::FromStr;

/// A virtual architecture to compile for, by Rust CUDA's names. A module runs on devices of that compute capability and
/// later ones; one for an `a` target runs on exactly that one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NvvmArch {
    /// Compute capability 8.0 (A100): the baseline.
    Compute80,
    /// Compute capability 9.0 (H100, H200) with its own instructions: `wgmma`, `setmaxnreg`.
    Compute90a,
    /// Compute capability 10.0 (B200) and later: packed f32 arithmetic.
    Compute100,
}

impl NvvmArch {
    /// Every architecture.
    pub const ALL: [Self; 3] = [Self::Compute80, Self::Compute90a, Self::Compute100];

    /// The name that PTX and LLVM use.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Compute80 => "sm_80",
            Self::Compute90a => "sm_90a",
            Self::Compute100 => "sm_100",
        }
    }
}

impl fmt::Display for NvvmArch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for NvvmArch {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|arch| arch.name() == name).ok_or_else(|| {
            let known = Self::ALL.map(Self::name).join(", ");
            format!("unknown architecture '{name}': use one of {known}")
        })
    }
}
