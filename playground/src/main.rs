//! Writes what the book's playground loads: one line of JSON for each sample and each step of the ladder.

use std::io::{self, Write};
use std::process::ExitCode;

use playground::steps;

fn main() -> ExitCode {
    match write() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn write() -> Result<(), String> {
    let mut out = io::stdout().lock();
    for lesson in steps::all()? {
        let line = serde_json::to_string(&lesson).map_err(|error| error.to_string())?;
        writeln!(out, "{line}").map_err(|error| error.to_string())?;
    }
    Ok(())
}
