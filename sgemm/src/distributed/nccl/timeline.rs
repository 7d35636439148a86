//! When each task began and ended.

use cudarc::driver::CudaEvent;
use cudarc::driver::sys::CUevent_flags;

use super::communicator::Communicator;
use super::gemm::DistributedGemm;
use crate::Error;
use crate::cuda::failed;
use crate::distributed::grid::Axis;
use crate::distributed::plan::Plan;
use crate::distributed::simulate::Span;

/// Events that know the time.
#[derive(Debug)]
pub struct Marks {
    /// When the run began.
    pub begin: CudaEvent,
    /// When each task began and ended.
    pub tasks: Vec<[CudaEvent; 2]>,
}

impl Marks {
    fn new(communicator: &Communicator, tasks: usize) -> Result<Self, Error> {
        let event = || communicator.event(CUevent_flags::CU_EVENT_DEFAULT);
        let tasks = (0..tasks).map(|_| Ok([event()?, event()?])).collect::<Result<_, Error>>()?;
        Ok(Self { begin: event()?, tasks })
    }
}

impl DistributedGemm {
    /// Whether runs from now on keep the times of their tasks, which costs two events each.
    ///
    /// # Errors
    /// [`Error::Driver`] where events cannot be created.
    pub fn keep_times(&mut self, keep: bool) -> Result<(), Error> {
        self.events.marks = if keep { Some(Marks::new(&self.communicator, self.plan.tasks().len())?) } else { None };
        Ok(())
    }

    /// When each task of the last run ran on this rank, after it was waited for: from when its queue was free, and what it waits for was
    /// done. Times begin with the run on this rank. Empty where times were not kept.
    ///
    /// # Errors
    /// [`Error::Driver`] where no run has kept them, or the last one was not waited for.
    pub fn timeline(&self) -> Result<Vec<Span>, Error> {
        let Some(marks) = &self.events.marks else { return Ok(Vec::new()) };
        let what = || "ask for the times of tasks".to_owned();
        if self.queued.is_some() {
            // The driver would wait for it, without a deadline.
            return Err(Error::Driver { what: what(), code: "the run was not waited for".into() });
        }
        let time = |event: &CudaEvent| {
            let time = marks.begin.elapsed_ms(event).map(|time_ms| f64::from(time_ms) * 1000.0);
            time.map_err(|error| failed(what(), error))
        };
        let (rank, collectives) = (self.plan.rank(), collectives(&self.plan));
        let span = |(task, [start, end]): (usize, &[CudaEvent; 2])| {
            // Events of different streams may be some microseconds out of their order.
            let start_us = time(start)?.max(0.0);
            let end_us = time(end)?.max(start_us);
            Ok(Span { rank, task, start_us, end_us, collective: collectives[task] })
        };
        marks.tasks.iter().enumerate().map(span).collect()
    }
}

/// The number of each task's collective, which is the same on all ranks that take part: from that of the first of them, the axis, and
/// how many there were before along it.
fn collectives(plan: &Plan) -> Vec<Option<usize>> {
    let (grid, mut counts) = (plan.scheme().grid, [0; Axis::ALL.len()]);
    let number = |axis: Axis, count: &mut usize| {
        let group = grid.group(plan.rank(), axis)[0] * Axis::ALL.len() + axis as usize;
        *count += 1;
        group + (*count - 1) * grid.ranks() * Axis::ALL.len()
    };
    plan.tasks().iter().map(|task| task.collective().map(|axis| number(axis, &mut counts[axis as usize]))).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;
    use crate::distributed::{Grid, Scheme};
    use crate::{Device, Problem};

    /// The ranks that have a number are those of its axis, and each has it once.
    #[test]
    fn a_collective_has_one_number_on_all_its_ranks() {
        let problem = Problem::new(300, 200, 100);
        let grid = Grid { rows: 2, columns: 3, layers: 2 };
        let scheme = Scheme::panels(problem.sizes(), grid);
        let mut found: HashMap<usize, (Axis, Vec<usize>)> = HashMap::new();
        for rank in 0..grid.ranks() {
            let plan = Plan::new(&problem, &scheme, rank, &Device::new("NVIDIA H200", (9, 0), 132)).unwrap();
            for (task, number) in plan.tasks().iter().zip(collectives(&plan)) {
                assert_eq!(task.collective().is_some(), number.is_some());
                let Some((axis, number)) = task.collective().zip(number) else { continue };
                let (of, ranks) = found.entry(number).or_insert((axis, Vec::new()));
                assert_eq!(*of, axis);
                ranks.push(rank);
            }
        }
        assert!(found.len() > 12);
        assert!(found.values().all(|(axis, ranks)| grid.group(ranks[0], *axis) == *ranks));
    }
}
