//! Types and state spaces of PTX. PTX ISA, "State Spaces, Types, and Variables".

use std::fmt;

macro_rules! types {
    ($($variant:ident $name:literal $bits:literal,)*) => {
        /// A type as an instruction or a declaration names it.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[allow(missing_docs)] // their names say it
        pub enum Type { $($variant,)* }

        impl Type {
            /// Every type.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The name, without the dot, such as `u32`.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// Its width in bits; a predicate has 1.
            #[must_use]
            pub const fn bits(self) -> u32 {
                match self { $(Self::$variant => $bits,)* }
            }

            /// The type of that name, given without the dot.
            #[must_use]
            pub fn from_name(name: &str) -> Option<Self> {
                match name { $($name => Some(Self::$variant),)* _ => None }
            }
        }
    };
}

types! {
    Pred "pred" 1,
    B8 "b8" 8, B16 "b16" 16, B32 "b32" 32, B64 "b64" 64, B128 "b128" 128,
    U8 "u8" 8, U16 "u16" 16, U32 "u32" 32, U64 "u64" 64,
    S8 "s8" 8, S16 "s16" 16, S32 "s32" 32, S64 "s64" 64,
    U16x2 "u16x2" 32, S16x2 "s16x2" 32,
    F16 "f16" 16, F16x2 "f16x2" 32, Bf16 "bf16" 16, Bf16x2 "bf16x2" 32,
    Tf32 "tf32" 32, F32 "f32" 32, F32x2 "f32x2" 64, F64 "f64" 64,
    E4m3 "e4m3" 8, E5m2 "e5m2" 8, E4m3x2 "e4m3x2" 16, E5m2x2 "e5m2x2" 16,
}

impl Type {
    /// Its width in bytes; 1 for a predicate.
    #[must_use]
    pub const fn bytes(self) -> u32 {
        self.bits().div_ceil(8)
    }

    /// Whether it is a signed integer (or a pair of them).
    #[must_use]
    pub const fn is_signed(self) -> bool {
        matches!(self, Self::S8 | Self::S16 | Self::S32 | Self::S64 | Self::S16x2)
    }

    /// Whether it is an integer with or without a sign: `.u` and `.s`, not `.b`.
    #[must_use]
    pub const fn is_integer(self) -> bool {
        self.is_signed() || matches!(self, Self::U8 | Self::U16 | Self::U32 | Self::U64 | Self::U16x2)
    }

    /// Whether it is untyped: `.b8` to `.b128`.
    #[must_use]
    pub const fn is_bits(self) -> bool {
        matches!(self, Self::B8 | Self::B16 | Self::B32 | Self::B64 | Self::B128)
    }

    /// Whether it is a floating-point number (or a pair of them).
    #[must_use]
    pub const fn is_float(self) -> bool {
        !self.is_integer() && !self.is_bits() && !matches!(self, Self::Pred)
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, ".{}", self.name())
    }
}

/// A state space.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Space {
    /// Generic addresses: any state space, by window.
    Generic,
    /// Device memory.
    Global,
    /// Shared memory of a block, or, with `::cluster`, of the blocks of a cluster.
    Shared,
    /// Private memory of a thread.
    Local,
    /// Constant memory.
    Const,
    /// Parameters of a kernel or of a call.
    Param,
}

impl Space {
    /// Whether an access to it may be one to global memory.
    pub(crate) const fn may_be_global(self) -> bool {
        matches!(self, Self::Global | Self::Generic)
    }

    /// The name, without the dot, such as `shared`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Generic => "generic",
            Self::Global => "global",
            Self::Shared => "shared",
            Self::Local => "local",
            Self::Const => "const",
            Self::Param => "param",
        }
    }
}

impl fmt::Display for Space {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The threads that a strong access or a fence is ordered with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Scope {
    /// `.cta`
    Block,
    Cluster,
    /// `.gpu` and `.sys`: a launch has no other threads.
    Device,
}

/// Memory-ordering semantics of an access. PTX ISA, "Memory Consistency Model".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Semantics {
    /// Of a strong access.
    pub scope: Scope,
    pub acquires: bool,
    pub releases: bool,
    /// `.nc`: it reads what no thread may write during the launch.
    pub is_non_coherent: bool,
}

impl Semantics {
    /// Of weak accesses, and of relaxed ones in the scope of the device.
    pub(crate) const DEFAULT: Self =
        Self { scope: Scope::Device, acquires: false, releases: false, is_non_coherent: false };
}
