//! When each rank computed and communicated, as a record.

use results::{Lane, SCHEMA, TimedTask, Timeline};
use sgemm::distributed::Queue;

use super::{Job, Ran, name};
use crate::backend::{Ranks, now};

/// The record of a job's last run, of so many timed ones, and of the tasks that all ranks ran in it.
#[must_use]
pub fn timeline(ranks: &dyn Ranks, job: &Job, iterations: usize, tasks: &[Ran]) -> Timeline {
    let sgemm::Product { m, n, k, .. } = job.problem.gemm;
    Timeline {
        schema: SCHEMA,
        device: ranks.device().name.clone(),
        modelled: ranks.is_modelled(),
        class: job.class.name().to_owned(),
        m,
        n,
        k,
        gpus: job.scheme.grid.ranks(),
        scheme: name(&job.scheme, job.local().sizes()),
        iterations,
        lanes: tasks.chunk_by(|one, other| one.rank == other.rank).flat_map(lanes).collect(),
        date: now(),
        commit: env!("HOST_COMMIT").to_owned(),
    }
}

/// The queues of a rank that have tasks.
fn lanes(tasks: &[Ran]) -> Vec<Lane> {
    let rank = tasks.first().map_or(0, |task| task.rank);
    let lane = |queue| {
        let own = tasks.iter().filter(move |task| task.queue == queue).map(timed).collect();
        Lane { rank, queue: queue_name(queue).to_owned(), tasks: own }
    };
    Queue::ALL.into_iter().map(lane).filter(|lane| !lane.tasks.is_empty()).collect()
}

fn timed(task: &Ran) -> TimedTask {
    // To a nanosecond.
    let [start_us, end_us] = task.times_us.map(|time_us| (1e3 * time_us).round() / 1e3);
    let name = format!("{} of chunk {} of {}", task.kind.name(), task.chunk, task.matrix);
    TimedTask { kind: task.kind, name, start_us, end_us }
}

fn queue_name(queue: Queue) -> &'static str {
    match queue {
        Queue::Compute => "compute",
        Queue::Inbound => "inbound",
        Queue::Outbound => "outbound",
    }
}
