//! State shared by the blocks of a cluster.

use super::bulk::PendingBulk;
use super::grid::Grid;
use crate::check::{ClusterChecks, SharedChecks};
use crate::launch::BlockIndex;

/// What the blocks of a cluster share.
#[derive(Debug, Default)]
pub(crate) struct Cluster {
    /// By rank, shared memory of the blocks that are not running.
    pub memories: Vec<SharedMemory>,
    pub checks: ClusterChecks,
    /// By rank, threads that have not exited.
    pub live: Vec<u32>,
    /// By rank, whether a warp of the block has waited at the cluster barrier: it knows that all blocks have begun.
    pub has_joined: Vec<bool>,
    /// Cluster barrier: threads that have arrived, phases completed, and the phase that the last arrival waits for.
    pub arrived: u32,
    pub phase: u64,
    pub next: u64,
}

/// Shared memory of a block, with the bulk copies in flight to or from it.
#[derive(Debug, Default)]
pub(crate) struct SharedMemory {
    pub bytes: Vec<u8>,
    /// Bulk copies in flight.
    pub bulk: Vec<PendingBulk>,
    pub checks: SharedChecks,
}

impl Cluster {
    pub(crate) fn new(grid: &Grid<'_>, blocks: usize) -> Self {
        let (bytes, granule) = (grid.shared_bytes(), grid.program.shared_granule);
        let memory = |rank| SharedMemory {
            checks: SharedChecks::new(grid.checks, granule, bytes, rank, blocks, grid.warps())
                .with_initialised(grid.program.reserved_shared.clone()),
            ..SharedMemory::default()
        };
        let checks = ClusterChecks::new(grid.checks, blocks, grid.warps());
        Self { memories: (0..blocks).map(memory).collect(), checks, ..Self::default() }
    }

    pub(crate) fn start(&mut self, grid: &Grid<'_>, cluster: BlockIndex) {
        let forget = self.checks.start(grid.cluster_number(cluster));
        for memory in &mut self.memories {
            memory.bytes.clear();
            memory.bytes.resize(grid.shared_bytes(), 0);
            memory.bulk.clear();
            memory.checks.start(forget);
        }
        self.live = vec![grid.threads(); self.memories.len()];
        self.has_joined = vec![false; self.memories.len()];
        (self.arrived, self.phase, self.next) = (0, 0, 0);
    }

    /// Threads that have not exited.
    pub(crate) fn live(&self) -> u32 {
        self.live.iter().sum()
    }

    /// Whether all threads of the block have exited.
    pub(crate) fn has_ended(&self, rank: usize) -> bool {
        self.live[rank] == 0
    }

    /// Completes the barrier's phase if all threads have arrived.
    pub(crate) fn try_complete(&mut self) {
        if self.arrived > 0 && self.arrived >= self.live() {
            self.arrived = 0;
            self.phase += 1;
        }
    }
}
