//! Every step keeps the contract on the CUDA device: one test per step.

use gpu_kernels::{STEPS, Step};
use host::backend::{BackendChoice, Options, open};
use libtest_mimic::{Failed, Trial};
use tests::contract;

/// The tests, ignored where the device, of this compute capability, does not run the step.
pub fn trials(capability: Option<(u32, u32)>) -> impl Iterator<Item = Trial> {
    let runs = move |step: &Step| capability.is_some_and(|(major, minor)| step.target.runs_on(major, minor));
    STEPS.iter().map(move |step| {
        let name = format!("contract::{}", step.slug);
        Trial::test(name, move || keeps_the_contract(step)).with_ignored_flag(!runs(step))
    })
}

fn keeps_the_contract(step: &'static Step) -> Result<(), Failed> {
    let mut backend = open(BackendChoice::Cuda, Options::default())?.backend;
    let results = contract::run(backend.as_mut(), step)?;
    let failures = contract::failures(&results);
    if failures.is_empty() { Ok(()) } else { Err(failures.join("\n").into()) }
}
