//! Runs the blocks of a cluster round-robin.
//!
//! The state that a cluster shares moves into the [`Site`] of the block that runs, and that block's shared memory with
//! it. Between time slices, the shared memory of all blocks is in [`Cluster::memories`]. An access to another block's
//! shared memory swaps the two for its duration.

use crate::counters::Count;
use crate::exec::state::{Block, Cluster, Fault, Grid, Round, Site};
use crate::launch::BlockIndex;

/// Priority changes after which spinning lanes are taken to wait for another warp, not for lanes of their own.
const MAX_PRIORITY_CHANGES: u32 = 64;

/// The blocks of a cluster, reused for the next cluster.
pub(crate) struct ClusterRunner {
    blocks: Vec<Block>,
    cluster: Cluster,
    /// Since the last progress.
    priority_changes: u32,
}

/// How a cluster stands after a time slice of each warp.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    Done,
    /// It goes on; `progress`: other clusters may wait for what it did.
    Runs {
        progress: bool,
    },
    /// All warps wait, some of them for other clusters.
    Waits,
}

impl ClusterRunner {
    pub(crate) fn new(grid: &Grid<'_>) -> Self {
        let blocks = grid.cluster_blocks();
        let (cluster, priority_changes) = (Cluster::new(grid, blocks), 0);
        Self { blocks: (0..blocks).map(|rank| Block::new(grid, rank)).collect(), cluster, priority_changes }
    }

    pub(crate) fn blocks(&self) -> impl Iterator<Item = &Block> {
        self.blocks.iter()
    }

    pub(crate) fn blocks_mut(&mut self) -> impl Iterator<Item = &mut Block> {
        self.blocks.iter_mut()
    }

    /// Starts a cluster. `note`: whether to record the footprint in global memory.
    pub(crate) fn start(&mut self, grid: &Grid<'_>, index: BlockIndex, note: bool) {
        self.cluster.start(grid, index);
        for (rank, block) in self.blocks.iter_mut().enumerate() {
            block.start(grid, grid.block_of(index, rank), note);
        }
        self.priority_changes = 0;
    }

    /// Gives each warp a time slice.
    pub(crate) fn step(&mut self, grid: &Grid<'_>, counts: &mut [Count]) -> Result<Step, Fault> {
        let (mut is_done, mut round) = (true, Round::Nothing);
        for rank in 0..self.blocks.len() {
            if !self.blocks[rank].is_done() {
                round = round.max(self.with(rank, |block| block.round(grid, counts))?);
                is_done &= self.blocks[rank].is_done();
            }
        }
        match round {
            _ if is_done => return Ok(Step::Done),
            Round::Progress => self.priority_changes = 0,
            // Lanes may wait for other lanes of their warp.
            Round::Idle { .. } if self.priority_changes < MAX_PRIORITY_CHANGES && self.prioritise_others() => {
                self.priority_changes += 1;
            }
            Round::Idle { of_global: true } => {
                self.priority_changes = 0;
                return Ok(Step::Waits);
            }
            Round::Idle { of_global: false } => return Err(self.deadlock(grid)),
            Round::Nothing => {
                if !(0..self.blocks.len()).any(|rank| self.with(rank, |block| block.proceed_without_lanes(grid))) {
                    return Err(self.deadlock(grid));
                }
            }
        }
        Ok(Step::Runs { progress: round == Round::Progress })
    }

    fn prioritise_others(&mut self) -> bool {
        self.blocks.iter_mut().fold(false, |any, block| any | block.prioritise_others())
    }

    /// Runs `f` with the cluster's state in the block's `Site`.
    fn with<R>(&mut self, rank: usize, f: impl FnOnce(&mut Block) -> R) -> R {
        let block = &mut self.blocks[rank];
        block.site.swap_cluster(&mut self.cluster);
        block.site.swap_memory(rank);
        let result = f(block);
        block.site.swap_memory(rank);
        block.site.swap_cluster(&mut self.cluster);
        result
    }

    /// The fault of a cluster in which no thread can proceed.
    pub(crate) fn deadlock(&mut self, grid: &Grid<'_>) -> Fault {
        let mut waiting = (0..self.blocks.len()).filter(|&rank| !self.blocks[rank].is_done()).collect::<Vec<_>>();
        let first = if waiting.is_empty() { 0 } else { waiting.remove(0) };
        let mut fault = self.with(first, |block| block.deadlock(grid));
        for rank in waiting {
            let whereabouts = self.with(rank, |block| block.whereabouts(grid));
            fault.what += &format!("; in {}, {whereabouts}", grid.peer_block(self.blocks[rank].site.index, rank));
        }
        fault
    }
}

impl Site {
    fn swap_cluster(&mut self, cluster: &mut Cluster) {
        std::mem::swap(&mut self.cluster, cluster);
        std::mem::swap(&mut self.checks.cluster, &mut self.cluster.checks);
        std::mem::swap(&mut cluster.checks, &mut self.cluster.checks);
    }
}
