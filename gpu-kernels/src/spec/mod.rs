//! What a step is: plain `const` data, which the kernel, the host, the tests and the documentation all read.

mod arithmetic;
mod certificate;
mod geometry;
mod launch;
mod operand;
mod postpass;
mod schedule;
mod summation;

pub use arithmetic::{Element, Precision, Target};
pub use certificate::{
    ANY_BF16, BF16_TOP, CERTIFICATE_BITS, CERTIFIED, Computed, EXACT_BF16, F16_TOP, LONGEST_COUNTED_K, Magnitudes,
    OF_HI_LO, Open, SHORTEST_SPLIT_K, Uncertified, is_finite_row, largest_exponents, least_certified_sum,
};
pub use geometry::{Ab, Coord, Extent, Tile};
pub use launch::{BLOCK_SMEM_BYTES, SM_SMEM_BYTES};
pub use operand::{
    MAX_SHARERS, Operand, PREPASS_ARGUMENTS, Prepass, SPLIT_ARGUMENTS, Split, TENSOR_MAP_BYTES, TmaBox, Transposed,
    loaded_rows,
};
pub use postpass::{Activation, BiasPer, POSTPASS_ARGUMENTS, Postpass};
pub use schedule::{
    Group, Schedule, Splits, StreamKTiles, banded_tile, persistent_blocks, persistent_rows, persistent_tile,
    persistent_tiles,
};
pub use summation::InnerSums;

/// One step of the ladder: a complete SGEMM kernel, C = alpha*A*B + beta*C, row-major, any m, n, k and leading dimensions.
///
/// Its kernel takes [`Step::arguments`], in that order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// The name on the command line and in every table, such as `2d-tiling`.
    pub slug: &'static str,
    /// The kernel's entry point in the PTX, such as `sgemm_tiling_2d`.
    pub kernel: &'static str,
    /// The entry point of the same kernel with bias and activation in its epilogue, where there is one. It takes
    /// [`FUSION_ARGUMENTS`] last. It may be [`kernel`](Self::kernel) itself.
    pub fused: Option<&'static str>,
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
    /// The TMA boxes of the tensor maps of A and B that the kernel takes.
    pub maps: Option<Ab<TmaBox>>,
    /// Whether and how it reads A and B where they are stored transposed.
    pub transposed: Transposed,
    /// Static shared memory per block, in bytes.
    pub smem_bytes: u32,
    /// Dynamic shared memory per block, in bytes, which the launch must ask for, at least.
    pub dynamic_smem_bytes: u32,
    /// Bytes of a stage of the ring of a kernel that makes as many as it is given dynamic shared memory for; 0 where their number is fixed.
    pub stage_bytes: u32,
    /// Whether blocks of a cluster along x and y may share k-tiles: [`Self::group`].
    pub multicasts: bool,
    /// A tile at the edge of C is copied and multiplied up to the next multiple of so many rows and columns; 0 where all of it is.
    pub edge: u32,
    /// By how many per cent its mainloop is faster where neither A nor B is transposed, on an H200.
    pub nn_gain: u32,
    /// Whether the kernel has 128-bit loads from shared memory (`ld.shared.v4`) and from global memory.
    pub vector_loads: bool,
    /// The least and the most that the shorter side of a C has that it is chosen for: kernels for a few vectors leave a single one to others.
    pub sides: [u32; 2],
    /// The most columns of C that it is chosen for.
    pub most_columns: u32,
    /// Whether each element of C adds its products, or those of a split of k, in the order of k.
    pub adds_in_order: bool,
    /// The same kernel with other tile sizes, chosen by device and shape; empty where there is only one.
    pub variants: &'static [Self],
}

/// The parameters of every kernel, in order: `(name, type)`. Sizes and leading dimensions count elements; `a` is m x k, `b` is k x n, `c` is
/// m x n, all row-major.
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

/// What a kernel with tensor maps takes after that: the maps by value, of [`TENSOR_MAP_BYTES`] each.
pub const MAP_ARGUMENTS: [(&str, &str); 2] = [("a_map", "&TensorMap"), ("b_map", "&TensorMap")];

/// What a kernel of hi/lo split operands takes after that: the scaling exponents of A's rows and of B's columns.
pub const SCALE_ARGUMENTS: [(&str, &str); 2] = [("a_scales", "*const i32"), ("b_scales", "*const i32")];

/// What a kernel that reads transposed operands takes after that: whether A and B are, 0 or 1. Then `a` is k x m and `lda` its own,
/// `b` n x k.
pub const TRANSPOSED_ARGUMENTS: [(&str, &str); 2] = [("a_transposed", "u32"), ("b_transposed", "u32")];

/// What a kernel of [`Schedule::PlannedSplitK`] takes after that. z of a block is `(problem * planes + plane) * cluster + rank`.
///
/// - Strides count elements from one problem of the batch to the next one's; where one is 0, all problems share the matrix, and a
///   tensor map has it once.
/// - `c_is_f32` is 1 where C, and a bias, are of f32, whatever the step's output.
/// - `planes` is at least 1. Plane p of C begins `p * plane_stride` elements further on.
pub const PLANNED_ARGUMENTS: [(&str, &str); 6] = [
    ("a_stride", "u64"),
    ("b_stride", "u64"),
    ("c_stride", "u64"),
    ("c_is_f32", "u32"),
    ("planes", "u32"),
    ("plane_stride", "u64"),
];

/// What a kernel of [`Schedule::PersistentBatch`] takes before these: how many problems the launch has.
pub const BATCH_ARGUMENTS: [(&str, &str); 1] = [("problems", "u32")];

/// What a stream-K kernel takes last: [`StreamKTiles::tiles`], a partial tile for each stream-K block, and a flag for each, which is
/// 0 before and after a launch.
pub const STREAM_ARGUMENTS: [(&str, &str); 3] =
    [("stream_k_tiles", "u32"), ("partial_tiles", "*mut f32"), ("flags", "*mut u32")];

/// What [`Step::fused`] takes last, as a [`Postpass`] does: a bias of C's type, which may be null, and an [`Activation`].
pub const FUSION_ARGUMENTS: [(&str, &str); 3] = [("bias", "*const f32"), ("bias_per", "u32"), ("activation", "u32")];

/// The largest m, n, k or leading dimension, as in BLAS with its signed 32-bit integers: kernels count in 32 bits, and
/// the end of a tile beyond the end of a matrix must not wrap around.
pub const MAX_SIZE: u32 = i32::MAX as u32;

impl Step {
    /// The defaults: one tile per block, no clusters, no arguments but the operands. Names and sizes are missing.
    pub const PLAIN: Self = Self {
        slug: "",
        kernel: "",
        fused: None,
        base: None,
        summary: "",
        source: "",
        precision: Precision::Fp32,
        output: Element::F32,
        target: Target::Sm80,
        tile: Tile { bm: 1, bn: 1, bk: 1, tm: 1, tn: 1 },
        block: [1, 1, 1],
        cluster: [1, 1, 1],
        schedule: Schedule::DataParallel,
        prepasses: &[],
        maps: None,
        transposed: Transposed::ByPrepass,
        smem_bytes: 0,
        dynamic_smem_bytes: 0,
        stage_bytes: 0,
        multicasts: false,
        edge: 0,
        nn_gain: 0,
        vector_loads: false,
        sides: [1, u32::MAX],
        most_columns: u32::MAX,
        adds_in_order: true,
        variants: &[],
    };

    /// The parameters of its kernel, in order: `(name, type)`.
    pub fn arguments(&self) -> impl Iterator<Item = (&'static str, &'static str)> + use<> {
        let (has_maps, streams) = (self.maps.is_some(), matches!(self.schedule, Schedule::StreamK { .. }));
        let splits = self.has_split_operands();
        let (turns, is_planned) = (self.transposed != Transposed::ByPrepass, self.is_planned());
        let (is_fused, has_batch) = (self.is_always_fused(), matches!(self.schedule, Schedule::PersistentBatch { .. }));
        let maps = MAP_ARGUMENTS.into_iter().filter(move |_| has_maps);
        let scales = SCALE_ARGUMENTS.into_iter().filter(move |_| splits);
        KERNEL_ARGUMENTS
            .into_iter()
            .chain(maps)
            .chain(scales)
            .chain(TRANSPOSED_ARGUMENTS.into_iter().filter(move |_| turns))
            .chain(BATCH_ARGUMENTS.into_iter().filter(move |_| has_batch))
            .chain(PLANNED_ARGUMENTS.into_iter().filter(move |_| is_planned))
            .chain(STREAM_ARGUMENTS.into_iter().filter(move |_| streams))
            .chain(FUSION_ARGUMENTS.into_iter().filter(move |_| is_fused))
    }

    /// Whether [`kernel`](Self::kernel) itself has bias and activation in its epilogue.
    #[must_use]
    pub fn is_always_fused(&self) -> bool {
        self.fused == Some(self.kernel)
    }

    /// Whether pre-passes split its operands: [`Split`].
    #[must_use]
    pub const fn has_split_operands(&self) -> bool {
        !self.prepasses.is_empty() && self.prepasses[0].split.is_some()
    }

    /// The parameters of [`fused`](Self::fused), in order.
    pub fn fused_arguments(&self) -> impl Iterator<Item = (&'static str, &'static str)> + use<> {
        let is_missing = !self.is_always_fused();
        self.arguments().chain(FUSION_ARGUMENTS.into_iter().filter(move |_| is_missing))
    }

    /// The kernels that it needs: its own, and those that run before it.
    pub fn kernels(&self) -> impl Iterator<Item = &'static str> + use<> {
        self.kernels_of(self.kernel)
    }

    /// The kernels that are needed with one of its entry points: [`kernel`](Self::kernel) or [`fused`](Self::fused).
    pub fn kernels_of(&self, entry: &'static str) -> impl Iterator<Item = &'static str> + use<> {
        core::iter::once(entry).chain(self.prepasses.iter().map(|prepass| prepass.kernel))
    }

    /// Whether it may be chosen for a C of so many rows and columns: [`sides`](Self::sides), [`most_columns`](Self::most_columns).
    #[must_use]
    pub fn is_made_for(&self, m: u32, n: u32) -> bool {
        (self.sides[0]..=self.sides[1]).contains(&m.min(n).max(1)) && n <= self.most_columns
    }

    /// Threads per block.
    #[must_use]
    pub const fn threads(&self) -> u32 {
        self.block[0] * self.block[1] * self.block[2]
    }

    /// The launch grid for an m x n result on a device of `sm_count` SMs: x along n, y along m, whole clusters; of
    /// [`Schedule::PlannedSplitK`], one split of each problem.
    /// Zero in a dimension means that there is nothing to do.
    #[must_use]
    pub const fn grid(&self, m: u32, n: u32, problems: u32, sm_count: u32) -> [u32; 3] {
        let tiles = self.tiles(m, n);
        let Extent { rows, cols } = tiles;
        let [x, y, z] = match self.schedule {
            Schedule::DataParallel | Schedule::SerialSplitK { .. } => [cols, rows, 1],
            Schedule::PlannedSplitK { .. } => [cols, rows, problems],
            Schedule::SplitK { splits } => [cols, rows, splits],
            Schedule::StreamK { .. } => {
                let stream_k = self.stream_k_tiles(m, n, sm_count);
                [(tiles.count() - stream_k.tiles).saturating_add(stream_k.blocks), 1, 1]
            }
            Schedule::Persistent { group } => [persistent_blocks(persistent_tiles(tiles, group), sm_count), 1, 1],
            Schedule::PersistentBatch { blocks_per_sm, .. } => {
                let group = self.tile_group(m, n, problems, sm_count);
                let tiles = persistent_tiles(tiles, group).saturating_mul(problems);
                let blocks = match self.multicasts {
                    true => persistent_blocks(tiles, sm_count),
                    false => least(tiles, sm_count.saturating_mul(blocks_per_sm)),
                };
                [blocks.next_multiple_of(group.count()), 1, 1]
            }
        };
        let [cluster_x, cluster_y, cluster_z] = self.cluster;
        [x.next_multiple_of(cluster_x), y.next_multiple_of(cluster_y), z.next_multiple_of(cluster_z)]
    }

    /// The blocks of a cluster of [`Schedule::PersistentBatch`], for so many problems in a launch: two tiles above each other where the step
    /// multicasts and no SM computes more tiles for it.
    #[must_use]
    pub const fn tile_group(&self, m: u32, n: u32, problems: u32, sm_count: u32) -> Group {
        const PAIR: Group = Group { columns: 1, rows: 2 };
        let tiles = self.tiles(m, n);
        let persists = matches!(self.schedule, Schedule::PersistentBatch { .. });
        if !(self.multicasts && persists && tiles.rows > 1) {
            return Group::ALONE;
        }
        let sm_count = at_least_1(sm_count);
        let waves = tiles.count().saturating_mul(problems).div_ceil(sm_count);
        let of_pairs = persistent_tiles(tiles, PAIR).saturating_mul(problems).div_ceil(sm_count);
        if of_pairs == waves { PAIR } else { Group::ALONE }
    }

    /// The tiles of an m x n result.
    const fn tiles(&self, m: u32, n: u32) -> Extent {
        Extent { rows: self.tile.bm, cols: self.tile.bn }.tiles_of(Extent { rows: m, cols: n })
    }

    /// The stream-K tiles of an m x n result where the schedule is [`Schedule::StreamK`], and none otherwise: the tiles of the
    /// last, partial wave and one full wave more, so that a work unit is a tile at least and a tile has two splits at most.
    /// Where there are fewer tiles than CTA slots, all of them if the schedule's `max_splits` allows it.
    #[must_use]
    pub const fn stream_k_tiles(&self, m: u32, n: u32, sm_count: u32) -> StreamKTiles {
        let Schedule::StreamK { blocks_per_sm, .. } = self.schedule else {
            return StreamKTiles { tiles: 0, blocks: 0 };
        };
        let tiles = self.tiles(m, n).count();
        let cta_slots = sm_count * blocks_per_sm;
        if tiles.is_multiple_of(cta_slots) || tiles < cta_slots && !self.has_many_splits() {
            return StreamKTiles { tiles: 0, blocks: 0 };
        }
        let full_wave = if tiles < cta_slots { 0 } else { cta_slots };
        StreamKTiles { tiles: tiles % cta_slots + full_wave, blocks: cta_slots }
    }

    /// Whether its schedule is [`Schedule::StreamK`] with more than two splits of a tile.
    #[must_use]
    pub const fn has_many_splits(&self) -> bool {
        matches!(self.schedule, Schedule::StreamK { max_splits: 3.., .. })
    }

    /// The splits of k whose partial tiles are added in order: 1 where all products of an element of C are. `None` where the grid or the
    /// element's place decides. Steps of one precision with equally many give the same bits.
    #[must_use]
    pub const fn k_splits(&self) -> Option<u32> {
        match self.schedule {
            _ if !self.adds_in_order => None,
            Schedule::DataParallel | Schedule::Persistent { .. } | Schedule::PersistentBatch { .. } => Some(1),
            Schedule::SplitK { splits } | Schedule::SerialSplitK { splits } => Some(splits),
            Schedule::StreamK { .. } | Schedule::PlannedSplitK { .. } => None,
        }
    }

    /// Whether a launch has the problems of a batch: its schedule is [`Schedule::PlannedSplitK`] or [`Schedule::PersistentBatch`].
    #[must_use]
    pub const fn is_planned(&self) -> bool {
        matches!(self.schedule, Schedule::PlannedSplitK { .. } | Schedule::PersistentBatch { .. })
    }

    /// Whether its blocks go on from tile to tile.
    #[must_use]
    pub const fn persists(&self) -> bool {
        matches!(self.schedule, Schedule::Persistent { .. } | Schedule::PersistentBatch { .. })
    }

    /// Whether the plan may split k.
    #[must_use]
    pub const fn may_be_split(&self) -> bool {
        matches!(self.schedule, Schedule::PlannedSplitK { reduction_k: 0..MAX_SIZE, .. })
    }

    /// The tile of C that a block computes, alone or with the other blocks along z. `None` for a block of the stream-K tiles.
    /// The tile of a block that pads a cluster may lie beyond the end of C. Of a block that [persists](Self::persists), it is the
    /// first, where each tile has a block of its own.
    #[must_use]
    pub const fn tile_of(&self, block: [u32; 3], m: u32, n: u32, stream_k: StreamKTiles) -> Option<Coord> {
        let [x, y, _] = block;
        match self.schedule {
            Schedule::Persistent { group } => Some(persistent_tile(x, self.tiles(m, n), self.tile.bm, group)),
            Schedule::PersistentBatch { band_rows, .. } => {
                Some(banded_tile(x, self.tiles(m, n), band_rows, self.tile_group(m, n, 1, u32::MAX)))
            }
            Schedule::DataParallel
            | Schedule::SplitK { .. }
            | Schedule::SerialSplitK { .. }
            | Schedule::PlannedSplitK { .. } => Some(Coord { row: y, col: x }),
            Schedule::StreamK { .. } if x < stream_k.blocks => None,
            Schedule::StreamK { .. } => Some(self.tile_at(x - stream_k.blocks + stream_k.tiles, n)),
        }
    }

    /// The tile of an index in row-major order.
    #[must_use]
    pub const fn tile_at(&self, index: u32, n: u32) -> Coord {
        let cols = n.div_ceil(self.tile.bn);
        Coord { row: index / cols, col: index % cols }
    }

    /// Bytes of the reduction workspace of a launch: a partial tile for each stream-K block.
    #[must_use]
    pub const fn partial_tile_bytes(&self, stream_k: StreamKTiles) -> u64 {
        stream_k.blocks as u64 * (self.tile.bm * self.tile.bn) as u64 * 4
    }

    /// Bytes of its flags: one for each stream-K block.
    #[must_use]
    pub const fn flag_bytes(&self, stream_k: StreamKTiles) -> u64 {
        stream_k.blocks as u64 * 4
    }
}

const fn least(one: u32, other: u32) -> u32 {
    if one < other { one } else { other }
}

const fn at_least_1(count: u32) -> u32 {
    if count == 0 { 1 } else { count }
}
