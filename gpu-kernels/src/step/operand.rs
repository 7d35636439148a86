//! What happens to A and B before a step's kernel reads them.

use super::Element;

/// A kernel that rewrites A or B in memory before the step's own kernel reads it: from the start of an allocation on, its
/// leading dimension the next multiple of 16 bytes, or what a [`Split`] makes of a row. It takes [`PREPASS_ARGUMENTS`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Prepass {
    /// Its entry point.
    pub kernel: &'static str,
    /// What it rewrites.
    pub operand: Operand,
    /// Whether it transposes: the step's kernel then gets that operand transposed.
    pub transposes: bool,
    /// How it takes values apart; the step's kernel then gets the operand itself, and a tensor map of its parts.
    pub split: Option<Split>,
    /// Whether it is left out where the operand's rows start at multiples of 16 bytes.
    pub only_unaligned: bool,
    /// Rows and columns of the source per block: the grid's x runs along columns.
    pub tile: [u32; 2],
    /// Threads per block.
    pub threads: u32,
    /// Blocks per cluster, by dimension of the grid, which has whole clusters.
    pub cluster: [u32; 3],
}

impl Prepass {
    /// The launch grid for a source of that many rows and columns.
    #[must_use]
    pub const fn grid(&self, rows: u32, columns: u32) -> [u32; 3] {
        let ([tile_rows, tile_columns], [x, y, z]) = (self.tile, self.cluster);
        [columns.div_ceil(tile_columns).next_multiple_of(x), rows.div_ceil(tile_rows).next_multiple_of(y), z]
    }
}

/// f32 values as sums of two smaller ones, the high and the low part, each value scaled by its row's power of two (a column's
/// of B, which is transposed). A row of the target is `depth` high parts, their low parts, and so on; zeros fill it up. Behind
/// the last row are the exponents of the powers, or [`NOT_SPLIT`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Split {
    /// What the parts are.
    pub part: Element,
    /// High parts that stand together: 64 bytes.
    pub depth: u32,
}

/// An operand that is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operand {
    /// m x k.
    A,
    /// k x n.
    B,
}

/// What a tensor map copies at once out of a row-major matrix; zeros stand for what lies outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MapBox {
    /// What the matrix is made of: an operand's elements, or a [`Split`]'s parts.
    pub element: Element,
    /// Rows.
    pub rows: u32,
    /// Columns.
    pub columns: u32,
    /// Whether the 16-byte pieces of a row, which has at most 128 bytes, lie in an order that changes from row to row, so
    /// that a column's lie in different banks.
    pub swizzled: bool,
}

impl MapBox {
    /// Bytes within which pieces change places, as the copy engine has it: 32, 64 or 128, a row's or a few more; or none.
    #[must_use]
    pub const fn swizzle_bytes(&self) -> u32 {
        match self.columns * self.element.bytes() {
            _ if !self.swizzled => 0,
            0..=32 => 32,
            33..=64 => 64,
            _ => 128,
        }
    }
}

/// Bytes of a tensor map, which starts at a multiple of 64 bytes.
pub const TENSOR_MAP_BYTES: usize = 128;

/// The parameters of every [`Prepass`], in order; `rows` and `columns` are those of the source.
pub const PREPASS_ARGUMENTS: [(&str, &str); 6] = [
    ("rows", "u32"),
    ("columns", "u32"),
    ("source", "*const f32"),
    ("ld", "u32"),
    ("target", "*mut f32"),
    ("target_ld", "u32"),
];

/// What a [`Prepass`] that splits takes after that: where the exponents go, one for each row of the target.
pub const SPLIT_ARGUMENTS: [(&str, &str); 1] = [("scales", "*mut i32")];

/// The exponent of a row or column that cannot be split: something in it is no finite number, or too small beside its
/// largest. What comes of it is computed in single precision.
pub const NOT_SPLIT: i32 = i32::MIN;
