//! The Python package over the library, on the emulator and on the emulated driver: the tests of `python/tests`, by a Python that has NumPy where there is one.
//! `cargo xtask setup --c` installs both; without Python, the test says so and ends.

use std::process::Command;

use crate::driver::driver;
use crate::prefix::{built, is_there, source};

/// The Pythons that are asked, in this order: the PATH's, and Debian's, which has Debian's NumPy.
const PYTHONS: [&str; 2] = ["python3", "/usr/bin/python3"];

/// Runs the package's tests, and says what was skipped. `None` where there is no Python.
fn run(change: impl FnOnce(&mut Command)) -> Option<String> {
    let has_numpy = |python: &&&str| {
        Command::new(python).args(["-c", "import numpy"]).output().is_ok_and(|output| output.status.success())
    };
    let python = PYTHONS.iter().find(has_numpy).unwrap_or(&PYTHONS[0]);
    if !is_there(python) {
        return None;
    }
    let folder = source().parent().unwrap().join("python");
    let mut tests = Command::new(python);
    tests.args(["-m", "unittest", "discover", "--verbose", "-s"]).arg(folder.join("tests"));
    tests.env("PYTHONPATH", &folder).env("PYTHONDONTWRITEBYTECODE", "1");
    tests.env("SGEMM_LIBRARY", built("libsgemm_capi.so"));
    change(&mut tests);
    let output = tests.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    for skipped in said.lines().filter(|line| line.contains("skipped")) {
        println!("{skipped}");
    }
    Some(said)
}

#[test]
fn the_package_passes_its_tests() {
    if let Some(said) = run(|_| ()) {
        assert!(said.contains("test_a_product_is_right"), "{said}");
    }
}

#[test]
fn the_package_passes_its_tests_on_the_emulated_driver() {
    let folder = driver();
    if let Some(said) = run(|tests| _ = tests.env("LD_LIBRARY_PATH", folder.path())) {
        assert!(
            said.contains("test_arrays_on_the_gpu (test_sgemm.Gpu.test_arrays_on_the_gpu) ... ok")
                || said.contains("test_arrays_on_the_gpu (test_sgemm.Gpu) ... ok"),
            "{said}"
        );
    }
}
