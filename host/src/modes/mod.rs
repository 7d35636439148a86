//! What the program can be asked to do, one file each.

mod accuracy;
mod count;
mod measure;
mod tune;

pub use accuracy::accuracy;
pub use count::{counters, explain};
pub use measure::measure;
pub use tune::tune;

use host::Error;
use host::backend::{self, Backend, Opened, Options};

use crate::cli::Args;
use crate::output;

/// Opens the backend that was asked for, and says so where it is not the one that one would expect.
fn open(args: &Args, options: Options) -> Result<Box<dyn Backend>, Error> {
    let Opened { backend, no_cuda } = backend::open(args.backend.into(), options)?;
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
