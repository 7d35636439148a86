//! Every step and variant keeps the contract in the emulator, all of its checkers on: one test for each.

use std::process::ExitCode;

use gpu_kernels::{Step, runnable};
use host::PtxSource;
use libtest_mimic::{Arguments, Failed, Trial};
use tests::contract;

fn main() -> ExitCode {
    // One at a time: the emulator itself uses every core.
    let arguments = Arguments { test_threads: Some(1), ..Arguments::from_args() };
    let trial = |step: &'static Step| Trial::test(step.slug, move || keeps_the_contract(step));
    libtest_mimic::run(&arguments, runnable().map(trial).collect()).exit_code()
}

fn keeps_the_contract(step: &'static Step) -> Result<(), Failed> {
    // No budget: every block runs.
    let results = contract::run(&mut tests::emulator(step, PtxSource::BuiltIn, None), step)?;
    let failures = contract::failures(&results);
    if failures.is_empty() { Ok(()) } else { Err(failures.join("\n").into()) }
}
