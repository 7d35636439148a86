//! The documentation of the crates that others use, by rustdoc.

use std::path::Path;

use anyhow::Result;

use super::copy;
use crate::workspace::{cargo, root, run};

/// The library, with the kernels' constants that it shows, the emulator, and what kernels are written with.
const PACKAGES: [&str; 4] = ["sgemm", "gpu-kernels", "ptx-emu", "sgemm-cuda-std"];

/// Where cargo puts these pages: apart from those of the whole workspace, in whose search other crates would be found.
const TARGET: &str = "target/site";

/// Writes the pages to the folder `to`.
pub fn document(to: &Path) -> Result<()> {
    let mut doc = cargo(["doc", "--no-deps", "--lib", "--all-features", "--target-dir", TARGET]);
    doc.args(PACKAGES.iter().flat_map(|name| ["-p", name]));
    // What was compiled for tests and lints is taken from there.
    doc.env("CARGO_BUILD_BUILD_DIR", root().join("target"));
    run(&mut doc)?;
    copy(&root().join(TARGET).join("doc"), to)
}
