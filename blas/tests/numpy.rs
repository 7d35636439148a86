//! NumPy's and SciPy's float32, in Debian's builds, with this library preloaded: by the emulator, and by the BLAS that they are linked to.
//! `cargo xtask setup --c` installs them; where they are not, the test says so and ends.

#![cfg(target_os = "linux")]

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Debian's Python, which has Debian's packages.
const PYTHON: &str = "/usr/bin/python3";

/// This library, which cargo has put beside the tests or above them.
fn library() -> PathBuf {
    let folder = env::current_exe().unwrap();
    let mut folders = folder.ancestors().skip(1).map(|folder| folder.join("libsgemm_blas.so"));
    folders.find(|path| path.exists()).expect("cargo builds the library with its tests")
}

/// Runs `python/arrays.py`: what the loader bound, and what was said. `None` where the packages are not there.
fn run(variables: &[(&str, &str)]) -> Option<String> {
    let found = Command::new(PYTHON).args(["-c", "import numpy, scipy.linalg"]).output();
    if !found.is_ok_and(|output| output.status.success()) {
        println!("Debian's NumPy and SciPy are not installed: `cargo xtask setup --c` does that");
        return None;
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/python/arrays.py");
    let mut python = Command::new(PYTHON);
    python.arg("-B").arg(script).env("LD_PRELOAD", library()).env("LD_DEBUG", "bindings");
    let output = python.envs(variables.iter().copied()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let own: Vec<_> = said.lines().filter(|line| !line.contains(":\t")).collect();
    assert!(output.status.success() && output.stdout == b"right\n", "{own:#?}");
    Some(said)
}

/// Whether a library whose name has that in it was bound to this library's function.
fn is_bound(said: &str, from: &str, symbol: &str) -> bool {
    let bound = format!("libsgemm_blas.so [0]: normal symbol `{symbol}'");
    said.lines().any(|line| line.contains(&bound) && line.split(" to ").next().unwrap().contains(from))
}

#[test]
fn numpy_and_scipy_are_right_by_the_emulator() {
    for class in ["fp32-strict", "fp32"] {
        let variables = [("SGEMM_BACKEND", "emulator"), ("SGEMM_PRECISION", class)];
        let Some(said) = run(&variables) else { return };
        for (from, symbol) in [("_multiarray_umath", "cblas_sgemm"), ("liblapack", "sgemm_"), ("_fblas", "sgemm_")] {
            assert!(is_bound(&said, from, symbol), "{from} does not call this library's {symbol}");
        }
        assert!(!said.contains("sgemm: "), "all calls are the emulator's");
    }
}

#[test]
fn numpy_and_scipy_are_right_by_their_own_blas() {
    let Some(said) = run(&[("SGEMM_BACKEND", "next")]) else { return };
    let is_asked = |line: &&str| line.ends_with("normal symbol `sgemm_'") && !line.contains("libsgemm_blas.so [0]:");
    assert!(said.lines().filter(is_asked).any(|line| line.contains("blas")), "their BLAS is looked up");
}
