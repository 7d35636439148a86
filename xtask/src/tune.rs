//! `tune`: measures which kernel is the fastest for which shape, for `auto`.

use std::process::ExitCode;

use anyhow::Result;

use crate::workspace;

/// Measure which kernel is the fastest for which shape
///
/// Searches all steps and their variants on the CUDA device, less what the emulator's model puts far behind, and writes the
/// table of the device under sgemm/src/select/tables/, which is built into the library from then on: `auto` chooses by it. Each shape is
/// written when it is done, so that the search can be stopped. On a machine without cargo, `host tune` does the same.
#[derive(clap::Args)]
pub struct Args {
    /// Sizes, in elements: N for m = n = k, or MxNxK; separate several with commas [default: two dozen]
    #[arg(long, value_name = "N")]
    size: Option<String>,
    /// The accuracy class that the kernels meet: fp32-strict, fp32, tf32, f16 or bf16 [default: fp32-strict]
    #[arg(long, value_name = "NAME")]
    precision: Option<String>,
    /// The file to write [default: sgemm/src/select/tables/, and the device's name]
    #[arg(long, value_name = "FILE")]
    output: Option<String>,
}

/// Runs `tune`.
pub fn run(args: &Args) -> Result<ExitCode> {
    let mut command = workspace::cargo(["run", "--release", "--package", "host", "--", "tune"]);
    for (name, value) in [("--size", &args.size), ("--precision", &args.precision), ("--output", &args.output)] {
        command.args(value.iter().flat_map(|value| [name, value.as_str()]));
    }
    Ok(workspace::exit_code(workspace::status_despite_interrupts(&mut command)?))
}
