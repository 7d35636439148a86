//! The project's own commands, one file each: `cargo xtask --help`.

#[macro_use]
mod terminal;

mod accuracy;
mod bench;
mod book;
mod check;
mod dependencies;
mod diff;
mod install;
mod mutants;
mod package;
mod profile;
mod ptx;
mod regressions;
mod report;
mod report_links;
mod sass;
mod setup;
mod targets;
mod test;
mod tidy;
mod tune;
mod wheel;
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
    Report(report::Args),
    Accuracy(accuracy::Args),
    Test(test::Args),
    Check(check::Args),
    Book(book::Args),
    Dependencies(dependencies::Args),
    Diff(diff::Args),
    Sass(sass::Args),
    Profile(profile::Args),
    Mutants(mutants::Args),
    Tune(tune::Args),
    Install(install::Args),
    Wheel(wheel::Args),
}

fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Setup(args) => setup::run(&args).map(|()| ExitCode::SUCCESS),
        Command::Ptx(args) => ptx::run(&args).map(|()| ExitCode::SUCCESS),
        Command::Bench(args) => bench::run(&args),
        Command::Report(args) => report::run(&args),
        Command::Accuracy(args) => accuracy::run(&args),
        Command::Test(args) => test::run(&args),
        Command::Check(args) => check::run(&args),
        Command::Book(args) => book::run(&args).map(|()| ExitCode::SUCCESS),
        Command::Dependencies(args) => dependencies::run(&args).map(|()| ExitCode::SUCCESS),
        Command::Diff(args) => diff::run(&args).map(|()| ExitCode::SUCCESS),
        Command::Sass(args) => sass::run(&args).map(|()| ExitCode::SUCCESS),
        Command::Profile(args) => profile::run(&args).map(|()| ExitCode::SUCCESS),
        Command::Mutants(args) => mutants::run(&args),
        Command::Tune(args) => tune::run(&args),
        Command::Install(args) => install::run(&args).map(|()| ExitCode::SUCCESS),
        Command::Wheel(args) => wheel::run(&args).map(|()| ExitCode::SUCCESS),
    };
    result.unwrap_or_else(|error| {
        complain!("error: {error:#}");
        ExitCode::FAILURE
    })
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::Cli;

    /// What the README and CONTRIBUTING.md tell a newcomer to type is understood.
    #[test]
    fn the_documents_commands_are_understood() {
        let documents = [include_str!("../../README.md"), include_str!("../../CONTRIBUTING.md")];
        let commands = documents.iter().flat_map(|text| text.lines());
        let commands = commands.filter_map(|line| line.strip_prefix("    cargo xtask ")).map(|line| {
            let command = line.split('#').next().unwrap_or_default();
            // `name` stands for the reader's own step.
            command.split_whitespace().map(|word| if word == "name" { "vectorized" } else { word })
        });
        let mut count = 0;
        for command in commands {
            let words: Vec<_> = ["cargo xtask"].into_iter().chain(command).collect();
            assert!(Cli::try_parse_from(&words).is_ok(), "{words:?}");
            count += 1;
        }
        assert!(count >= 4, "bench, test, diff and sass are shown");
    }
}
