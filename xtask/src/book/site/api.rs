//! The documentation of the crates that others use, by rustdoc.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use super::copy;
use crate::workspace::{cargo, root, run};

/// The library, the kernels with their constants, which it shows, and the emulator.
const PACKAGES: [&str; 3] = ["sgemm", "gpu-kernels", "ptx-emu"];

/// Where cargo puts these pages: apart from those of the whole workspace, in whose search other crates would be found.
const TARGET: &str = "target/site";

/// What rustdoc's own pages take for the first one, and leave to others to write.
const INDEX: &str = "<!DOCTYPE html>\n<meta charset=\"utf-8\">\n<title>API</title>\n\
    <meta http-equiv=\"refresh\" content=\"0; url=sgemm/index.html\">\n<a href=\"sgemm/index.html\">API</a>\n";

/// Writes the pages to the folder `to`.
pub fn document(to: &Path) -> Result<()> {
    let mut doc = cargo(["doc", "--no-deps", "--lib", "--all-features", "--target-dir", TARGET]);
    doc.args(PACKAGES.iter().flat_map(|name| ["-p", name]));
    // What was compiled for tests and lints is taken from there.
    doc.env("CARGO_BUILD_BUILD_DIR", root().join("target"));
    run(&mut doc)?;
    copy(&root().join(TARGET).join("doc"), to)?;
    fs::write(to.join("index.html"), INDEX).context("cannot write the first page")
}
