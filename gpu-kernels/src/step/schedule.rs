//! Which block computes what.

/// Which block computes what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Schedule {
    /// Each block computes the tile of C at its place in the grid.
    Tiles,
    /// So many blocks, along z, share the k of a tile and add up their sums within the launch.
    SplitK {
        /// Blocks per tile.
        parts: u32,
    },
    /// The first tiles, in the order of rows, are cut along k into as many equal parts as there are places for blocks; a
    /// part may begin in one tile and end in the next. These blocks come first in the grid (x), one for each of the other
    /// tiles after them: [`crate::Step::streamed`]. A block waits only for blocks before it.
    StreamK {
        /// Blocks that a multiprocessor holds at once.
        blocks_per_sm: u32,
        /// Whether a tile may have many parts: fewer tiles than places are then streamed, too.
        many_parts: bool,
    },
    /// A block for each multiprocessor, in whole clusters along x, computes tiles as long as there are any: those at
    /// [`persistent_tile`] of its own number, and of each number that is a grid further on.
    Persistent,
}

/// Rows of tiles, of `bm` rows each, that [`Schedule::Persistent`] blocks go through together, column by column: what they read
/// of A and B at one time then stays in the second-level cache. As many rows of A as columns of B are best, about.
#[must_use]
pub const fn persistent_rows(bm: u32) -> u32 {
    const MOST: u32 = 16;
    let rows = 2048 / bm;
    if rows < MOST { rows } else { MOST }
}

/// The row and column of the tile of a number, of `rows` x `columns` tiles of `bm` rows, where blocks of a cluster have
/// neighbours in a column. A row may lie beyond the last.
#[must_use]
pub const fn persistent_tile(number: u32, [rows, columns]: [u32; 2], bm: u32, cluster: u32) -> [u32; 2] {
    let (number, rank) = (number / cluster, number % cluster);
    let (rows, group) = (rows.div_ceil(cluster), persistent_rows(bm) / cluster);
    let of_group = not_zero(group * columns);
    let first = number / of_group * group;
    let left = rows.saturating_sub(first);
    let height = not_zero(if left < group { left } else { group });
    let number = number % of_group;
    [(first + number % height) * cluster + rank, number / height]
}

/// A divisor that is zero only where there are no tiles. In a kernel a division that may fail is a way out that warps of all
/// roles share, which keeps the assembler from giving them registers of their own.
const fn not_zero(divisor: u32) -> u32 {
    if divisor == 0 { 1 } else { divisor }
}

/// Tiles of [`Schedule::Persistent`], those beyond the last row included.
#[must_use]
pub const fn persistent_tiles(rows: u32, columns: u32, cluster: u32) -> u32 {
    rows.next_multiple_of(cluster).saturating_mul(columns)
}

/// The part of a result that [`Schedule::StreamK`] cuts along k.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Streamed {
    /// How many tiles, the first ones in the order of rows.
    pub tiles: u32,
    /// How many blocks share them.
    pub blocks: u32,
}
