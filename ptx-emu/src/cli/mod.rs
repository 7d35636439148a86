//! The program: its command line, and what each command does.

mod args;
mod arguments;
mod buffers;
mod counters;
mod debug;
mod error;
#[cfg(target_os = "linux")]
mod exec;
mod findings;
mod input;
mod kernels;
mod launch_file;
mod launched;
mod lines;
mod output;
mod ready;
mod run;
mod selection;
mod steps;
mod suppress;
mod table;
mod toml_file;
mod traced;

use std::process::ExitCode;

use clap::Parser;

use args::{Args, Command};

/// Does what the command line says. Whatever is wrong ends in one line on standard error and an exit code.
pub fn main() -> ExitCode {
    let result = match Args::try_parse() {
        Ok(args) => match &args.command {
            Command::Run(args) => run::run(args),
            Command::Debug(args) => debug::debug(args),
            Command::Launch(args) => launch_file::run(args),
            Command::List(args) => kernels::list(&args.file),
            Command::Check(args) => kernels::check(&args.file),
            #[cfg(target_os = "linux")]
            Command::Exec(args) => exec::exec(args),
        },
        Err(message) => output::print_clap(&message),
    };
    match result {
        Ok(code) => code.into(),
        Err(error) => {
            output::complain(&format!("error: {error}"));
            error.exit_code().into()
        }
    }
}
