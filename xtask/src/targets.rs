//! `check targets`: the library on other machines than this one.

use anyhow::Result;
use cuda_builder::Toolchain;

use crate::workspace::{kernels, root, run};

/// Where the library is to compile, beside the machine that it is checked on.
const TARGETS: [&str; 3] = ["aarch64-unknown-linux-gnu", "x86_64-pc-windows-msvc", "aarch64-apple-darwin"];

/// Fails if the library does not compile for one of them. Their standard libraries are built from the sources that come with the device
/// toolchain, so that none has to be installed.
pub fn check() -> Result<()> {
    let toolchain = Toolchain::find(kernels())?;
    for target in TARGETS {
        let mut cargo = toolchain.cargo();
        cargo.current_dir(root()).args(["check", "-p", "sgemm", "--features", "f16,emulator", "-Zbuild-std"]);
        run(cargo.args(["--target", target, "--target-dir", "target/targets"]))?;
    }
    Ok(())
}
