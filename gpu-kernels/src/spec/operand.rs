//! What happens to A and B before a step's kernel reads them.

use super::{Ab, Element, Extent, least};

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
    /// How it splits values; the step's kernel then gets the operand itself, and a tensor map of its hi/lo split.
    pub split: Option<Split>,
    /// Whether it is left out where the operand's rows start at multiples of 16 bytes.
    pub only_unaligned: bool,
    /// The tile of the source per block: the grid's x runs along columns.
    pub tile: Extent,
    /// Threads per block.
    pub threads: u32,
    /// Rows of a tile that a block takes where a cluster shares them: [`Prepass::cluster`].
    pub shared_rows: Option<u32>,
    /// Whether it waits for the launch before it at its end only. Behind the pre-passes of the other operand it runs beside these; behind
    /// anything else it must not begin early.
    pub waits_last: bool,
}

/// Blocks of a pre-pass's cluster, at most: what every device with clusters runs.
pub const MAX_SHARERS: u32 = 8;

impl Prepass {
    /// Blocks per cluster, by dimension of the grid, which has whole clusters: as many as the source has rows for, a power of two up to
    /// [`MAX_SHARERS`].
    #[must_use]
    pub const fn cluster(&self, source: Extent) -> [u32; 3] {
        let sharers = match self.shared_rows {
            Some(rows) if source.rows >= rows * MAX_SHARERS => MAX_SHARERS,
            Some(rows) => source.rows.div_ceil(rows).next_power_of_two(),
            None => 1,
        };
        [1, sharers, 1]
    }

    /// The launch grid for a source of that extent.
    #[must_use]
    pub const fn grid(&self, source: Extent) -> [u32; 3] {
        let (tiles, [x, y, z]) = (self.tile.tiles_of(source), self.cluster(source));
        [tiles.cols.next_multiple_of(x), tiles.rows.next_multiple_of(y), z]
    }
}

/// The hi/lo split (Ootomo and Yokota): an f32 value, scaled by its row's power of two (its column's of B, which is
/// transposed), becomes the sum hi + lo of two values of fewer significand bits. A row of the target holds `chunk` hi values,
/// then their lo values, and so on; zeros pad it. A word for each row follows the last one: the exponent of the power, times
/// 2^[`CERTIFICATE_BITS`](super::CERTIFICATE_BITS), and certificates ([`Magnitudes`](super::Magnitudes)). Where there are none,
/// the row is not split: its part of C is computed in fp32.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Split {
    /// The element type of hi and lo.
    pub element: Element,
    /// Contiguous hi values: 64 bytes.
    pub chunk: u32,
}

/// An operand that is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operand {
    /// m x k.
    A,
    /// k x n.
    B,
}

/// What a kernel does with A where it is stored k x m, and with B where it is stored n x k. The alternative is a pre-pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transposed {
    /// It reads them only as a pre-pass leaves them.
    ByPrepass,
    /// It reads them as they are: [`crate::TRANSPOSED_ARGUMENTS`].
    Read,
    /// The same of B alone: A only as a pre-pass leaves it.
    ReadB,
    /// It reads both as they are, through tensor maps of these boxes of them.
    Mapped(Ab<TmaBox>),
    /// The same of B alone: A only as a pre-pass leaves it.
    MappedB(TmaBox),
}

impl Transposed {
    /// Whether it reads this operand either way.
    #[must_use]
    pub const fn reads(self, operand: Operand) -> bool {
        match self {
            Self::ByPrepass => false,
            Self::Read | Self::Mapped(_) => true,
            Self::ReadB | Self::MappedB(_) => matches!(operand, Operand::B),
        }
    }
}

/// Rows after which a swizzle repeats.
pub(super) const SWIZZLED_ROWS: u32 = 8;

/// Rows that each of so many blocks, a power of two, loads of a tile of so many, where the operand has `rows`. If all are in one tile, few
/// more than these: the copy engine takes twice as long for a row out of bounds as for one of the operand.
#[must_use]
pub const fn loaded_rows(of_tile: u32, rows: u32, blocks: u32) -> u32 {
    let shift = blocks.trailing_zeros();
    let of_atoms = shift + SWIZZLED_ROWS.trailing_zeros();
    let atoms = rows.saturating_add((1 << of_atoms) - 1) >> of_atoms;
    least(of_tile >> shift, atoms * SWIZZLED_ROWS)
}

/// What one TMA load copies out of a row-major matrix; elements out of bounds are zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TmaBox {
    /// The element type of the matrix: an operand's, or a [`Split`]'s.
    pub element: Element,
    /// Rows and columns.
    pub extent: Extent,
    /// Whether the 16-byte chunks of a row, which has at most 128 bytes, are permuted from row to row, so that a column's lie
    /// in different banks.
    pub swizzled: bool,
}

impl TmaBox {
    /// The box of each of so many blocks that load a tile together, of an operand that has so many of the box's rows: [`loaded_rows`].
    #[must_use]
    pub const fn part(self, rows: u32, blocks: u32) -> Self {
        let Extent { rows: of_tile, cols } = self.extent;
        Self { extent: Extent { rows: loaded_rows(of_tile, rows, blocks), cols }, ..self }
    }

    /// The swizzle mode of the tensor map in bytes: 32, 64 or 128, at least a row's; 0 without.
    #[must_use]
    pub const fn swizzle_bytes(&self) -> u32 {
        match self.extent.cols * self.element.bytes() {
            _ if !self.swizzled => 0,
            0..=32 => 32,
            33..=64 => 64,
            _ => 128,
        }
    }
}

/// Bytes of a tensor map, which starts at a multiple of 64 bytes.
pub const TENSOR_MAP_BYTES: usize = 128;

/// The parameters of every [`Prepass`], in order; `rows` and `columns` are those of the source, whose leading dimension may be any
/// number. The source is aligned to an element, rows of the target to 16 bytes.
pub const PREPASS_ARGUMENTS: [(&str, &str); 6] = [
    ("rows", "u32"),
    ("columns", "u32"),
    ("source", "*const f32"),
    ("ld", "u64"),
    ("target", "*mut f32"),
    ("target_ld", "u32"),
];

/// What a [`Prepass`] that splits takes after that: the address of the words of the rows of the target.
pub const SPLIT_ARGUMENTS: [(&str, &str); 1] = [("scales", "*mut i32")];
