//! What each command does, one file each.

mod accuracy;
mod counters;
mod explain;
mod list;
mod measure;
mod shapes;
mod together;
mod tune;

pub use list::list;

use super::request::{RunRequest, Task};
use crate::Error;
use crate::backend::{self, Backend, BackendChoice, Opened, Options};
use crate::output;

/// Does what is asked for. Returns the exit code: 1 where a kernel failed while the others went on.
pub fn run(request: &RunRequest) -> Result<u8, Error> {
    match &request.task {
        Task::Measure(measurement) => measure::measure(request, measurement),
        Task::Together(together) => together::together(request, together),
        Task::Explain(step) => explain::explain(request, step),
        Task::Accuracy(study) => accuracy::accuracy(request, study),
        Task::Counters(steps) => counters::counters(request, steps),
        Task::Shapes(sweep) => shapes::shapes(request, sweep),
        Task::Tune(search) => tune::tune(request, search),
    }
}

/// Opens the backend that was asked for, and says so where it is not the one that one would expect.
fn open(choice: BackendChoice, options: Options) -> Result<Box<dyn Backend>, Error> {
    let Opened { backend, no_cuda } = backend::open(choice, options)?;
    if let Some(reason) = no_cuda {
        let reason = match reason {
            Error::NoDriver | Error::NoDevice { .. } => "no CUDA device was found".to_owned(),
            other => other.to_string(),
        };
        let device = &backend.device().name;
        let instead = "the emulator runs the kernels on the CPU, and times are modelled for";
        output::complain(&format!("note: {reason}: {instead} {device}"));
    }
    Ok(backend)
}

/// Says what failed. Returns the exit code: that of the worst of it, or `exit_code`.
fn complain(failures: &[Error], exit_code: u8) -> u8 {
    failures.iter().for_each(|error| output::complain(&format!("error: {error}")));
    failures.iter().map(Error::exit_code).fold(exit_code, u8::max)
}
