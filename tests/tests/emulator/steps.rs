//! Every step and variant keeps the contract in the emulator, all of its checkers on: one test for each.

use gpu_kernels::{Step, runnable};
use host::PtxSource;
use libtest_mimic::{Failed, Trial};
use tests::contract;

pub fn trials() -> impl Iterator<Item = Trial> {
    runnable().map(|step| Trial::test(format!("contract::{}", step.slug), move || keeps_the_contract(step)))
}

fn keeps_the_contract(step: &'static Step) -> Result<(), Failed> {
    // No budget: every block runs.
    let results = contract::run(&mut tests::emulator(step, PtxSource::BuiltIn, None), step)?;
    let failures = contract::failures(&results);
    if failures.is_empty() { Ok(()) } else { Err(failures.join("\n").into()) }
}
