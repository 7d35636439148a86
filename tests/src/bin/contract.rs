//! Runs the contract of every step on the CUDA device, for machines that have a GPU and no cargo.

use std::process::ExitCode;

use host::PtxSource;
use host::backend::{BackendChoice, open};
use tests::contract;

fn main() -> ExitCode {
    let results = open(BackendChoice::Cuda, 0, PtxSource::BuiltIn).and_then(|mut backend| {
        println!("device: {}", backend.device().name);
        contract::run_all(backend.as_mut())
    });
    let (results, skipped) = match results {
        Ok(results) => results,
        Err(error) => {
            eprintln!("error: {error}");
            return ExitCode::FAILURE;
        }
    };
    for slug in skipped {
        println!("{slug}: skipped, the device cannot run it");
    }
    let mut failed = 0;
    for result in &results {
        if let Some(failure) = &result.failure {
            println!("{}: {}: {failure}", result.step, result.case);
            failed += 1;
        }
    }
    println!("{} passed, {failed} failed", results.len() - failed);
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
