//! `install`: the library for C, with its header, what pkg-config and CMake look for, and the libraries to preload.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::workspace::{cargo, root, run as run_command, shown};

/// The package of the library for C, and those of the libraries to preload.
const PACKAGES: [&str; 3] = ["sgemm-capi", "sgemm-cublas", "sgemm-blas"];

/// The trees of the first one's folder that are installed as they are.
const TREES: [&str; 2] = ["include", "lib"];

/// The libraries, as cargo names them and as they are installed.
const LIBRARIES: [(&str, &str); 4] = [
    ("libsgemm_capi.so", "libsgemm.so"),
    ("libsgemm_capi.a", "libsgemm.a"),
    ("libsgemm_cublas.so", "libsgemm_cublas.so"),
    ("libsgemm_blas.so", "libsgemm_blas.so"),
];

/// Build the library for C and those to preload, and install them under a folder
///
/// libsgemm.so, libsgemm.a, sgemm.h, what pkg-config and CMake look for, libsgemm_cublas.so and libsgemm_blas.so. The folder can be moved
/// afterwards.
#[derive(clap::Args)]
pub struct Args {
    /// The folder, such as /usr/local
    #[arg(long)]
    prefix: PathBuf,
}

/// Runs `install`.
pub fn run(args: &Args) -> Result<()> {
    let built = build()?;
    let capi = root().join("capi");
    for tree in TREES {
        copy(&capi.join(tree), &args.prefix.join(tree))?;
    }
    for (from, to) in LIBRARIES {
        copy(&built.join(from), &args.prefix.join("lib").join(to))?;
    }
    say!("installed sgemm in {}", shown(&args.prefix));
    Ok(())
}

/// Builds the libraries, and says in which folder they are.
pub fn build() -> Result<PathBuf> {
    let packages = PACKAGES.into_iter().flat_map(|package| ["-p", package]);
    run_command(cargo(["build", "--release", "--target-dir", "target"]).args(packages))?;
    Ok(root().join("target/release"))
}

/// The shared library for C in the folder of [`build`].
pub fn shared(folder: &Path) -> PathBuf {
    folder.join(LIBRARIES[0].0)
}

/// Copies a file, or a folder with all that is in it.
fn copy(from: &Path, to: &Path) -> Result<()> {
    let what = || format!("cannot copy {} to {}", shown(from), shown(to));
    if from.is_dir() {
        fs::create_dir_all(to).with_context(what)?;
        for entry in fs::read_dir(from).with_context(what)? {
            let entry = entry.with_context(what)?;
            copy(&entry.path(), &to.join(entry.file_name()))?;
        }
        return Ok(());
    }
    // A program may be using the library that is there: it keeps that one.
    if to.exists() {
        fs::remove_file(to).with_context(what)?;
    }
    fs::copy(from, to).map(drop).with_context(what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trees_are_copied_over_what_is_there() {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("from"), folder.path().join("to"));
        fs::create_dir_all(from.join("inner")).unwrap();
        fs::create_dir_all(to.join("inner")).unwrap();
        fs::write(from.join("inner/file"), "new").unwrap();
        fs::write(to.join("inner/file"), "old").unwrap();
        copy(&from, &to).unwrap();
        assert_eq!(fs::read_to_string(to.join("inner/file")).unwrap(), "new");
        assert!(copy(&from.join("none"), &to).unwrap_err().to_string().starts_with("cannot copy "));
    }
}
