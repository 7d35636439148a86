//! A block: its warps, and the state that they share.

use std::collections::HashSet;

use super::barrier::{BARRIERS, BarrierState};
use super::cluster::{Cluster, SharedMemory};
use super::footprint::Footprint;
use super::grid::Grid;
use super::mma_queue::MmaQueue;
use super::patterns::Memo;
use super::warp::Warp;
use crate::check::BlockChecks;
use crate::counters::Count;
use crate::finding::{Finding, FindingKind, Rank};
use crate::program::Pc;

/// The finding that ends a launch early.
pub(crate) type Fault = Box<Finding>;

/// A block with its warps, reused for the next block.
pub(crate) struct Block {
    pub warps: Vec<Warp>,
    pub site: Site,
}

/// State shared by the warps of a block.
pub(crate) struct Site {
    pub index: [u32; 3],
    /// Shared memory: the block's own, except during an access to another block's.
    pub shared: SharedMemory,
    /// State shared with the other blocks of the cluster, while this block runs; and its rank among them.
    pub cluster: Cluster,
    pub rank: usize,
    pub checks: BlockChecks,
    pub barriers: [BarrierState; BARRIERS],
    /// By warp, registers of a thread since `setmaxnreg`, and that instruction; 0 before.
    pub registers: Vec<(u32, Pc)>,
    /// By warp, the MMAs in flight.
    pub mmas: Vec<MmaQueue>,
    /// Threads that have not exited the kernel.
    pub live: u32,
    /// Instructions executed, and those of them spent polling.
    pub instructions: u64,
    pub idle_instructions: u64,
    /// Counts before each instruction of a time slice that may turn out to be polling.
    pub counted: Option<Vec<(Pc, Count)>>,
    pub findings: Vec<Finding>,
    pub known: HashSet<(FindingKind, Rank, Pc, Option<Pc>)>,
    pub patterns: Memo,
    /// Footprint in global memory, where it is recorded.
    pub footprint: Option<Footprint>,
}

impl Block {
    /// A block of that rank in its cluster.
    pub(crate) fn new(grid: &Grid<'_>, rank: usize) -> Self {
        let site = Site {
            index: [0; 3],
            shared: SharedMemory::default(),
            cluster: Cluster::default(),
            rank,
            checks: BlockChecks::new(grid.checks, grid.program, grid.warps(), rank),
            barriers: Default::default(),
            registers: vec![],
            mmas: vec![],
            live: 0,
            instructions: 0,
            idle_instructions: 0,
            counted: None,
            findings: vec![],
            known: HashSet::new(),
            patterns: Memo::new(grid.program.instructions.len()),
            footprint: None,
        };
        let (first, named) = (rank * grid.warps(), (grid.cluster_blocks() > 1).then_some(rank as u32));
        let warp = |index| Warp::new(grid.program, index, first + index, named);
        Self { warps: (0..grid.warps()).map(warp).collect(), site }
    }

    pub(crate) fn take_findings(&mut self) -> Vec<Finding> {
        std::mem::take(&mut self.site.findings)
    }

    /// The last block's footprint in global memory, where recorded.
    pub(crate) fn footprint(&self) -> Option<&Footprint> {
        self.site.footprint.as_ref()
    }

    /// Starts the block of that index; `note`: whether to record its footprint in global memory.
    pub(crate) fn start(&mut self, grid: &Grid<'_>, index: [u32; 3], note: bool) {
        self.site.footprint = note.then(Footprint::default);
        self.site.index = index;
        self.site.checks.start();
        self.site.barriers = Default::default();
        self.site.registers.clear();
        self.site.registers.resize(grid.warps(), (0, 0));
        self.site.mmas.clear();
        self.site.mmas.resize_with(grid.warps(), MmaQueue::default);
        self.site.live = grid.threads();
        (self.site.instructions, self.site.idle_instructions) = (0, 0);
        self.warps.iter_mut().for_each(|warp| warp.start(grid, index));
    }

    /// Whether all threads have exited the kernel.
    pub(crate) fn is_done(&self) -> bool {
        self.warps.iter().all(|warp| warp.splits.is_empty())
    }
}
