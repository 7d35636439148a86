//! `check`: everything that must hold before a change is taken, apart from the tests.

use std::process::ExitCode;

use anyhow::Result;

use crate::{book, dependencies, package, ptx, targets, tidy, workspace};

/// Check all but the tests: format, lints, documentation, house rules, dependencies, packages, targets, committed PTX, book and README
#[derive(clap::Args)]
pub struct Args {
    /// The parts to run [default: all]
    #[arg(value_parser = PARTS.map(|(name, _)| name))]
    parts: Vec<String>,
}

type Part = (&'static str, fn() -> Result<()>);

const PARTS: [Part; 9] = [
    ("fmt", || workspace::run(&mut workspace::cargo(["fmt", "--all", "--check"]))),
    ("clippy", || {
        workspace::run(&mut workspace::cargo(["clippy", "--workspace", "--all-targets", "--", "-Dwarnings"]))
    }),
    ("doc", || {
        workspace::run(workspace::cargo(["doc", "--workspace", "--no-deps"]).env("RUSTDOCFLAGS", "-D warnings"))
    }),
    ("tidy", tidy::check),
    ("dependencies", dependencies::check),
    ("package", package::check),
    ("targets", targets::check),
    ("ptx", ptx::check),
    ("book", book::check),
];

/// Runs `check`: every part, whatever became of the one before.
pub fn run(args: &Args) -> Result<ExitCode> {
    let is_wanted = |name: &str| args.parts.is_empty() || args.parts.iter().any(|part| part == name);
    let mut lines = Vec::new();
    let mut code = ExitCode::SUCCESS;
    for (name, part) in PARTS.iter().filter(|(name, _)| is_wanted(name)) {
        match part() {
            Ok(()) => lines.push(format!("ok      {name}")),
            Err(error) => {
                complain!("error: {name}: {error:#}");
                lines.push(format!("FAILED  {name}"));
                code = ExitCode::FAILURE;
            }
        }
    }
    say!("\n{}", lines.join("\n"));
    Ok(code)
}
