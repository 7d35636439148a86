//! `accuracy`: the errors of kernels of the class fp32, beside those of SGEMM.

use std::process::ExitCode;

use anyhow::Result;

use crate::bench;

/// Compare the errors of kernels of the accuracy class fp32 with those of SGEMM
///
/// Prints tables and keeps their rows as JSON lines under target/accuracy/. Fails where a kernel's
/// errors are beyond those that its class allows. On a
/// machine without a GPU the emulator runs the kernels, on smaller problems, and a step in single precision stands for cuBLAS.
#[derive(clap::Args)]
pub struct Args {
    /// Rows and columns of C, for all k, or MxNxK; separate several with commas [default: 2048, or 128
    /// in the emulator]
    #[arg(long, value_name = "N")]
    size: Option<String>,
    /// Kinds of inputs, separated by commas [default: all]
    #[arg(long, value_name = "NAME")]
    inputs: Option<String>,
    /// What to compare, separated by commas [default: cuBLAS, a step in fp32, and the steps of that class]
    #[arg(long, value_name = "NAME")]
    kernel: Option<String>,
    /// Other arguments of `host`, after `--`
    #[arg(last = true)]
    host: Vec<String>,
}

/// Runs `accuracy`.
pub fn run(args: &Args) -> Result<ExitCode> {
    let given = [("--size", &args.size), ("--inputs", &args.inputs), ("--kernel", &args.kernel)];
    let given: Vec<_> = given.into_iter().filter_map(|(name, value)| Some((name, value.as_deref()?))).collect();
    bench::measure("accuracy", &["accuracy"], &given, &args.host)
}
