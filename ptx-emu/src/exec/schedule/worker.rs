//! One host thread of a launch: runs clusters to their end, side by side where they wait for each other.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use super::cluster::{ClusterRunner, Step};
use super::grid::Outcome;
use super::workers::{Next, Workers};
use crate::counters::{ClassCounts, Count};
use crate::exec::state::{Fault, Grid};
use crate::launch::BlockIndex;

/// A cluster to run.
pub(super) struct Due {
    pub index: BlockIndex,
    pub class: usize,
    /// Whether to record its footprint in global memory.
    pub is_noted: bool,
}

/// A host thread, with the clusters that it has begun.
pub(super) struct Worker<'a> {
    pub number: usize,
    grid: &'a Grid<'a>,
    workers: &'a Workers,
    /// Clusters that all threads have begun and not ended.
    resident: &'a AtomicUsize,
    running: Vec<Running>,
    /// For the next clusters.
    spare: Vec<ClusterRunner>,
    /// By class of block.
    classes: Vec<ClassCounts>,
    /// The blocks that ran, if it is a sample.
    ran: Option<Vec<BlockIndex>>,
}

/// A cluster that has begun.
struct Running {
    cluster: ClusterRunner,
    class: usize,
}

impl<'a> Worker<'a> {
    pub(super) fn new(
        grid: &'a Grid<'a>,
        workers: &'a Workers,
        resident: &'a AtomicUsize,
        classes: usize,
        is_sample: bool,
    ) -> Self {
        Self {
            number: workers.number(),
            grid,
            workers,
            resident,
            running: vec![],
            spare: vec![],
            classes: vec![ClassCounts::default(); classes],
            ran: is_sample.then(Vec::new),
        }
    }

    /// Runs clusters until there are none, or the launch is stopped. A cluster begins when those before it have ended, or
    /// when no host thread can proceed without it and the device has room for it.
    pub(super) fn run(&mut self, mut clusters: impl Iterator<Item = Due>) -> Result<(), Fault> {
        let mut idle_rounds = 0;
        loop {
            if self.grid.is_told_to_stop() {
                self.workers.stop();
            }
            if self.workers.has_stopped() || self.running.is_empty() && !self.begin(clusters.next()) {
                return Ok(());
            }
            let epoch = self.workers.epoch();
            if self.step()? {
                idle_rounds = 0;
                continue;
            }
            match self.workers.wait(self.number, epoch, idle_rounds) {
                Next::TryAgain => idle_rounds += 1,
                Next::Stop => return Ok(()),
                Next::GiveUp => {
                    let has_room = self.resident.load(Relaxed) < self.grid.resident_clusters;
                    if has_room && self.begin(clusters.next()) {
                        idle_rounds = 0;
                    } else if !has_room || self.workers.has_none(self.number) {
                        return Err(self.running[0].cluster.deadlock(self.grid));
                    }
                }
            }
        }
    }

    /// Begins a cluster, if there is one.
    fn begin(&mut self, next: Option<Due>) -> bool {
        let Some(Due { index, class, is_noted }) = next.filter(|_| !self.workers.has_stopped()) else { return false };
        self.classes[class].counts.resize(self.grid.program.instructions.len(), Count::default());
        let mut cluster = self.spare.pop().unwrap_or_else(|| ClusterRunner::new(self.grid));
        cluster.start(self.grid, index, is_noted);
        self.resident.fetch_add(1, Relaxed);
        self.running.push(Running { cluster, class });
        true
    }

    /// Gives each warp of its clusters a time slice. Returns whether any of them could use it.
    fn step(&mut self) -> Result<bool, Fault> {
        let (mut any, mut index) = (false, 0);
        while index < self.running.len() {
            let Running { cluster, class } = &mut self.running[index];
            match cluster.step(self.grid, &mut self.classes[*class].counts)? {
                Step::Waits => index += 1,
                Step::Runs { progress } => {
                    if progress {
                        self.workers.progress();
                    }
                    (any, index) = (true, index + 1);
                }
                Step::Done => {
                    self.workers.progress();
                    self.end(index);
                    any = true;
                }
            }
        }
        Ok(any)
    }

    /// Counts the blocks of a cluster that has ended.
    fn end(&mut self, index: usize) {
        let Running { cluster, class } = self.running.remove(index);
        let class = &mut self.classes[class];
        for block in cluster.blocks() {
            class.blocks += 1;
            if let Some(ran) = &mut self.ran {
                ran.push(block.site.index);
            }
            if let Some(footprint) = block.footprint() {
                class.sectors += footprint.sectors();
                class.recorded_blocks += 1;
                class.touched_bytes = class.touched_bytes.max(footprint.touched_bytes());
                class.loaded_bytes = class.loaded_bytes.max(footprint.loaded_bytes());
            }
        }
        self.resident.fetch_sub(1, Relaxed);
        self.spare.push(cluster);
    }

    /// Adds its results to the launch's, those of clusters that have not ended included.
    pub(super) fn finish(mut self, outcome: &mut Outcome) {
        while !self.running.is_empty() {
            self.end(0);
        }
        outcome.classes.iter_mut().zip(&self.classes).for_each(|(class, own)| class.add(own));
        outcome.blocks.extend(self.ran.into_iter().flatten());
        for block in self.spare.iter_mut().flat_map(ClusterRunner::blocks_mut) {
            outcome.findings.append(&mut block.take_findings());
        }
    }
}
