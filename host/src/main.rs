//! The `host` program: see `host --help`.

mod cli;
mod interrupt;
mod modes;
mod output;
mod progress;

use std::process::ExitCode;

use clap::Parser;
use gpu_kernels::STEPS;
use host::{BASELINES, kernels};

use crate::cli::Args;

fn main() -> ExitCode {
    let result = match Args::try_parse() {
        Ok(args) if args.list => output::print(&list()).map(|()| 0),
        Ok(args) if args.tune => modes::tune(&args),
        Ok(args) if args.accuracy => modes::accuracy(&args),
        Ok(args) if args.counters => modes::counters(&args),
        Ok(args) => args.explain().and_then(|step| match step {
            Some(step) => modes::explain(&args, step),
            None => modes::measure(&args),
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

/// `--list`: the name first, so that scripts can cut it out.
fn list() -> String {
    let steps = STEPS.iter().map(|step| (step.slug, step.summary));
    let baselines = BASELINES.iter().map(|baseline| (baseline.name, baseline.summary));
    let names: Vec<_> = steps.chain(baselines).chain(kernels::GROUPS).collect();
    let width = names.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    names.iter().map(|(name, summary)| format!("{name:width$}  {summary}\n")).collect()
}
