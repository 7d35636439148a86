//! What a block of [`Schedule::PlannedSplitK`](crate::Schedule::PlannedSplitK) computes of which problem.

use core::ops::Range;

use crate::gemm::Gemm;
use crate::ptx::{cluster, griddepcontrol};
use crate::{Ab, Extent, Group, Splits};

/// [`PLANNED_ARGUMENTS`](crate::PLANNED_ARGUMENTS).
#[derive(Clone, Copy)]
pub(crate) struct Planned {
    pub a_stride: u64,
    pub b_stride: u64,
    pub c_stride: u64,
    pub c_is_f32: bool,
    pub planes: u32,
    pub plane_stride: u64,
}

impl Planned {
    /// Waits for the launch before this one, lets the one behind it begin, and says what this block computes. Every thread calls it, before
    /// any accesses global memory.
    #[inline(always)]
    pub fn begin(self) -> PlannedBlock {
        self.wait();
        self.block()
    }

    /// What this block computes. What follows from it, and is computed before [`wait`](Self::wait), takes no time of its own.
    #[inline(always)]
    pub fn block(self) -> PlannedBlock {
        PlannedBlock::new(self.planes)
    }

    /// The rest of [`begin`](Self::begin).
    #[inline(always)]
    pub fn wait(self) {
        griddepcontrol::wait_then_launch_dependents();
    }

    /// Elements of C before those of the block's problem and plane.
    #[inline(always)]
    pub fn offset_of_c(self, block: PlannedBlock) -> u64 {
        u64::from(block.problem) * self.c_stride + u64::from(block.plane) * self.plane_stride
    }
}

/// A block's place: z is `(problem * planes + plane) * cluster + rank`.
#[derive(Clone, Copy)]
pub(crate) struct PlannedBlock {
    pub problem: u32,
    pub plane: u32,
    planes: u32,
    /// The block's rank among those of its cluster that share the tile's k, and how many these are.
    pub rank: u32,
    pub cluster: u32,
    pub peers: Peers,
}

/// A block's place in its [`Group`](crate::Group), the blocks of a cluster of the same rank.
#[derive(Clone, Copy)]
pub(crate) struct Peers {
    /// Its place along x and y.
    place: [u32; 2],
    /// Blocks along x and y.
    blocks: [u32; 2],
    /// The first one's rank in the whole cluster.
    pub first: u32,
}

/// The blocks of a group that share an operand's k-tiles, and of which each loads a part for all.
#[derive(Clone, Copy)]
pub(crate) struct Shared {
    /// This block's place among them.
    pub place: u32,
    /// How many there are: a power of two.
    pub blocks: u32,
    /// A bit for each, by its rank in the cluster.
    pub mask: u16,
}

impl Peers {
    /// One block, which shares nothing.
    pub const ALONE: Self = Self { place: [0; 2], blocks: [1; 2], first: 0 };

    /// Those of this block.
    #[inline(always)]
    pub fn of_block() -> Self {
        let ([x, y, z], blocks) = (cluster::place(), cluster::blocks_xy());
        Self { place: [x, y], blocks, first: z * blocks[0] * blocks[1] }
    }

    /// Those of a block that goes on from tile to tile: the blocks of a cluster along x have tiles above each other.
    pub fn above_each_other() -> Self {
        Self { place: [0, cluster::place()[0]], blocks: [1, cluster::blocks_xy()[0]], first: 0 }
    }

    /// How many there are, with this block.
    #[inline(always)]
    pub fn count(self) -> u32 {
        self.group().count()
    }

    /// Their group.
    #[inline(always)]
    pub fn group(self) -> Group {
        Group { columns: self.blocks[0], rows: self.blocks[1] }
    }

    /// The block's number among them.
    #[inline(always)]
    fn number(self) -> u32 {
        self.place[1] * self.blocks[0] + self.place[0]
    }

    /// Those side by side, which share A's k-tiles, and those above each other, which share B's.
    #[inline(always)]
    pub fn shared(self) -> Ab<Shared> {
        let ([x, y], [columns, rows]) = (self.place, self.blocks);
        let row = (1 << columns) - 1;
        let every_row = match columns {
            1 => 0b1111_1111,
            2 => 0b0101_0101,
            _ => 0b0001_0001,
        };
        let column = every_row & ((1 << (columns * rows)) - 1);
        let shared = |place, blocks, bits: u32, first: u32| Shared { place, blocks, mask: (bits << first) as u16 };
        Ab { a: shared(x, columns, row, self.first + y * columns), b: shared(y, rows, column, self.first + x) }
    }
}

impl PlannedBlock {
    #[inline(always)]
    pub fn new(planes: u32) -> Self {
        let id = cluster::id_z();
        let (problem, plane) = if planes > 1 { (id / planes, id % planes) } else { (id, 0) };
        Self {
            problem,
            plane,
            planes,
            rank: cluster::place()[2],
            cluster: cluster::blocks_z(),
            peers: Peers::of_block(),
        }
    }

    /// The C of which operands are loaded: this one, or one that no tile leaves.
    #[inline(always)]
    pub fn c_to_load(self, g: &Gemm) -> Extent {
        match (Splits { cluster: self.cluster, planes: self.planes }).have_long_k(g.k) {
            true => Extent { rows: g.m, cols: g.n },
            false => Extent::ENDLESS,
        }
    }

    /// The rank in the cluster of the block of that rank that has the same tile.
    #[inline(always)]
    pub fn rank_of(self, rank: u32) -> u32 {
        rank * self.peers.count() + self.peers.number()
    }

    /// Its part of so many k-tiles.
    #[inline(always)]
    pub fn k_tiles(self, count: u32) -> Range<u32> {
        let of_plane = share(0..count, self.planes, self.plane);
        share(of_plane, self.cluster, self.rank)
    }
}

/// The share of that index of a range that is divided by `shares`: they differ by one at most, and the first are the longer ones.
#[inline(always)]
fn share(whole: Range<u32>, shares: u32, index: u32) -> Range<u32> {
    if shares <= 1 {
        return whole;
    }
    let count = whole.end - whole.start;
    let (each, longer) = (count / shares, count % shares);
    let start = whole.start + index * each + index.min(longer);
    start..start + each + u32::from(index < longer)
}
