//! The CUDA device: every step keeps the contract, every launch gets what it asks for, and every instruction gives what is
//! recorded. What cannot run here, since there is no device or another one, is ignored.
//!
//! A name says which: `contract::naive`, `layouts::naive`, `library::one call`, `shapes::fp32`,
//! `launches::plain`, `conformance::float`. With `--record FOLDER` the executable writes the
//! recording of the instructions instead, and with `--ptx FOLDER` their PTX, for other tools. It needs no cargo, so that it can be
//! taken to a machine with a GPU.

mod allocations;
mod conformance;
mod crowded;
mod groups;
mod large;
mod launches;
mod library;
mod shapes;
mod steps;
mod streamed;
mod threads;

use std::path::Path;
use std::process::ExitCode;

use host::backend::{BackendChoice, Options, open};
use libtest_mimic::{Arguments, Trial};

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let outcome = match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["--record", folder] => conformance::record(Path::new(folder)),
        ["--ptx", folder] => conformance::write_ptx(Path::new(folder)),
        _ => return test(),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn test() -> ExitCode {
    // One at a time: each has the device to itself.
    let arguments = Arguments { test_threads: Some(1), ..Arguments::from_args() };
    let capability = match open(BackendChoice::Cuda, Options::default()) {
        Ok(opened) => Some(opened.backend.device().compute_capability),
        Err(error) => {
            eprintln!("nothing runs on a device: {error}");
            None
        }
    };
    let trials: Vec<Trial> = steps::trials(capability)
        .chain(library::trials(capability))
        .chain(shapes::trials(capability))
        .chain(launches::trials(capability))
        .chain(conformance::trials(capability))
        .collect();
    libtest_mimic::run(&arguments, trials).exit_code()
}
