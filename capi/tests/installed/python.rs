//! The Python package over the library, on the emulator: the tests of `python/tests`, by a Python that has NumPy where there is one.
//! `cargo xtask setup --c` installs both; without Python, the test says so and ends.

use std::process::Command;

use crate::prefix::{built, is_there, source};

/// The Pythons that are asked, in this order: the PATH's, and Debian's, which has Debian's NumPy.
const PYTHONS: [&str; 2] = ["python3", "/usr/bin/python3"];

#[test]
fn the_package_passes_its_tests() {
    let has_numpy = |python: &&&str| {
        Command::new(python).args(["-c", "import numpy"]).output().is_ok_and(|output| output.status.success())
    };
    let python = PYTHONS.iter().find(has_numpy).unwrap_or(&PYTHONS[0]);
    if !is_there(python) {
        return;
    }
    let folder = source().parent().unwrap().join("python");
    let output = Command::new(python)
        .args(["-m", "unittest", "discover", "--verbose", "-s"])
        .arg(folder.join("tests"))
        .env("PYTHONPATH", &folder)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("SGEMM_LIBRARY", built("libsgemm_capi.so"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("test_a_product_is_right"), "{said}");
    for skipped in said.lines().filter(|line| line.contains("skipped")) {
        println!("{skipped}");
    }
}
