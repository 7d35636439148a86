//! Runs the clusters of a launch on the host's threads and merges their results.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use super::worker::Worker;
use super::workers::Workers;
use crate::counters::ClassCounts;
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
    let (next, workers, resident) = (AtomicUsize::new(0), Workers::new(threads.max(1)), AtomicUsize::new(0));
    let work = || {
        let mut worker = Worker::new(grid, &workers, &resident, classes, is_sample);
        let unit = || {
            let index = next.fetch_add(1, Relaxed);
            units(index).filter(|_| !workers.has_stopped() && !grid.is_told_to_stop() && go_on(index))
        };
        let clusters = std::iter::from_fn(unit).flat_map(|unit| unit.clusters().map(move |index| (index, unit.class)));
        if let Err(found) = worker.run(clusters.fuse()) {
            workers.stop();
            let mut outcome = outcome.lock().unwrap_or_else(PoisonError::into_inner);
            outcome.fault.get_or_insert(*found);
        }
        workers.end(worker.number);
        worker.finish(&mut outcome.lock().unwrap_or_else(PoisonError::into_inner));
    };
    std::thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(work);
        }
        work();
    });
    outcome.into_inner().unwrap_or_else(PoisonError::into_inner)
}
