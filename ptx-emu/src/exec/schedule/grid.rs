//! Runs the clusters of a launch on the host's threads and merges their results.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use super::worker::{Due, Worker};
use super::workers::Workers;
use crate::counters::ClassCounts;
use crate::exec::state::Grid;
use crate::finding::Finding;
use crate::launch::{BlockIndex, CLASSES, Plan};

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

/// Runs the plan's clusters on `threads` threads, those of a unit in order.
pub(crate) fn run(grid: &Grid<'_>, plan: &Plan, threads: usize) -> Outcome {
    let is_sample = plan.is_sample();
    let classes = if is_sample { CLASSES } else { 1 };
    let outcome = Mutex::new(Outcome { classes: vec![ClassCounts::default(); classes], ..Outcome::default() });
    let (next, workers, resident) = (AtomicUsize::new(0), Workers::new(threads.max(1)), AtomicUsize::new(0));
    let work = || {
        let mut worker = Worker::new(grid, &workers, &resident, classes, is_sample);
        let unit = || {
            let number = next.fetch_add(1, Relaxed);
            let goes_on = || !workers.has_stopped() && !grid.is_told_to_stop() && plan.has_time(number);
            plan.unit(number).filter(|_| goes_on()).map(|unit| (unit, plan.is_noted(number)))
        };
        let clusters = std::iter::from_fn(unit).flat_map(|(unit, is_noted)| {
            // Of clusters that belong together, one stands for all.
            let due = move |(rank, index)| Due { index, class: unit.class, is_noted: is_noted && rank == 0 };
            unit.clusters().enumerate().map(due)
        });
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
