//! The project's own commands, one file each: `cargo xtask --help`.

mod bench;
mod check;
mod diff;
mod ptx;
mod results;
mod sass;
mod setup;
mod test;
mod tidy;
mod workspace;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// The project's own commands
///
/// On a fresh machine `cargo xtask bench` measures every step beside cuBLAS, and `cargo xtask test` runs every test.
/// Both need Rust and nothing else; what more there is to gain is set up on the way, or named in one line.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", version, max_term_width = 120)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Setup(setup::Args),
    Ptx(ptx::Args),
    Bench(bench::Args),
    Test(test::Args),
    Check(check::Args),
    Diff(diff::Args),
    Sass(sass::Args),
}

fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Setup(args) => setup::run(&args).map(|()| ExitCode::SUCCESS),
        Command::Ptx(args) => ptx::run(&args).map(|()| ExitCode::SUCCESS),
        Command::Bench(args) => bench::run(&args),
        Command::Test(args) => test::run(&args),
        Command::Check(args) => check::run(&args),
        Command::Diff(args) => diff::run(&args).map(|()| ExitCode::SUCCESS),
        Command::Sass(args) => sass::run(&args).map(|()| ExitCode::SUCCESS),
    };
    result.unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        ExitCode::FAILURE
    })
}
