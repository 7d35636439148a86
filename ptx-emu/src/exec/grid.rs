//! A launch: which blocks run, on how many cores, and what comes of it.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

use super::cluster::Team;
use super::workers::Workers;
use crate::check::{Checks, GlobalRaces};
use crate::counters::Count;
use crate::finding::Finding;
use crate::memory::GlobalMemory;
use crate::program::Program;
use crate::registers::LANES;
use crate::sample::{BlockIndex, Unit};

/// Everything about a launch that its blocks share.
pub(crate) struct Grid<'a> {
    pub program: &'a Program,
    pub memory: &'a GlobalMemory,
    /// The kernel's parameters, as bytes.
    pub params: &'a [u8],
    /// Blocks, and threads of a block, by dimension.
    pub grid: [u32; 3],
    pub block: [u32; 3],
    /// Blocks of a cluster, by dimension.
    pub cluster: [u32; 3],
    pub dynamic_shared: u32,
    pub sm_count: u32,
    pub checks: Checks,
    /// Who accessed which global memory, where it is watched.
    pub global_races: Option<GlobalRaces>,
    /// Held while a value in global memory is replaced that is no single word.
    pub wide_atomics: Mutex<()>,
    /// Instructions that the warps of one block may run.
    pub max_instructions: u64,
    /// Ends the launch once it is set.
    pub stop: Option<&'a AtomicBool>,
}

impl Grid<'_> {
    /// Whether the launch is to end before its time.
    pub(super) fn is_told_to_stop(&self) -> bool {
        self.stop.is_some_and(|stop| stop.load(Relaxed))
    }

    pub(super) fn threads(&self) -> u32 {
        self.block.iter().product()
    }

    pub(super) fn warps(&self) -> usize {
        (self.threads() as usize).div_ceil(LANES)
    }

    /// x, y, z of a thread, counted from 0 in its block.
    pub(super) fn thread(&self, thread: u32) -> [u32; 3] {
        let [x, y, _] = self.block;
        [thread % x, thread / x % y, thread / x / y]
    }

    pub(super) fn shared_bytes(&self) -> usize {
        match self.dynamic_shared {
            0 => self.program.shared_bytes as usize,
            dynamic => self.program.dynamic_shared_offset as usize + dynamic as usize,
        }
    }
}

/// What a launch did.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    /// By class of block.
    pub classes: Vec<ClassCounts>,
    /// The blocks that ran.
    pub blocks: Vec<BlockIndex>,
    pub findings: Vec<Finding>,
    /// What ended the launch before its time.
    pub fault: Option<Finding>,
}

/// What the blocks of one class did.
#[derive(Debug, Clone, Default)]
pub(crate) struct ClassCounts {
    /// Blocks that ran.
    pub blocks: u64,
    /// Counts by instruction; empty where none ran.
    pub counts: Vec<Count>,
    /// Distinct sectors of global memory that a block touched: their sum over the blocks in which that was noted, and how
    /// many those were.
    pub sectors: (u64, u64),
    /// Bytes of the allocations that a block touched, at the most.
    pub touched_bytes: u64,
}

impl ClassCounts {
    fn add(&mut self, other: &Self) {
        self.blocks += other.blocks;
        self.counts.resize(self.counts.len().max(other.counts.len()), Count::default());
        self.counts.iter_mut().zip(&other.counts).for_each(|(count, other)| *count += *other);
        self.sectors = (self.sectors.0 + other.sectors.0, self.sectors.1 + other.sectors.1);
        self.touched_bytes = self.touched_bytes.max(other.touched_bytes);
    }
}

/// One block in so many has its footprint noted, and the first of each class that a thread comes to.
const NOTED: u64 = 64;

/// Runs clusters, those of a unit one after the other, on `threads` threads; `go_on` is asked before each unit.
pub(crate) fn run(
    grid: &Grid<'_>,
    units: &(dyn Fn(usize) -> Option<Unit> + Sync),
    classes: usize,
    threads: usize,
    go_on: &(dyn Fn(usize) -> bool + Sync),
) -> Outcome {
    let outcome = Mutex::new(Outcome { classes: vec![ClassCounts::default(); classes], ..Outcome::default() });
    let (next, workers) = (AtomicUsize::new(0), Workers::new(threads.max(1)));
    let work = || {
        let worker = workers.number();
        let mut team = Team::new(grid);
        let (mut own, mut ran) = (vec![ClassCounts::default(); classes], Vec::new());
        let unit = || {
            let index = next.fetch_add(1, Relaxed);
            units(index).filter(|_| !workers.has_stopped() && !grid.is_told_to_stop() && go_on(index))
        };
        let clusters = std::iter::from_fn(unit).flat_map(|unit| unit.clusters().map(move |place| (place, unit.class)));
        for (place, class) in clusters.take_while(|_| !workers.has_stopped()) {
            let class = &mut own[class];
            class.counts.resize(grid.program.instructions.len(), Count::default());
            let note = class.blocks % NOTED == 0;
            if let Err(fault) = team.run(grid, place, note, &mut class.counts, (&workers, worker)) {
                workers.stop();
                let mut outcome = outcome.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                outcome.fault.get_or_insert(*fault);
            }
            for block in team.blocks() {
                class.blocks += 1;
                ran.push(block.site.index);
                if let Some((sectors, bytes)) = block.footprint() {
                    class.sectors = (class.sectors.0 + sectors, class.sectors.1 + 1);
                    class.touched_bytes = class.touched_bytes.max(bytes);
                }
            }
        }
        workers.end(worker);
        let mut outcome = outcome.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        outcome.classes.iter_mut().zip(&own).for_each(|(class, own)| class.add(own));
        outcome.blocks.append(&mut ran);
        team.blocks_mut().for_each(|block| outcome.findings.append(&mut block.take_findings()));
    };
    std::thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(work);
        }
        work();
    });
    outcome.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner)
}
