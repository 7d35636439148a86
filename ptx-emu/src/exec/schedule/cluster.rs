//! Runs the blocks of a cluster round-robin.
//!
//! The state that a cluster shares moves into the [`Site`] of the block that runs, and that block's shared memory with
//! it. Between time slices, the shared memory of all blocks is in [`Cluster::memories`]. An access to another block's
//! shared memory swaps the two for its duration.

use super::workers::{Next, Workers};
use crate::counters::Count;
use crate::exec::state::{Block, Cluster, Fault, Grid, Round, Site};
use crate::launch::BlockIndex;

/// Priority changes after which spinning lanes are taken to wait for another warp, not for lanes of their own.
const MAX_PRIORITY_CHANGES: u32 = 64;

/// The blocks of a cluster, reused for the next cluster.
pub(crate) struct ClusterRunner {
    blocks: Vec<Block>,
    cluster: Cluster,
}

impl ClusterRunner {
    pub(crate) fn new(grid: &Grid<'_>) -> Self {
        let blocks = grid.cluster_blocks();
        Self { blocks: (0..blocks).map(|rank| Block::new(grid, rank)).collect(), cluster: Cluster::new(grid, blocks) }
    }

    pub(crate) fn blocks(&self) -> impl Iterator<Item = &Block> {
        self.blocks.iter()
    }

    pub(crate) fn blocks_mut(&mut self) -> impl Iterator<Item = &mut Block> {
        self.blocks.iter_mut()
    }

    /// Runs a cluster to completion or until the launch is stopped. `note`: whether to record the footprint in global
    /// memory.
    pub(crate) fn run(
        &mut self,
        grid: &Grid<'_>,
        index: BlockIndex,
        note: bool,
        counts: &mut [Count],
        (workers, worker): (&Workers, usize),
    ) -> Result<(), Fault> {
        self.cluster.start(grid, index);
        for (rank, block) in self.blocks.iter_mut().enumerate() {
            block.start(grid, grid.block_of(index, rank), note);
        }
        let (mut idle_rounds, mut priority_changes) = (0, 0);
        loop {
            if grid.is_told_to_stop() {
                workers.stop();
                return Ok(());
            }
            let epoch = workers.epoch();
            let (mut is_done, mut round) = (true, Round::Nothing);
            for rank in 0..self.blocks.len() {
                if !self.blocks[rank].is_done() {
                    round = round.max(self.with(rank, |block| block.round(grid, counts))?);
                    is_done &= self.blocks[rank].is_done();
                }
            }
            match round {
                _ if is_done => return Ok(()),
                Round::Progress => {
                    workers.progress();
                    (idle_rounds, priority_changes) = (0, 0);
                }
                // Lanes may wait for other lanes of their warp.
                Round::Idle { .. } if priority_changes < MAX_PRIORITY_CHANGES && self.prioritise_others() => {
                    priority_changes += 1
                }
                Round::Idle { of_global: true } => {
                    match workers.wait(worker, epoch, idle_rounds) {
                        Next::TryAgain => idle_rounds += 1,
                        Next::Stop => return Ok(()),
                        Next::GiveUp => return Err(self.deadlock(grid)),
                    }
                    priority_changes = 0;
                }
                Round::Idle { of_global: false } => return Err(self.deadlock(grid)),
                Round::Nothing => {
                    if !(0..self.blocks.len()).any(|rank| self.with(rank, |block| block.proceed_without_lanes(grid))) {
                        return Err(self.deadlock(grid));
                    }
                }
            }
        }
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
    fn deadlock(&mut self, grid: &Grid<'_>) -> Fault {
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
