//! `mutants`: kernels with one mistake each, and whether the checks detect it.

use std::fs;
use std::process::ExitCode;

use anyhow::{Context, Result};
use gpu_kernels::{STEPS, Step};

use crate::workspace::{self, parse_step, relative};

/// Make mutants of kernels, and see which of them the checks let pass
///
/// Changes one instruction of a step's PTX at a time, and runs it in the emulator: by host at two shapes, and through the
/// contract that every step keeps. A mutant whose results have the same bits counts as equivalent, unless it is about barriers,
/// waits or fences. Prints a table by kind of change, and names those that escaped. The seed says which mutants there are. Results
/// are kept under target/mutants/: a later run with the same seed goes on where this one ends, also after Ctrl-C.
#[derive(clap::Args)]
pub struct Args {
    /// The steps, separated by commas [default: all]
    #[arg(long, value_name = "STEP", value_delimiter = ',', value_parser = parse_step)]
    steps: Vec<&'static Step>,
    /// How many mutants, the steps in turn
    #[arg(long, value_name = "N", default_value_t = 300, value_parser = clap::value_parser!(u32).range(1..))]
    count: u32,
    /// What they are drawn from
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// Runs `mutants`.
pub fn run(args: &Args) -> Result<ExitCode> {
    let all: Vec<_> = STEPS.iter().collect();
    let steps = if args.steps.is_empty() { &all } else { &args.steps };
    let file = workspace::root().join(format!("target/mutants/seed-{}.jsonl", args.seed));
    let folder = file.parent().unwrap_or(workspace::root());
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    // `tests` links host, which this program does not.
    let mut command = workspace::cargo(["run", "--quiet", "--package", "tests", "--bin", "mutants", "--"]);
    command.arg(&file).args([args.count.to_string(), args.seed.to_string()]);
    command.args(steps.iter().map(|step| step.slug));
    let status = workspace::status(&mut command)?;
    println!("results: {}", relative(&file));
    Ok(workspace::exit_code(status))
}
