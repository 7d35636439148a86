//! Every step keeps the contract on the CUDA device: one test per step, ignored where there is no device that runs it.
//!
//! The executable needs no cargo, so that it can be taken to a machine with a GPU.

use std::process::ExitCode;

use gpu_kernels::{STEPS, Step};
use host::backend::{BackendChoice, Options, open};
use libtest_mimic::{Arguments, Failed, Trial};
use tests::contract;

fn main() -> ExitCode {
    // One at a time: each step has the device to itself.
    let arguments = Arguments { test_threads: Some(1), ..Arguments::from_args() };
    let capability = match open(BackendChoice::Cuda, Options::default()) {
        Ok(opened) => Some(opened.backend.device().compute_capability),
        Err(error) => {
            eprintln!("the steps are not run: {error}");
            None
        }
    };
    let runs = |step: &Step| capability.is_some_and(|(major, minor)| step.target.runs_on(major, minor));
    let trial =
        |step: &'static Step| Trial::test(step.slug, move || keeps_the_contract(step)).with_ignored_flag(!runs(step));
    libtest_mimic::run(&arguments, STEPS.iter().map(trial).collect()).exit_code()
}

fn keeps_the_contract(step: &'static Step) -> Result<(), Failed> {
    let mut backend = open(BackendChoice::Cuda, Options::default())?.backend;
    let results = contract::run(backend.as_mut(), step)?;
    let failures = contract::failures(&results);
    if failures.is_empty() { Ok(()) } else { Err(failures.join("\n").into()) }
}
