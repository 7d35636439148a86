//! `test`: sets up what the tests can use, then runs all of the workspace's.

use std::process::ExitCode;

use anyhow::Result;

use crate::{setup, workspace};

/// Run every test of the workspace
///
/// Sets up the device toolchain, ptxas, a browser, testers of BLAS, and what programs in C, C++ and Python are built
/// with first, as `setup --ptxas --browser --blas --c` does; where that cannot be done, a line says so.
/// Tests that need a GPU are ignored where there is none.
#[derive(clap::Args)]
pub struct Args {
    /// Arguments of `cargo test`, after `--`
    #[arg(last = true)]
    cargo: Vec<String>,
}

/// Runs `test`.
pub fn run(args: &Args) -> Result<ExitCode> {
    for (set_up, consequence) in [
        (setup::toolchain as fn() -> Result<()>, "the tests that compile kernels will fail"),
        (setup::wasm_linker, "the book gets no playground"),
        (setup::ptxas, "registers and spills are not tested"),
        (setup::browser, "the report's page is not opened"),
        (setup::blas, "netlib's testers of BLAS do not run"),
        (setup::c, "some programs in C, C++ and Python are not tried"),
    ] {
        if let Err(error) = set_up() {
            complain!("warning: {consequence}: {error:#}");
        }
    }
    let mut test = workspace::cargo(["test", "--workspace"]);
    Ok(workspace::exit_code(workspace::status(test.args(&args.cargo))?))
}
