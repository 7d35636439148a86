//! Runs the clusters of a launch on the host's threads and merges their results.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use super::cluster::ClusterRunner;
use super::workers::Workers;
use crate::counters::{ClassCounts, Count};
use crate::exec::state::Grid;
use crate::finding::Finding;
use crate::launch::{BlockIndex, CLASSES, Unit};

/// Results of a launch.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    /// By class of block.
    pub classes: Vec<ClassCounts>,
    /// The blocks of a sample.
    pub blocks: Vec<BlockIndex>,
    pub findings: Vec<Finding>,
    /// The fault that ended the launch early.
    pub fault: Option<Finding>,
}

/// One block in this many has its footprint recorded, and each thread's first block of each class.
const NOTED: u64 = 64;

/// Runs clusters on `threads` threads, those of a unit in order; `go_on` is asked before each unit.
pub(crate) fn run(
    grid: &Grid<'_>,
    units: &(dyn Fn(usize) -> Option<Unit> + Sync),
    is_sample: bool,
    threads: usize,
    go_on: &(dyn Fn(usize) -> bool + Sync),
) -> Outcome {
    let classes = if is_sample { CLASSES } else { 1 };
    let outcome = Mutex::new(Outcome { classes: vec![ClassCounts::default(); classes], ..Outcome::default() });
    let (next, workers) = (AtomicUsize::new(0), Workers::new(threads.max(1)));
    let work = || {
        let worker = workers.number();
        let mut cluster = ClusterRunner::new(grid);
        let (mut own, mut ran) = (vec![ClassCounts::default(); classes], Vec::new());
        let unit = || {
            let index = next.fetch_add(1, Relaxed);
            units(index).filter(|_| !workers.has_stopped() && !grid.is_told_to_stop() && go_on(index))
        };
        let clusters = std::iter::from_fn(unit).flat_map(|unit| unit.clusters().map(move |index| (index, unit.class)));
        for (index, class) in clusters.take_while(|_| !workers.has_stopped()) {
            let class = &mut own[class];
            class.counts.resize(grid.program.instructions.len(), Count::default());
            let note = class.blocks % NOTED == 0;
            if let Err(fault) = cluster.run(grid, index, note, &mut class.counts, (&workers, worker)) {
                workers.stop();
                let mut outcome = outcome.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                outcome.fault.get_or_insert(*fault);
            }
            for block in cluster.blocks() {
                class.blocks += 1;
                if is_sample {
                    ran.push(block.site.index);
                }
                if let Some(footprint) = block.footprint() {
                    class.sectors += footprint.sectors();
                    class.recorded_blocks += 1;
                    class.touched_bytes = class.touched_bytes.max(footprint.touched_bytes());
                }
            }
        }
        workers.end(worker);
        let mut outcome = outcome.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        outcome.classes.iter_mut().zip(&own).for_each(|(class, own)| class.add(own));
        outcome.blocks.append(&mut ran);
        cluster.blocks_mut().for_each(|block| outcome.findings.append(&mut block.take_findings()));
    };
    std::thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(work);
        }
        work();
    });
    outcome.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner)
}
