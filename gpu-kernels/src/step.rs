//! What a step is: plain `const` data, which the kernel, the host, the tests and the documentation all read.

/// One step of the ladder: a complete SGEMM kernel, C = alpha*A*B + beta*C, row-major, any m, n, k and leading dimensions.
///
/// Every kernel takes the arguments of [`KERNEL_ARGUMENTS`], in that order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// The name on the command line and in every table, such as `2d-tiling`.
    pub slug: &'static str,
    /// The kernel's entry point in the PTX, such as `sgemm_tiling_2d`.
    pub kernel: &'static str,
    /// The slug of the step that this one changes; `None` for the first.
    pub base: Option<&'static str>,
    /// The idea in one line.
    pub summary: &'static str,
    /// Where the idea comes from.
    pub source: &'static str,
    /// The arithmetic that the kernel does.
    pub precision: Precision,
    /// The PTX module that holds the kernel, and so the devices that can run it.
    pub target: Target,
    /// The tile sizes that the kernel is built from.
    pub tile: Tile,
    /// Threads per block, by dimension.
    pub block: [u32; 3],
    /// Static shared memory per block, in bytes.
    pub smem_bytes: u32,
    /// Dynamic shared memory per block, in bytes, which the launch must ask for.
    pub dynamic_smem_bytes: u32,
    /// Whether the kernel promises 128-bit loads from shared memory (`ld.shared.v4`) and from global memory.
    pub vector_loads: bool,
}

/// The parameters of every kernel, in order: `(name, type)`.
///
/// Sizes and leading dimensions count elements; `a` is m x k, `b` is k x n, `c` is m x n, all row-major.
pub const KERNEL_ARGUMENTS: [(&str, &str); 11] = [
    ("m", "u32"),
    ("n", "u32"),
    ("k", "u32"),
    ("alpha", "f32"),
    ("a", "*const f32"),
    ("lda", "u32"),
    ("b", "*const f32"),
    ("ldb", "u32"),
    ("beta", "f32"),
    ("c", "*mut f32"),
    ("ldc", "u32"),
];

/// The largest m, n, k or leading dimension, as in BLAS with its signed 32-bit integers: kernels count in 32 bits, and
/// the end of a tile beyond the end of a matrix must not wrap around.
pub const MAX_SIZE: u32 = i32::MAX as u32;

/// The arithmetic of a kernel, as the tables name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Precision {
    /// IEEE single precision: inputs, products and sums.
    Fp32,
}

impl Precision {
    /// The name in tables and JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fp32 => "fp32",
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
}

impl Target {
    /// Every target, the baseline first.
    pub const ALL: [Self; 2] = [Self::Sm80, Self::Sm90a];

    /// The name that PTX and the compiler use, such as `sm_80`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sm80 => "sm_80",
            Self::Sm90a => "sm_90a",
        }
    }

    /// Whether a device of compute capability `major`.`minor` runs this target's module.
    #[must_use]
    pub const fn runs_on(self, major: u32, minor: u32) -> bool {
        match self {
            Self::Sm80 => major >= 8,
            Self::Sm90a => major == 9 && minor == 0,
        }
    }

    /// The devices that run it, for messages.
    #[must_use]
    pub const fn devices(self) -> &'static str {
        match self {
            Self::Sm80 => "compute capability 8.0 or later",
            Self::Sm90a => "compute capability 9.0 (Hopper)",
        }
    }
}

/// Tile sizes, in elements. A block computes BM x BN of C in slices of BK along k; a thread computes TM x TN of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tile {
    /// Rows of C per block.
    pub bm: u32,
    /// Columns of C per block.
    pub bn: u32,
    /// Depth of one slice of A and B in shared memory; 1 where the step has no shared memory.
    pub bk: u32,
    /// Rows of C per thread.
    pub tm: u32,
    /// Columns of C per thread.
    pub tn: u32,
}

impl Step {
    /// Threads per block.
    #[must_use]
    pub const fn threads(&self) -> u32 {
        self.block[0] * self.block[1] * self.block[2]
    }

    /// The launch grid for an m x n result: x along n, y along m. Zero in a dimension means that there is nothing to do.
    #[must_use]
    pub const fn grid(&self, m: u32, n: u32) -> [u32; 3] {
        [n.div_ceil(self.tile.bn), m.div_ceil(self.tile.bm), 1]
    }
}
