//! When each task began and ended.

use cudarc::driver::CudaEvent;
use cudarc::driver::sys::CUevent_flags;

use super::communicator::Communicator;
use super::gemm::DistributedGemm;
use crate::Error;
use crate::cuda::failed;

/// When a task ran, in milliseconds since the run began on its rank.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Span {
    /// From here on its queue was free, and what it waits for was done.
    pub start_ms: f32,
    /// When it was done.
    pub end_ms: f32,
}

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

    /// When each task of the last run ran, after it was waited for; empty where times were not kept.
    ///
    /// # Errors
    /// [`Error::Driver`] where no run has kept them.
    pub fn timeline(&self) -> Result<Vec<Span>, Error> {
        let Some(marks) = &self.events.marks else { return Ok(Vec::new()) };
        let time = |event: &CudaEvent| {
            marks.begin.elapsed_ms(event).map_err(|error| failed("ask for the times of tasks".into(), error))
        };
        let span = |[start, end]: &[CudaEvent; 2]| Ok(Span { start_ms: time(start)?, end_ms: time(end)? });
        marks.tasks.iter().map(span).collect()
    }
}
