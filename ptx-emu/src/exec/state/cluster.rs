//! State shared by the blocks of a cluster.

use std::collections::BTreeMap;

use super::bulk::PendingBulk;
use super::grid::Grid;
use crate::check::{ClusterChecks, SharedChecks};
use crate::launch::BlockIndex;
use crate::program::Pc;

/// What the blocks of a cluster share.
#[derive(Debug, Default)]
pub(crate) struct Cluster {
    /// By rank, shared memory of the blocks that are not running.
    pub memories: Vec<SharedMemory>,
    pub checks: ClusterChecks,
    /// By rank, threads that have not exited.
    pub live: Vec<u32>,
    /// By rank, phases of the cluster barrier that warps of the block have waited for: after one it knows that all blocks have begun.
    pub joined: Vec<u64>,
    /// The last access of each warp to another block's shared memory, by that block's rank and the warp.
    pub visits: BTreeMap<(usize, usize), Visit>,
    /// Cluster barrier: threads that have arrived, phases completed, and the phase that the last arrival waits for.
    pub arrived: u32,
    pub phase: u64,
    pub next: u64,
}

/// An access to another block's shared memory.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Visit {
    pub pc: Pc,
    pub lane: usize,
    /// The warp's time.
    pub time: u32,
    /// The phase of the cluster barrier at which the lanes arrive next.
    pub phase: u64,
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
        self.joined = vec![0; self.memories.len()];
        self.visits.clear();
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
