//! The program: its command line, what each command does, its progress bar, Ctrl-C.

mod args;
mod commands;
mod effects;
mod interrupt;
mod launcher;
mod progress;
mod request;
mod shape;
mod values;

use std::process::ExitCode;

use clap::Parser;

use crate::output;
use args::CommandLine;
use request::RunRequest;

/// Runs the program on the process's arguments.
#[must_use]
pub fn main() -> ExitCode {
    let result = match CommandLine::try_parse() {
        Ok(arguments) => RunRequest::new(arguments).and_then(|request| match request {
            Some(request) => commands::run(&request),
            None => commands::list(),
        }),
        Err(message) => output::print_clap(&message),
    };
    match result {
        Ok(code) => code.into(),
        Err(error) if output::reader_has_gone(&error) => ExitCode::SUCCESS,
        Err(error) => {
            output::complain(&format!("error: {error}"));
            error.exit_code().into()
        }
    }
}
