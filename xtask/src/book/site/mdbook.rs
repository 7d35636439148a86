//! The book as HTML, by mdBook: a program of its own, so that nobody waits for it who does not render the book.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::workspace::{self, relative, root};

/// The version that the book is written for, and the one that is installed.
const SERIES: &str = "0.5.";
const VERSION: &str = "0.5.4";

/// Renders the book to the folder `site`, which it empties first.
pub fn render(site: &Path) -> Result<()> {
    workspace::run(Command::new(mdbook()?).arg("build").arg(root().join("docs")).arg("--dest-dir").arg(site))
}

/// mdBook: the one on the PATH if it is of the right version, else the one under target/, which is installed if it is not there.
fn mdbook() -> Result<PathBuf> {
    let folder = root().join("target/mdbook");
    let installed = folder.join("bin").join(format!("mdbook{}", std::env::consts::EXE_SUFFIX));
    if let Some(mdbook) = [PathBuf::from("mdbook"), installed.clone()].into_iter().find(is_right) {
        return Ok(mdbook);
    }
    say!("installing mdBook {VERSION} under {}, once", relative(&folder));
    // Unoptimised: compiling it takes the time, not rendering one book.
    let options = ["--debug", "--no-default-features", "--features", "search"];
    let mut install =
        workspace::cargo(["install", "--locked", "mdbook", "--version", VERSION].into_iter().chain(options));
    install.arg("--root").arg(&folder).env("CARGO_PROFILE_DEV_DEBUG", "false");
    workspace::run(&mut install).context("mdBook was not installed: put mdbook 0.5 on the PATH yourself")?;
    Ok(installed)
}

/// Whether a program is mdBook of the right version: it says `mdbook v0.5.4`.
fn is_right(program: &PathBuf) -> bool {
    let output = Command::new(program).arg("--version").output();
    output.is_ok_and(|output| is_version(&String::from_utf8_lossy(&output.stdout)))
}

fn is_version(text: &str) -> bool {
    text.trim().trim_start_matches("mdbook ").trim_start_matches('v').starts_with(SERIES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_versions_are_not_taken() {
        assert!(is_version("mdbook v0.5.4\n") && VERSION.starts_with(SERIES));
        assert!(!is_version("mdbook v0.4.52\n") && !is_version(""));
    }
}
