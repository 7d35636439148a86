//! Counts of one instruction, and of the blocks of one class.

use std::ops::AddAssign;

/// Counts of one instruction, over all warps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Count {
    /// Warps that executed it.
    pub warps: u64,
    /// Active lanes whose guard is true.
    pub lanes: u64,
    /// Of an access: warps with at least one active lane.
    pub requests: u64,
    /// Of an access to global or local memory: sectors of 32 bytes.
    pub sectors: u64,
    /// Of an access: L1 wavefronts; see `coalesce`.
    pub wavefronts: u64,
    /// Of a copy to shared memory: wavefronts of its store.
    pub copy_wavefronts: u64,
    /// Divergences of a branch.
    pub diverged: u64,
}

impl AddAssign for Count {
    fn add_assign(&mut self, other: Self) {
        self.warps += other.warps;
        self.lanes += other.lanes;
        self.requests += other.requests;
        self.sectors += other.sectors;
        self.wavefronts += other.wavefronts;
        self.copy_wavefronts += other.copy_wavefronts;
        self.diverged += other.diverged;
    }
}

/// Counts of the blocks of one class.
#[derive(Debug, Clone, Default)]
pub(crate) struct ClassCounts {
    /// Blocks that ran.
    pub blocks: u64,
    /// Counts by instruction; empty where none ran.
    pub counts: Vec<Count>,
    /// Distinct sectors of global memory, summed over the blocks where they were recorded, and the number of these
    /// blocks.
    pub sectors: u64,
    pub recorded_blocks: u64,
    /// Bytes of the allocations that a block touched, at most.
    pub touched_bytes: u64,
    /// Bytes of those that it loaded from, at most.
    pub loaded_bytes: u64,
}

impl ClassCounts {
    pub(crate) fn add(&mut self, other: &Self) {
        self.blocks += other.blocks;
        self.counts.resize(self.counts.len().max(other.counts.len()), Count::default());
        self.counts.iter_mut().zip(&other.counts).for_each(|(count, other)| *count += *other);
        self.sectors += other.sectors;
        self.recorded_blocks += other.recorded_blocks;
        self.touched_bytes = self.touched_bytes.max(other.touched_bytes);
        self.loaded_bytes = self.loaded_bytes.max(other.loaded_bytes);
    }
}
