//! Which block computes what.

use super::launch::{in_clusters, of_sm};
use super::operand::SWIZZLED_ROWS;
use super::{Coord, Extent, Operand, Tile, at_least_1};

/// Which block computes what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Schedule {
    /// Data-parallel: each block computes the tile of C at its place in the grid.
    DataParallel,
    /// Split-K: the blocks along z each compute one split of a tile's k and reduce their accumulators within the launch.
    SplitK {
        /// Blocks per tile.
        splits: u32,
    },
    /// Split-K with the splits of a tile in one block, one after the other: the same sums in the same order as [`Self::SplitK`].
    SerialSplitK {
        /// Splits of a tile.
        splits: u32,
    },
    /// Stream-K: the k-tiles of the first tiles, in row-major order, are divided evenly among one block per CTA slot. Such a
    /// work unit may begin in one tile and end in the next. These blocks come first in the grid (x); each of the
    /// data-parallel tiles has a block after them: [`crate::Step::stream_k_tiles`]. A block waits only for blocks before it.
    StreamK {
        /// CTA slots of an SM.
        blocks_per_sm: u32,
        /// The largest number of work units that share a tile: 2, or `u32::MAX` for any number. Fewer tiles than CTA slots
        /// are stream-K tiles only with the latter.
        max_splits: u32,
    },
    /// Split-K in as many splits as the plan says, [`crate::Step::splits`], for the problems of a batch side by side: along z, a
    /// cluster of blocks shares the k of a tile; several clusters do, where these are not enough, and a post-pass adds the partial
    /// tiles of each, a plane of f32. Kernels take [`crate::PLANNED_ARGUMENTS`].
    PlannedSplitK {
        /// CTA slots of an SM.
        blocks_per_sm: u32,
        /// The k that a block multiplies in the time in which two blocks reduce their partial tiles, if it does not
        /// [multicast](crate::Step::multicasts): then tiles say it, and it is 0. [`crate::MAX_SIZE`] where k is never split.
        reduction_k: u32,
        /// Whether a block that has an SM to itself keeps it busy: with its products, or with what it has asked memory for. Others wait, and
        /// several share an SM well.
        is_busy: bool,
    },
    /// Persistent: [`persistent_blocks`], at most one per SM, in whole clusters along x. Each computes the tile at [`persistent_tile`]
    /// of its index, then of each index that is a grid further on.
    Persistent {
        /// The blocks of a cluster.
        group: Group,
    },
    /// Persistent, for the problems of a batch side by side: blocks compute the tiles of one problem after the other's. Where the step
    /// [multicasts](crate::Step::multicasts), two blocks may be a cluster along x. Kernels take [`crate::BATCH_ARGUMENTS`] and
    /// [`crate::PLANNED_ARGUMENTS`], of one plane.
    PersistentBatch {
        /// Blocks per SM.
        blocks_per_sm: u32,
        /// Rows of tiles in a group, whose tiles are computed column by column; 1 where all are, row by row.
        band_rows: u32,
    },
}

/// Rows of tiles, of `bm` rows each, in a group that [`Schedule::Persistent`] blocks rasterize column by column, so that the
/// tiles of A and B in use stay in L2. A group about as high as it is wide is best.
#[must_use]
pub const fn persistent_rows(bm: u32) -> u32 {
    const MOST: u32 = 16;
    let rows = 2048 / bm;
    if rows < MOST { rows } else { MOST }
}

/// The tile of an index among `tiles` of `bm` rows each, where the blocks of a cluster have the tiles of a group. It may lie beyond the
/// last row or column.
#[must_use]
pub const fn persistent_tile(index: u32, tiles: Extent, bm: u32, group: Group) -> Coord {
    banded_tile(index, tiles, persistent_rows(bm), group)
}

/// The same for bands of so many rows of tiles, a multiple of the group's.
#[must_use]
pub const fn banded_tile(index: u32, tiles: Extent, band_rows: u32, group: Group) -> Coord {
    let group = Group { columns: not_zero(group.columns), rows: not_zero(group.rows) };
    let (index, rank) = (index / group.count(), index % group.count());
    let (rows, cols) = (tiles.rows.div_ceil(group.rows), tiles.cols.div_ceil(group.columns));
    let most = band_rows / group.rows;
    let of_band = not_zero(most * cols);
    let first = index / of_band * most;
    let left = rows.saturating_sub(first);
    let height = not_zero(if left < most { left } else { most });
    let index = index % of_band;
    Coord {
        row: (first + index % height) * group.rows + rank / group.columns,
        col: index / height * group.columns + rank % group.columns,
    }
}

/// A divisor that is zero only where there are no tiles. In a kernel a checked division has a trap block that producer and
/// consumer warps share, which keeps ptxas from allocating registers per role (`setmaxnreg`).
const fn not_zero(divisor: u32) -> u32 {
    if divisor == 0 { 1 } else { divisor }
}

/// The number of indices of [`persistent_tile`], with those beyond the last row or column.
#[must_use]
pub const fn persistent_tiles(tiles: Extent, group: Group) -> u32 {
    let (rows, columns) = (not_zero(group.rows), not_zero(group.columns));
    tiles.rows.next_multiple_of(rows).saturating_mul(tiles.cols.next_multiple_of(columns))
}

/// Blocks for so many tiles: one per SM, or as few as take no more waves, where that leaves few SMs out. Then all waves are alike,
/// each over whole columns of a band where sizes are powers of two.
#[must_use]
pub const fn persistent_blocks(tiles: u32, sm_count: u32) -> u32 {
    let waves = tiles.div_ceil(not_zero(sm_count));
    let even = tiles.div_ceil(not_zero(waves));
    if waves > 1 && even < sm_count - sm_count / 16 { sm_count } else { even }
}

/// What [`Schedule::StreamK`] does not compute data-parallel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamKTiles {
    /// The number of tiles, the first ones in row-major order.
    pub tiles: u32,
    /// The number of blocks, and so of work units, that share them.
    pub blocks: u32,
}

/// Blocks of a cluster that compute adjacent tiles from the same k: those side by side share A's k-tiles, those above each other B's. Each
/// loads a part of what it shares, and multicasts it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Group {
    /// Blocks side by side.
    pub columns: u32,
    /// Blocks above each other.
    pub rows: u32,
}

impl Group {
    /// One block.
    pub const ALONE: Self = Self { columns: 1, rows: 1 };
    /// Those that a plan may choose.
    const ALL: [Self; 6] = [
        Self::ALONE,
        Self { columns: 1, rows: 2 },
        Self { columns: 2, rows: 1 },
        Self { columns: 1, rows: 4 },
        Self { columns: 4, rows: 1 },
        Self { columns: 2, rows: 2 },
    ];

    /// So many blocks that have this operand's k-tiles in common.
    #[must_use]
    pub const fn sharing(operand: Operand, blocks: u32) -> Self {
        match operand {
            Operand::A => Self { columns: blocks, rows: 1 },
            Operand::B => Self { columns: 1, rows: blocks },
        }
    }

    /// Its blocks.
    #[must_use]
    pub const fn count(self) -> u32 {
        self.columns * self.rows
    }

    /// What [`Self::of`] counts in a cycle: elements of C that the tensor cores multiply by half a k-tile of 128 bytes, twice (the fullest and
    /// an average SM), in the unit of `SHARING`.
    pub(super) const UNITS_PER_CYCLE: u64 = 32 * 2 * Self::SHARING[0];

    /// Blocks that share both operands wait for more others: by about a twelfth.
    const SHARING: [u64; 2] = [12, 13];

    /// The group, of those that a cluster has room for beside its splits, with which a k-tile of all blocks takes the least time, and that
    /// time in units over all SMs: that of loading what is `filled` of a tile's rows and columns, and of multiplying all, by the blocks of
    /// the SM with the most of them and of an average one. Of equal ones the first. Blocks of several problems are alone.
    #[must_use]
    pub(super) const fn of(
        tiles: Extent,
        tile: Tile,
        filled: Extent,
        problems: u32,
        splits: Splits,
        sm_count: u32,
        blocks_per_sm: u32,
    ) -> (Self, u64) {
        /// Elements of C that the tensor cores multiply while 128 bytes arrive from L2, with 64 bytes per cycle and SM.
        const LOAD: u64 = 64;
        let (mut best, mut fewest) = (Self::ALONE, u64::MAX);
        let mut index = 0;
        while index < Self::ALL.len() && (index == 0 || problems == 1) {
            let group = Self::ALL[index];
            let Self { columns, rows } = group;
            let cluster = group.count() * splits.cluster;
            let is_divisible = tile.bm / columns >= SWIZZLED_ROWS && tile.bn / rows >= SWIZZLED_ROWS;
            if is_divisible && columns <= tiles.cols && rows <= tiles.rows && cluster <= Splits::MAX_CLUSTER {
                let padded =
                    Extent { rows: tiles.rows.next_multiple_of(rows), cols: tiles.cols.next_multiple_of(columns) };
                let blocks = padded.count().saturating_mul(splits.count()).saturating_mul(problems);
                let of_sm = of_sm(blocks as u64, sm_count, blocks_per_sm);
                let at_once = in_clusters(sm_count, of_sm, cluster);
                let rounds = if blocks <= at_once { 1 } else { blocks.div_ceil(at_least_1(at_once)) };
                let most = rounds as u64 * of_sm as u64 * sm_count as u64;
                let k_tile = LOAD * (filled.rows / columns + filled.cols / rows) as u64 + (tile.bm * tile.bn) as u64;
                let time = (most + blocks as u64) * k_tile * Self::SHARING[(columns > 1 && rows > 1) as usize];
                if time < fewest {
                    (best, fewest) = (group, time);
                }
            }
            index += 1;
        }
        (best, fewest)
    }
}

/// How [`Schedule::PlannedSplitK`] divides k: first evenly among planes, then each plane's among the blocks of a cluster, in k-tiles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Splits {
    /// Blocks of a cluster.
    pub cluster: u32,
    /// Clusters for a tile.
    pub planes: u32,
}

impl Splits {
    /// All of k in one block.
    pub const NONE: Self = Self { cluster: 1, planes: 1 };

    /// The most blocks of a cluster that every device grants.
    pub const MAX_CLUSTER: u32 = 8;

    /// Blocks for a tile.
    #[must_use]
    pub const fn count(self) -> u32 {
        self.cluster * self.planes
    }

    /// Whether each block has so much of so long a k that it is worth it to load only what there is of a tile, and zero the rest of the stages
    /// before; else the copy engine does, for each k-tile.
    #[must_use]
    pub const fn have_long_k(self, k: u32) -> bool {
        const LONG: u32 = 1024;
        k / LONG >= self.count()
    }
}
