//! What happens to D after a step's kernel.

use super::{Element, Extent};

/// A kernel that makes D of accumulators in memory, where a step's own epilogue does less than that or cannot store D as it lies:
/// D = activation(alpha\*W + beta\*C + bias), rounded once from f32 to the elements of D. It takes [`POSTPASS_ARGUMENTS`].
///
/// As in BLAS, C is not read where beta is 0, nor W where alpha is 0. Without bias and activation, D has the bits that a step's own
/// epilogue gives. C and D may be the same matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Postpass {
    /// Its entry point.
    pub kernel: &'static str,
    /// What C, D and the bias are made of.
    pub element: Element,
    /// The tile of D per block.
    pub tile: Extent,
    /// Threads per block.
    pub threads: u32,
}

impl Postpass {
    /// The launch grid for a D of that extent: a block for each tile, in row-major order. One launch does for any D.
    #[must_use]
    pub const fn grid(&self, d: Extent) -> [u32; 3] {
        [self.tile.tiles_of(d).count(), 1, 1]
    }
}

/// The parameters of every [`Postpass`], in order; elements of `c`, `d` and `bias` are those of [`Postpass::element`].
///
/// - `w` is m x n, row-major; it and its rows are aligned to 16 bytes. It is the sum of so many `planes`, added in order, each
///   `plane_stride` elements after the one before, a multiple of 4.
/// - `alpha_at` and `beta_at` point to alpha and beta in device memory; where one is null, the value counts.
/// - `c` may have any two strides. `d` is row-major. Both are aligned to an element; vector accesses are used where they are aligned
///   to four.
/// - `bias` has an element for each row or column of D, as `bias_per`, a [`BiasPer`], says; none is added where it is null.
/// - `activation` is an [`Activation`].
pub const POSTPASS_ARGUMENTS: [(&str, &str); 18] = [
    ("m", "u32"),
    ("n", "u32"),
    ("w", "*const f32"),
    ("ldw", "u32"),
    ("planes", "u32"),
    ("plane_stride", "u64"),
    ("alpha", "f32"),
    ("alpha_at", "*const f32"),
    ("beta", "f32"),
    ("beta_at", "*const f32"),
    ("c", "*const f32"),
    ("c_row_stride", "u64"),
    ("c_col_stride", "u64"),
    ("d", "*mut f32"),
    ("ldd", "u64"),
    ("bias", "*const f32"),
    ("bias_per", "u32"),
    ("activation", "u32"),
];

/// What the bias has an element for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum BiasPer {
    /// Each row of D.
    #[default]
    Row,
    /// Each column of D.
    Column,
}

/// The function that a [`Postpass`] applies last, in f32. NaN stays NaN, and the GELUs of -infinity are NaN, all as PyTorch has it.
///
/// The relative error of a GELU is at most 5\*2^-24 where x >= 0, and (1 + x²)\*2^-22 where -6 <= x < 0; below, the absolute error is
/// at most 2^-36.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum Activation {
    /// x.
    #[default]
    None,
    /// 0 where x < 0, otherwise x.
    Relu,
    /// x\*Φ(x) = x/2\*(1 + erf(x/√2)): PyTorch's `gelu`.
    Gelu,
    /// x/2\*(1 + tanh(√(2/π)\*(x + 0.044715x³))): PyTorch's `gelu` with `approximate="tanh"`.
    GeluTanh,
}
