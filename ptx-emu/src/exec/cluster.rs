//! A cluster: blocks that run together, in turn, reach each other's shared memory and have a barrier in common.
//!
//! While a block runs, it has what the cluster shares in its [`Site`], and its own shared memory stands there. Outside of its
//! turn, that is with the others' in [`Cluster::memories`]. An access to the memory of another block exchanges the two meanwhile.

use super::block::{Block, Fault, Site};
use super::bulk::PendingBulk;
use super::grid::Grid;
use super::poll::Round;
use super::warp::{Split, Wait, Warp};
use super::workers::{Next, Workers};
use crate::check::{ClusterChecks, SharedChecks};
use crate::counters::Count;
use crate::finding::Thread;
use crate::lanes::lanes_of;
use crate::memory::window;
use crate::program::ClusterBarrier;
use crate::registers::{LANES, Mask};
use crate::sample::BlockIndex;

/// How often others of a warp's lanes may go first before it is taken that they wait for somebody else.
const MAX_FAVOURS: u32 = 64;

/// The blocks of a cluster. They are used for one cluster after the other.
pub(super) struct Team {
    blocks: Vec<Block>,
    cluster: Cluster,
}

/// What the blocks of a cluster share.
#[derive(Debug, Default)]
pub(super) struct Cluster {
    /// By rank, shared memory of the blocks that do not run right now.
    memories: Vec<SharedMemory>,
    checks: ClusterChecks,
    /// By rank, threads that have not left the kernel.
    live: Vec<u32>,
    /// Of the barrier: threads that have arrived, how often it has opened, and how often it will have when those go on that
    /// arrived last.
    pub(super) arrived: u32,
    pub(super) phase: u64,
    next: u64,
}

/// A block's shared memory, and what goes on there.
#[derive(Debug, Default)]
pub(super) struct SharedMemory {
    pub bytes: Vec<u8>,
    /// Bulk copies that nobody has waited for.
    pub bulk: Vec<PendingBulk>,
    checks: SharedChecks,
}

impl Team {
    pub(super) fn new(grid: &Grid<'_>) -> Self {
        let blocks = grid.cluster_blocks();
        Self { blocks: (0..blocks).map(|rank| Block::new(grid, rank)).collect(), cluster: Cluster::new(grid, blocks) }
    }

    pub(super) fn blocks(&self) -> impl Iterator<Item = &Block> {
        self.blocks.iter()
    }

    pub(super) fn blocks_mut(&mut self) -> impl Iterator<Item = &mut Block> {
        self.blocks.iter_mut()
    }

    /// Runs the cluster of that place among the clusters to its end, or until the launch is told to stop; `note` says whether to note what its blocks touch of global
    /// memory.
    pub(super) fn run(
        &mut self,
        grid: &Grid<'_>,
        place: BlockIndex,
        note: bool,
        counts: &mut [Count],
        (workers, worker): (&Workers, usize),
    ) -> Result<(), Fault> {
        self.cluster.start(grid, place);
        for (rank, block) in self.blocks.iter_mut().enumerate() {
            block.start(grid, grid.block_of(place, rank), note);
        }
        let (mut in_vain, mut favours) = (0, 0);
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
                    (in_vain, favours) = (0, 0);
                }
                // Lanes may wait for others of their warp.
                Round::Idle { .. } if favours < MAX_FAVOURS && self.favour_others() => favours += 1,
                Round::Idle { of_global: true } => {
                    match workers.wait(worker, epoch, in_vain) {
                        Next::TryAgain => in_vain += 1,
                        Next::Stop => return Ok(()),
                        Next::GiveUp => return Err(self.deadlock(grid)),
                    }
                    favours = 0;
                }
                Round::Idle { of_global: false } => return Err(self.deadlock(grid)),
                Round::Nothing => {
                    if !(0..self.blocks.len()).any(|rank| self.with(rank, |block| block.give_up_on_lanes(grid))) {
                        return Err(self.deadlock(grid));
                    }
                }
            }
        }
    }

    fn favour_others(&mut self) -> bool {
        self.blocks.iter_mut().fold(false, |any, block| any | block.favour_others())
    }

    /// Runs `f` with what the cluster shares in the block's hands.
    fn with<R>(&mut self, rank: usize, f: impl FnOnce(&mut Block) -> R) -> R {
        let block = &mut self.blocks[rank];
        block.site.swap_cluster(&mut self.cluster);
        block.site.swap_memory(rank);
        let result = f(block);
        block.site.swap_memory(rank);
        block.site.swap_cluster(&mut self.cluster);
        result
    }

    /// Everybody waits: says for what.
    fn deadlock(&mut self, grid: &Grid<'_>) -> Fault {
        let mut waiting = (0..self.blocks.len()).filter(|&rank| !self.blocks[rank].is_done()).collect::<Vec<_>>();
        let first = if waiting.is_empty() { 0 } else { waiting.remove(0) };
        let mut fault = self.with(first, |block| block.deadlock(grid));
        for rank in waiting {
            let whereabouts = self.with(rank, |block| block.whereabouts(grid));
            fault.what += &format!("; in {}, {whereabouts}", grid.neighbour(self.blocks[rank].site.index, rank));
        }
        fault
    }
}

impl Cluster {
    fn new(grid: &Grid<'_>, blocks: usize) -> Self {
        let (bytes, granule, sizes) = (grid.shared_bytes(), grid.program.shared_granule, [blocks, grid.warps()]);
        let memory = |rank| SharedMemory {
            checks: SharedChecks::new(grid.checks, granule, bytes, rank, sizes),
            ..SharedMemory::default()
        };
        let checks = ClusterChecks::new(grid.checks, blocks, grid.warps());
        Self { memories: (0..blocks).map(memory).collect(), checks, ..Self::default() }
    }

    fn start(&mut self, grid: &Grid<'_>, place: BlockIndex) {
        let forget = self.checks.start(grid.place_number(place));
        for memory in &mut self.memories {
            memory.bytes.clear();
            memory.bytes.resize(grid.shared_bytes(), 0);
            memory.bulk.clear();
            memory.checks.start(forget);
        }
        self.live = vec![grid.threads(); self.memories.len()];
        (self.arrived, self.phase, self.next) = (0, 0, 0);
    }

    /// Threads that have not left the kernel.
    pub(super) fn live(&self) -> u32 {
        self.live.iter().sum()
    }

    /// Whether all threads of the block have left the kernel.
    pub(super) fn has_ended(&self, rank: usize) -> bool {
        self.live[rank] == 0
    }

    /// Opens the barrier if everybody has arrived.
    fn try_open(&mut self) {
        if self.arrived > 0 && self.arrived >= self.live() {
            self.arrived = 0;
            self.phase += 1;
        }
    }
}

impl Site {
    /// Exchanges the block's own shared memory for that of the block of that rank.
    pub(super) fn swap_memory(&mut self, rank: usize) {
        let memory = &mut self.cluster.memories[rank];
        std::mem::swap(&mut self.shared, memory);
        // The checkers' part goes where they look for it.
        std::mem::swap(&mut self.checks.memory, &mut self.shared.checks);
        std::mem::swap(&mut memory.checks, &mut self.shared.checks);
    }

    fn swap_cluster(&mut self, cluster: &mut Cluster) {
        std::mem::swap(&mut self.cluster, cluster);
        std::mem::swap(&mut self.checks.cluster, &mut self.cluster.checks);
        std::mem::swap(&mut cluster.checks, &mut self.cluster.checks);
    }

    /// Those lanes that access the same block's shared memory as the first of them, and that block's rank if it is another
    /// one. Leaves the addresses there.
    pub(super) fn same_block(&self, places: &mut [u64; LANES], lanes: Mask) -> (Option<usize>, Mask) {
        let (blocks, own) = (self.cluster.memories.len() as u64, self.rank as u64);
        let named = window::of_rank(0, self.rank as u32);
        if places.iter().fold(0, |all, place| all | (place ^ named)) < window::RANK {
            *places = places.map(|place| place ^ named);
            return (None, lanes);
        }
        let ranks = places.map(|place| Some(window::rank(place).unwrap_or(own)).filter(|&rank| rank < blocks));
        let first = ranks[lanes.trailing_zeros() as usize % LANES];
        let same = lanes_of(lanes).filter(|&lane| ranks[lane] == first).fold(0, |mask, lane| mask | 1 << lane);
        let Some(rank) = first else { return (None, same) };
        *places = places.map(|place| place % window::RANK);
        (Some(rank as usize).filter(|&rank| rank != self.rank), same)
    }

    /// An address in shared memory without the block's rank, if that is the own one.
    pub(super) fn own_place(&self, place: u64) -> u64 {
        if window::rank(place) == Some(self.rank as u64) { place % window::RANK } else { place }
    }

    /// Runs `f` with the shared memory of the block of that rank in place of the own one, if there is another.
    pub(super) fn in_memory_of<R>(&mut self, rank: Option<usize>, f: impl FnOnce(&mut Self) -> R) -> R {
        let Some(rank) = rank else { return f(self) };
        self.swap_memory(rank);
        let result = f(self);
        self.swap_memory(rank);
        result
    }

    /// Lanes come to the barrier of the cluster.
    pub(super) fn cluster_barrier(&mut self, grid: &Grid<'_>, warp: &mut Warp, index: usize, barrier: &ClusterBarrier) {
        let Split { pc, mask, .. } = warp.splits[index];
        let phase = self.cluster.phase;
        let has_arrived = |&lane: &usize| warp.arrivals[lane] != 0;
        let what =
            if barrier.waits { "waits here without having arrived" } else { "arrives again without having waited" };
        if let Some(lane) = lanes_of(mask).find(|lane| has_arrived(lane) != barrier.waits) {
            self.complain(grid, (warp.number, lane, pc), format!("it {what} at the cluster's barrier"));
        }
        if !barrier.waits {
            lanes_of(mask).for_each(|lane| warp.arrivals[lane] = phase + 1);
            let is_first = std::mem::replace(&mut self.cluster.next, phase + 1) != phase + 1;
            self.checks.arrive_at_cluster(warp.number, phase, is_first);
            self.cluster.arrived += mask.count_ones();
            (warp.splits[index].pc, warp.splits[index].wait) = (pc + 1, Wait::Nothing);
            self.cluster.try_open();
            return self.release(grid, warp);
        }
        // It has opened for those that arrived before it did.
        let is_past = |&lane: &usize| (1..=phase).contains(&warp.arrivals[lane]);
        let past = lanes_of(mask).filter(is_past).fold(0, |mask, lane| mask | 1 << lane);
        if past != 0 {
            self.checks.pass_cluster(warp.number, phase - 1);
            lanes_of(past).for_each(|lane| warp.arrivals[lane] = 0);
        }
        let split = &mut warp.splits[index];
        if past == mask {
            (split.pc, split.wait) = (pc + 1, Wait::Nothing);
            return;
        }
        (split.mask, split.wait) = (mask & !past, Wait::Cluster(phase));
        if past != 0 {
            warp.splits.push(Split { pc: pc + 1, mask: past, wait: Wait::Nothing });
        }
    }

    /// Lanes leave the kernel: neither does the cluster's barrier wait for them, nor have they arrived.
    pub(super) fn exit_cluster(&mut self, arrivals: &[u64; LANES], mask: Mask) {
        let arrived = lanes_of(mask).filter(|&lane| arrivals[lane] > self.cluster.phase).count();
        self.cluster.arrived = self.cluster.arrived.saturating_sub(arrived as u32);
        self.cluster.live[self.rank] -= mask.count_ones();
        self.cluster.try_open();
    }
}

impl Grid<'_> {
    /// Blocks of a cluster.
    pub(super) fn cluster_blocks(&self) -> usize {
        self.cluster.iter().product::<u32>() as usize
    }

    /// A block's rank in its cluster.
    pub(super) fn rank(&self, block: BlockIndex) -> usize {
        let [x, y, z] = std::array::from_fn(|dimension| block[dimension] % self.cluster[dimension]);
        (x + self.cluster[0] * (y + self.cluster[1] * z)) as usize
    }

    /// The block of that rank in the cluster of that place among the clusters.
    fn block_of(&self, place: BlockIndex, rank: usize) -> BlockIndex {
        let ([x, y, _], rank) = (self.cluster, rank as u32);
        let inside = [rank % x, rank / x % y, rank / x / y];
        std::array::from_fn(|dimension| place[dimension] * self.cluster[dimension] + inside[dimension])
    }

    /// The place among the clusters of that which a block is in.
    pub(super) fn place(&self, block: BlockIndex) -> BlockIndex {
        std::array::from_fn(|dimension| block[dimension] / self.cluster[dimension])
    }

    /// The number of the cluster of that place, counted along x, then y, then z; [`Grid::place_of`] is the opposite.
    fn place_number(&self, [x, y, z]: BlockIndex) -> u32 {
        let [columns, rows, _] = self.place(self.grid);
        let number = |size: u32, last: u32, number: u32| last.wrapping_mul(size).wrapping_add(number);
        number(columns, number(rows, z, y), x)
    }

    pub(super) fn place_of(&self, number: u32) -> BlockIndex {
        let [columns, rows, _] = self.place(self.grid);
        [number % columns, number / columns % rows, number / columns / rows]
    }

    /// The thread of that number in the cluster of that place.
    pub(super) fn thread_of(&self, place: BlockIndex, number: usize) -> Thread {
        let of_block = self.warps() * LANES;
        let block = self.block_of(place, number / of_block);
        Thread { thread: self.thread((number % of_block) as u32), block }
    }

    /// The block of that rank in the cluster of a block, in words.
    pub(super) fn neighbour(&self, block: BlockIndex, rank: usize) -> String {
        let [x, y, z] = self.block_of(self.place(block), rank);
        format!("block ({x}, {y}, {z})")
    }
}
