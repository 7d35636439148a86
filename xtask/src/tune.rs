//! `tune`: asks a device what kernels cost, for `auto`.

use std::process::ExitCode;

use anyhow::Result;

use crate::workspace;

/// Ask the CUDA device what kernels cost
///
/// Times all kernels on some two hundred shapes, in each accuracy class, and writes the table of the device under
/// sgemm/src/select/tables/, which is built into the library from then on: `auto` predicts times by its constants. It takes some minutes.
/// On a machine without cargo, `host tune` does the same.
#[derive(clap::Args)]
pub struct Args {
    /// Take the times of these records, which `host tune` or `host shapes --regret` wrote, instead of measuring
    #[arg(long, value_name = "FILE")]
    records: Option<String>,
    /// The file to write [default: sgemm/src/select/tables/, and the device's name]
    #[arg(long, value_name = "FILE")]
    output: Option<String>,
}

/// Runs `tune`.
pub fn run(args: &Args) -> Result<ExitCode> {
    let mut command = workspace::cargo(["run", "--release", "--package", "host", "--", "tune"]);
    // `host` runs at the workspace's root, where the tables are.
    for records in args.records.iter().flat_map(|files| files.split(',')) {
        command.arg("--records").arg(std::path::absolute(records)?);
    }
    if let Some(output) = &args.output {
        command.arg("--output").arg(std::path::absolute(output)?);
    }
    Ok(workspace::exit_code(workspace::status_despite_interrupts(&mut command)?))
}
