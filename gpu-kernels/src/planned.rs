//! What a block of [`Schedule::PlannedSplitK`](crate::Schedule::PlannedSplitK) computes of which problem.

use core::ops::Range;

use crate::ptx::{cluster, griddepcontrol};

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
        griddepcontrol::wait_then_launch_dependents();
        PlannedBlock::new(self.planes)
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
    /// The block's rank in its cluster, and the cluster's blocks.
    pub rank: u32,
    pub cluster: u32,
}

impl PlannedBlock {
    #[inline(always)]
    pub fn new(planes: u32) -> Self {
        let id = cluster::id_z();
        let (problem, plane) = if planes > 1 { (id / planes, id % planes) } else { (id, 0) };
        Self { problem, plane, planes, rank: cluster::rank(), cluster: cluster::blocks_z() }
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
