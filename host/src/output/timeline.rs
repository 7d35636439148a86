//! The picture of a distributed product over time.

use std::path::Path;

use report::{Lane, Layout, TaskKind, Theme, TimedTask};
use sgemm::distributed::Queue;

use crate::Error;
use crate::measure::together::{Kind, Ran};

/// Draws to a file when tasks ran. The first text says what they are of, the second where the times come from.
pub(crate) fn draw_timeline(
    path: &Path,
    [title, source]: [&str; 2],
    is_modelled: bool,
    tasks: &[Ran],
) -> Result<(), Error> {
    let ranks = tasks.chunk_by(|one, other| one.rank == other.rank);
    let lanes: Vec<_> = ranks.flat_map(lanes).collect();
    let svg = report::timeline(title, source, is_modelled, &lanes).svg(Layout::Wide, Theme::Auto);
    std::fs::write(path, svg).map_err(|source| Error::Output { path: path.to_owned(), source })
}

/// The queues of a rank that have tasks.
fn lanes(tasks: &[Ran]) -> Vec<Lane> {
    let of_queue = |queue| {
        let own = tasks.iter().filter(move |task| task.queue == queue).map(timed).collect::<Vec<_>>();
        (!own.is_empty()).then_some((queue, own))
    };
    let rank = tasks.first().map_or(0, |task| task.rank);
    let lane = |(index, (queue, tasks)): (usize, (Queue, _))| Lane {
        name: format!("rank {rank}, {}", name(queue)),
        is_first: index == 0,
        tasks,
    };
    Queue::ALL.into_iter().filter_map(of_queue).enumerate().map(lane).collect()
}

fn timed(task: &Ran) -> TimedTask {
    let (kind, what) = match task.kind {
        Kind::Copy => (TaskKind::Copy, "copy"),
        Kind::AllGather => (TaskKind::AllGather, "AllGather"),
        Kind::ReduceScatter => (TaskKind::ReduceScatter, "ReduceScatter"),
        Kind::Prepass => (TaskKind::Prepass, "pre-pass"),
        Kind::Product => (TaskKind::Product, "product"),
    };
    TimedTask { kind, name: format!("{what} of chunk {} of {}", task.chunk, task.matrix), times_us: task.times_us }
}

fn name(queue: Queue) -> &'static str {
    match queue {
        Queue::Compute => "compute",
        Queue::Inbound => "inbound",
        Queue::Outbound => "outbound",
    }
}
