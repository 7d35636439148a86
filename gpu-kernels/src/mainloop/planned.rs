//! Where the block of a planned split stands: [`crate::Schedule::PlannedSplitK`].

use crate::ptx::cluster;
use core::ops::Range;

/// What a block computes a part of: a problem of the batch, one of its planes, and this block's rank among those that share the plane.
#[derive(Clone, Copy)]
pub(crate) struct Planned {
    pub problem: u32,
    pub plane: u32,
    planes: u32,
    pub rank: u32,
    /// Blocks of the cluster.
    pub blocks: u32,
}

impl Planned {
    /// This block's, where each problem has so many planes.
    #[inline(always)]
    pub fn new(planes: u32) -> Self {
        let (blocks, rank) = (cluster::size(), cluster::rank());
        let cluster = cluster::id_z();
        // SAFETY: a kernel is launched with a plane at least.
        unsafe { core::hint::assert_unchecked(planes > 0 && blocks > 0) };
        let (problem, plane) = if planes == 1 { (cluster, 0) } else { (cluster / planes, cluster % planes) };
        Self { problem, plane, planes, rank, blocks }
    }

    /// Its k-tiles, of all there are: divided evenly among planes, then among the blocks of each.
    #[inline(always)]
    pub fn k_tiles(self, count: u32) -> Range<u32> {
        let plane = share(0..count, self.planes, self.plane);
        share(plane, self.blocks, self.rank)
    }

    /// C, or this block's plane of it, from the address of the first problem's, in elements of so many bytes.
    #[inline(always)]
    pub fn c(self, c: *mut f32, c_stride: u64, plane_stride: u64, element_bytes: usize) -> *mut f32 {
        let elements = u64::from(self.problem) * c_stride + u64::from(self.plane) * plane_stride;
        c.wrapping_byte_add(elements as usize * element_bytes)
    }
}

/// The part of that index among `parts` parts, whose lengths differ by one at most.
#[inline(always)]
fn share(range: Range<u32>, parts: u32, index: u32) -> Range<u32> {
    if parts == 1 {
        return range;
    }
    let count = range.end - range.start;
    let (least, more) = (count / parts, count % parts);
    let start = range.start + index * least + index.min(more);
    start..start + least + u32::from(index < more)
}
