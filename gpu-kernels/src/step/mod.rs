//! What a step is: plain `const` data, which the kernel, the host, the tests and the documentation all read.

mod arithmetic;
mod operand;
mod schedule;

pub use arithmetic::{Element, Precision, Target};
pub use operand::{MapBox, NOT_SPLIT, Operand, PREPASS_ARGUMENTS, Prepass, SPLIT_ARGUMENTS, Split, TENSOR_MAP_BYTES};
pub use schedule::{Schedule, Streamed, persistent_rows, persistent_tile, persistent_tiles};

/// One step of the ladder: a complete SGEMM kernel, C = alpha*A*B + beta*C, row-major, any m, n, k and leading dimensions.
///
/// Its kernel takes [`Step::arguments`], in that order.
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
    /// The arithmetic that the kernel does, on what kind of A and B.
    pub precision: Precision,
    /// What C is made of.
    pub output: Element,
    /// The PTX module that holds the kernel, and so the devices that can run it.
    pub target: Target,
    /// The tile sizes that the kernel is built from.
    pub tile: Tile,
    /// Threads per block, by dimension.
    pub block: [u32; 3],
    /// Blocks per cluster, by dimension of the grid; all 1 for a launch without clusters.
    pub cluster: [u32; 3],
    /// Which block computes what.
    pub schedule: Schedule,
    /// What rewrites an operand before the kernel reads it.
    pub prepasses: &'static [Prepass],
    /// The boxes of the tensor maps of A and B that the kernel takes.
    pub maps: Option<[MapBox; 2]>,
    /// Static shared memory per block, in bytes.
    pub smem_bytes: u32,
    /// Dynamic shared memory per block, in bytes, which the launch must ask for.
    pub dynamic_smem_bytes: u32,
    /// Whether the kernel promises 128-bit loads from shared memory (`ld.shared.v4`) and from global memory.
    pub vector_loads: bool,
    /// The same kernel with other tile sizes, of which a device and a shape choose; empty where there is one alone.
    pub variants: &'static [Self],
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

/// What a kernel with tensor maps takes after that: where they are in global memory.
pub const MAP_ARGUMENTS: [(&str, &str); 2] = [("a_map", "*const u8"), ("b_map", "*const u8")];

/// What a kernel takes after that whose operands a [`Split`] has scaled: the exponents of A's rows and of B's columns.
pub const SCALE_ARGUMENTS: [(&str, &str); 2] = [("a_scales", "*const i32"), ("b_scales", "*const i32")];

/// What a kernel that streams takes last: [`Streamed::tiles`], and [`Step::workspace_bytes`] of memory.
pub const STREAM_ARGUMENTS: [(&str, &str); 2] = [("streamed_tiles", "u32"), ("workspace", "*mut f32")];

/// The largest m, n, k or leading dimension, as in BLAS with its signed 32-bit integers: kernels count in 32 bits, and
/// the end of a tile beyond the end of a matrix must not wrap around.
pub const MAX_SIZE: u32 = i32::MAX as u32;

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
    /// What most steps have: a tile for each block, no clusters, nothing beside the operands. Names and sizes are missing.
    pub const PLAIN: Self = Self {
        slug: "",
        kernel: "",
        base: None,
        summary: "",
        source: "",
        precision: Precision::Fp32,
        output: Element::F32,
        target: Target::Sm80,
        tile: Tile { bm: 1, bn: 1, bk: 1, tm: 1, tn: 1 },
        block: [1, 1, 1],
        cluster: [1, 1, 1],
        schedule: Schedule::Tiles,
        prepasses: &[],
        maps: None,
        smem_bytes: 0,
        dynamic_smem_bytes: 0,
        vector_loads: false,
        variants: &[],
    };

    /// The parameters of its kernel, in order: `(name, type)`.
    pub fn arguments(&self) -> impl Iterator<Item = (&'static str, &'static str)> + use<> {
        let (has_maps, streams) = (self.maps.is_some(), matches!(self.schedule, Schedule::StreamK { .. }));
        let splits = self.splits();
        let maps = MAP_ARGUMENTS.into_iter().filter(move |_| has_maps);
        let scales = SCALE_ARGUMENTS.into_iter().filter(move |_| splits);
        KERNEL_ARGUMENTS
            .into_iter()
            .chain(maps)
            .chain(scales)
            .chain(STREAM_ARGUMENTS.into_iter().filter(move |_| streams))
    }

    /// Whether pre-passes take its operands apart.
    #[must_use]
    pub const fn splits(&self) -> bool {
        !self.prepasses.is_empty() && self.prepasses[0].split.is_some()
    }

    /// The kernels that it needs: its own, and those that run before it.
    pub fn kernels(&self) -> impl Iterator<Item = &'static str> + use<> {
        core::iter::once(self.kernel).chain(self.prepasses.iter().map(|prepass| prepass.kernel))
    }

    /// Threads per block.
    #[must_use]
    pub const fn threads(&self) -> u32 {
        self.block[0] * self.block[1] * self.block[2]
    }

    /// The launch grid for an m x n result on a device of so many multiprocessors: x along n, y along m, whole clusters.
    /// Zero in a dimension means that there is nothing to do.
    #[must_use]
    pub const fn grid(&self, m: u32, n: u32, sm_count: u32) -> [u32; 3] {
        let [columns, rows] = [n.div_ceil(self.tile.bn), m.div_ceil(self.tile.bm)];
        let [x, y, z] = match self.schedule {
            Schedule::Tiles => [columns, rows, 1],
            Schedule::SplitK { parts } => [columns, rows, parts],
            Schedule::StreamK { .. } => {
                let streamed = self.streamed(m, n, sm_count);
                let tiles = columns.saturating_mul(rows);
                [(tiles - streamed.tiles).saturating_add(streamed.blocks), 1, 1]
            }
            Schedule::Persistent => {
                let tiles = persistent_tiles(rows, columns, self.cluster[0]);
                [if tiles < sm_count { tiles } else { sm_count }, 1, 1]
            }
        };
        let [cluster_x, cluster_y, cluster_z] = self.cluster;
        [x.next_multiple_of(cluster_x), y.next_multiple_of(cluster_y), z.next_multiple_of(cluster_z)]
    }

    /// What is streamed of an m x n result where the schedule is [`Schedule::StreamK`], and nothing otherwise: the tiles
    /// that are left over when the others fill the device evenly, and one more for each place, so that a part is a tile at
    /// least, and a tile has two parts at most. Of fewer tiles than places, all are where a tile may have many parts.
    #[must_use]
    pub const fn streamed(&self, m: u32, n: u32, sm_count: u32) -> Streamed {
        let Schedule::StreamK { blocks_per_sm, many_parts } = self.schedule else {
            return Streamed { tiles: 0, blocks: 0 };
        };
        let tiles = n.div_ceil(self.tile.bn).saturating_mul(m.div_ceil(self.tile.bm));
        let places = sm_count * blocks_per_sm;
        if tiles.is_multiple_of(places) || tiles < places && !many_parts {
            return Streamed { tiles: 0, blocks: 0 };
        }
        let whole = if tiles < places { 0 } else { places };
        Streamed { tiles: tiles % places + whole, blocks: places }
    }

    /// Whether its schedule is [`Schedule::StreamK`] with tiles of many parts.
    #[must_use]
    pub const fn has_many_parts(&self) -> bool {
        matches!(self.schedule, Schedule::StreamK { many_parts: true, .. })
    }

    /// The tile of C that a block computes, alone or with those that differ from it along z: its place among the tiles,
    /// as row and column. `None` for a block that works on the streamed tiles. A block that fills up a cluster may have
    /// one beyond the end of C. Of [`Schedule::Persistent`], it is the block's first.
    #[must_use]
    pub const fn tile_of(&self, block: [u32; 3], m: u32, n: u32, streamed: Streamed) -> Option<[u32; 2]> {
        let [x, y, _] = block;
        match self.schedule {
            Schedule::Persistent => {
                let [rows, columns] = [m.div_ceil(self.tile.bm), n.div_ceil(self.tile.bn)];
                Some(persistent_tile(x, [rows, columns], self.tile.bm, self.cluster[0]))
            }
            Schedule::Tiles | Schedule::SplitK { .. } => Some([y, x]),
            Schedule::StreamK { .. } if x < streamed.blocks => None,
            Schedule::StreamK { .. } => Some(self.tile_at(x - streamed.blocks + streamed.tiles, n)),
        }
    }

    /// The row and column of the tile that comes so late in the order of rows.
    #[must_use]
    pub const fn tile_at(&self, index: u32, n: u32) -> [u32; 2] {
        let columns = n.div_ceil(self.tile.bn);
        [index / columns, index % columns]
    }

    /// Bytes of memory that the kernel takes as a workspace, which hold zeros before the first launch and between launches:
    /// a partial tile and a flag for each streamed block.
    #[must_use]
    pub const fn workspace_bytes(&self, m: u32, n: u32, sm_count: u32) -> u64 {
        let partial_bytes = (self.tile.bm * self.tile.bn) as u64 * 4;
        self.streamed(m, n, sm_count).blocks as u64 * (partial_bytes + 4)
    }
}
