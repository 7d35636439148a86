//! When tasks of all ranks ran, where each process knows its own alone.

use results::TaskKind;
use sgemm::distributed::{Plan, Queue, Span, Task, Work};

use crate::Error;
use crate::backend::Ranks;
use crate::verify::distributed::Combine;

/// A task that ran.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ran {
    /// Its rank.
    pub rank: usize,
    /// Its queue.
    pub queue: Queue,
    /// What it did.
    pub kind: TaskKind,
    /// The matrix that it was about.
    pub matrix: &'static str,
    /// The chunk of that.
    pub chunk: usize,
    /// When it began and ended, in microseconds from the beginning of the run on its rank.
    pub times_us: [f64; 2],
}

const MATRICES: [&str; 3] = ["A", "B", "C"];

/// A task in numbers: queue, kind, matrix, chunk, begin and end.
type Numbers = [f64; 6];

impl Ran {
    fn numbers(task: &Task, times_us: [f64; 2]) -> Numbers {
        let kind = match task.work {
            Work::Copy(_) => TaskKind::Copy,
            Work::AllGather { .. } => TaskKind::AllGather,
            Work::ReduceScatter { .. } => TaskKind::ReduceScatter,
            Work::Prepare { .. } => TaskKind::Prepass,
            Work::Product(_) => TaskKind::Product,
        };
        let matrix = MATRICES.iter().position(|matrix| *matrix == task.matrix).unwrap_or_default();
        let [queue, kind, matrix, chunk] = [task.queue as usize, kind as usize, matrix, task.chunk].map(|n| n as f64);
        [queue, kind, matrix, chunk, times_us[0], times_us[1]]
    }

    /// `None` of numbers that no task has.
    fn new(rank: usize, [queue, kind, matrix, chunk, start, end]: Numbers) -> Option<Self> {
        Some(Self {
            rank,
            queue: *Queue::ALL.get(queue as usize)?,
            kind: *TaskKind::ALL.get(kind as usize)?,
            matrix: MATRICES.get(matrix as usize)?,
            chunk: chunk as usize,
            times_us: [start, end],
        })
    }
}

/// The tasks of all ranks, rank by rank in the order of their plans, of the plans and spans that each process has. All processes call it.
///
/// # Errors
/// Those of [`Ranks::combine`].
pub fn gather(ranks: &mut dyn Ranks, plans: &[Plan], spans: &[Span]) -> Result<Vec<Ran>, Error> {
    let mut counts = vec![0.0; ranks.count()];
    plans.iter().for_each(|plan| counts[plan.rank()] = plan.tasks().len() as f64);
    ranks.combine(Combine::Sum, &mut counts)?;
    let most = counts.iter().fold(0.0, |most: f64, count| most.max(*count)) as usize;
    // Each rank's part is 0 elsewhere.
    let mut all = vec![[0.0; 6]; most * counts.len()];
    for span in spans {
        let plan = plans.iter().find(|plan| plan.rank() == span.rank);
        if let Some(task) = plan.and_then(|plan: &Plan| plan.tasks().get(span.task)) {
            all[span.rank * most + span.task] = Ran::numbers(task, [span.start_us, span.end_us]);
        }
    }
    ranks.combine(Combine::Sum, all.as_flattened_mut())?;
    let of_rank = |(rank, count): (usize, &f64)| {
        let tasks = &all[rank * most..][..*count as usize];
        tasks.iter().filter_map(|numbers| Ran::new(rank, *numbers)).collect::<Vec<_>>()
    };
    Ok(counts.iter().enumerate().flat_map(of_rank).collect())
}
