//! The picture of a distributed product over time.

use std::path::Path;

use report::{Lane, Layout, TaskKind, Theme, TimedTask};
use sgemm::distributed::{Plan, Queue, Span, Work};

use crate::Error;

/// Draws when the tasks of these plans ran to a file.
pub(crate) fn draw_timeline(
    path: &Path,
    [title, source]: [&str; 2],
    is_modelled: bool,
    plans: &[Plan],
    spans: &[Span],
) -> Result<(), Error> {
    let lanes: Vec<_> = plans.iter().flat_map(|plan| lanes(plan, spans)).collect();
    let svg = report::timeline(title, source, is_modelled, &lanes).svg(Layout::Wide, Theme::Auto);
    std::fs::write(path, svg).map_err(|source| Error::Output { path: path.to_owned(), source })
}

/// The queues of a rank that have tasks.
fn lanes(plan: &Plan, spans: &[Span]) -> Vec<Lane> {
    let tasks = |queue: Queue| -> Vec<_> {
        let own = spans.iter().filter(|span| span.rank == plan.rank());
        let tasks = own.filter_map(|span| Some((plan.tasks().get(span.task)?, span)));
        tasks
            .filter(|(task, _)| task.queue == queue)
            .map(|(task, span)| TimedTask {
                kind: kind(&task.work),
                name: task.to_string(),
                times_us: [span.start_us, span.end_us],
            })
            .collect()
    };
    let queues = Queue::ALL.map(|queue| (queue, tasks(queue))).into_iter().filter(|(_, tasks)| !tasks.is_empty());
    let lane = |(index, (queue, tasks)): (usize, (Queue, _))| Lane {
        name: format!("rank {}, {}", plan.rank(), name(queue)),
        is_first: index == 0,
        tasks,
    };
    queues.enumerate().map(lane).collect()
}

fn name(queue: Queue) -> &'static str {
    match queue {
        Queue::Compute => "compute",
        Queue::Inbound => "inbound",
        Queue::Outbound => "outbound",
    }
}

fn kind(work: &Work) -> TaskKind {
    match work {
        Work::Copy(_) => TaskKind::Copy,
        Work::AllGather { .. } => TaskKind::AllGather,
        Work::ReduceScatter { .. } => TaskKind::ReduceScatter,
        Work::Prepare { .. } => TaskKind::Prepass,
        Work::Product(_) => TaskKind::Product,
    }
}
