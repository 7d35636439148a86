//! Options that would do nothing beside others: refused, since whoever gives them expects something of them.

use super::args::{Backend, BackendName, Measure, Model};
use crate::Error;

/// Refuses what has no effect where kernels are verified and timed.
pub fn check_measure(args: &Measure) -> Result<(), Error> {
    check_backend(&args.backend, &args.emulator.model)?;
    let timed = [("--graphs", args.graphs), ("--iterations", args.iterations.is_some())];
    let timed = timed.into_iter().chain([("--warmup", args.warmup.is_some())]);
    match args.backend.backend {
        BackendName::Cuda => check([("--full", args.emulator.full)], "a CUDA device runs every block"),
        BackendName::Emulator => check(timed, "the emulator models one time, of plain launches"),
        BackendName::Auto => Ok(()),
    }
}

/// Refuses what is for the backend that was not asked for.
pub fn check_backend(args: &Backend, model: &Model) -> Result<(), Error> {
    match args.backend {
        BackendName::Cuda => check([("--model", model.slug.is_some())], "a CUDA device is measured"),
        BackendName::Emulator => check([("--device", args.device.ordinal.is_some())], "the emulator needs none"),
        BackendName::Auto => Ok(()),
    }
}

fn check(options: impl IntoIterator<Item = (&'static str, bool)>, reason: &str) -> Result<(), Error> {
    match options.into_iter().find(|(_, is_given)| *is_given) {
        Some((option, _)) => Err(Error::NoEffect { option, reason: reason.to_owned() }),
        None => Ok(()),
    }
}
