//! One product over several GPUs: processes are started, or this one is a rank, or the emulator has all ranks.

mod rank;
mod session;

use std::time::Duration;

use indicatif::ProgressBar;

use crate::backend::emulator::EmulatedRanks;
use crate::backend::{BackendChoice, cuda};
use crate::cli::request::{Role, RunRequest, Together};
use crate::cli::{interrupt, launcher};
use crate::{Error, output};

/// Beyond the deadline of ranks, their parent waits for them so long: they end themselves, and say more.
const PARENTS_PATIENCE: Duration = Duration::from_secs(10);

/// Verifies and times each problem over all ranks. Returns the exit code.
pub fn together(request: &RunRequest, together: &Together) -> Result<u8, Error> {
    match &together.role {
        Role::Rank(_) if request.backend == BackendChoice::Emulator => Err(Error::NotTogether {
            option: "--backend emulator",
            reason: "it has all ranks in one process: give --gpus, and start the program once",
        }),
        Role::Rank(launched) => rank::run(request, together, launched),
        Role::First(count) if request.backend == BackendChoice::Emulator => emulate(request, together, *count),
        Role::First(count) => match cuda::device_count() {
            Ok(devices) if *count > devices => Err(Error::TooFewGpus { asked: *count, count: devices }),
            Ok(_) => start(together, *count),
            Err(Error::NoDriver | Error::NoDevice { .. }) if request.backend == BackendChoice::Auto => {
                let device = request.options.model.name;
                let instead = format!("the emulator runs all ranks on the CPU, and times are modelled for {device}");
                output::complain(&format!("note: no CUDA device was found: {instead}"));
                emulate(request, together, *count)
            }
            Err(error) => Err(error),
        },
    }
}

/// Starts a process for each rank, and waits for them.
fn start(together: &Together, count: usize) -> Result<u8, Error> {
    let stop = interrupt::stop(&ProgressBar::hidden());
    let processes = launcher::processes(&std::env::args_os().skip(1).collect::<Vec<_>>(), count)?;
    launcher::run(processes, together.deadline + PARENTS_PATIENCE, &stop)
}

/// Has the emulator run all ranks.
fn emulate(request: &RunRequest, together: &Together, count: usize) -> Result<u8, Error> {
    interrupt::instead(|| {
        output::complain("interrupted");
        std::process::exit(interrupt::EXIT_CODE.into());
    });
    let mut ranks = EmulatedRanks::new(request.options.model, count, request.problems.seed());
    session::run(&mut ranks, request, together)
}
