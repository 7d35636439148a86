//! Names for what would otherwise be positions in an array.

/// A place in a matrix: of an element, or of a tile among the tiles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Coord {
    /// Counted from the top.
    pub row: u32,
    /// Counted from the left.
    pub col: u32,
}

impl Coord {
    /// Its place in the transpose.
    #[must_use]
    pub const fn transposed(self) -> Self {
        Self { row: self.col, col: self.row }
    }
}

/// The size of a matrix or of a part of it: in elements, or in tiles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Extent {
    /// Rows.
    pub rows: u32,
    /// Columns.
    pub cols: u32,
}

impl Extent {
    /// So large that no tile leaves it.
    pub const ENDLESS: Self = Self { rows: super::MAX_SIZE, cols: super::MAX_SIZE };

    /// That of the transpose.
    #[must_use]
    pub const fn transposed(self) -> Self {
        Self { rows: self.cols, cols: self.rows }
    }

    /// The tiles of this extent that cover a matrix.
    #[must_use]
    pub const fn tiles_of(self, matrix: Self) -> Self {
        Self { rows: matrix.rows.div_ceil(self.rows), cols: matrix.cols.div_ceil(self.cols) }
    }

    /// Rows x columns; the largest number where there are more.
    #[must_use]
    pub const fn count(self) -> u32 {
        self.rows.saturating_mul(self.cols)
    }
}

/// One of each for the operands A and B.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Ab<T> {
    /// Of A.
    pub a: T,
    /// Of B.
    pub b: T,
}

impl<T> Ab<T> {
    /// The same for both.
    pub const fn both(value: T) -> Self
    where
        T: Copy,
    {
        Self { a: value, b: value }
    }

    /// What `f` makes of each.
    pub fn map<U>(self, mut f: impl FnMut(T) -> U) -> Ab<U> {
        Ab { a: f(self.a), b: f(self.b) }
    }

    /// Each with its counterpart.
    pub fn zip<U>(self, other: Ab<U>) -> Ab<(T, U)> {
        Ab { a: (self.a, other.a), b: (self.b, other.b) }
    }

    /// A's, then B's.
    pub fn into_array(self) -> [T; 2] {
        [self.a, self.b]
    }
}

/// Tile sizes, in elements. A block computes BM x BN of C in k-tiles of BK; a thread computes TM x TN of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tile {
    /// Rows of C per block.
    pub bm: u32,
    /// Columns of C per block.
    pub bn: u32,
    /// Depth of a k-tile of A and B; 1 where the step has no shared memory.
    pub bk: u32,
    /// Rows of C per thread.
    pub tm: u32,
    /// Columns of C per thread.
    pub tn: u32,
}

impl Tile {
    /// That of the transpose.
    #[must_use]
    pub const fn transposed(self) -> Self {
        Self { bm: self.bn, bn: self.bm, tm: self.tn, tn: self.tm, ..self }
    }
}
