//! The Python package's tests, by a Python that has NumPy, which `cargo xtask setup --c` installs; without one, the test says so and ends.

#![cfg(target_os = "linux")]

use std::env;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

/// The Pythons that are asked, in this order: the PATH's, and Debian's, which has Debian's NumPy.
const PYTHONS: [&str; 2] = ["python3", "/usr/bin/python3"];

#[test]
fn the_package_passes_its_tests() {
    let has_numpy = |python: &&&str| {
        Command::new(python).args(["-c", "import numpy"]).output().is_ok_and(|output| output.status.success())
    };
    let Some(python) = PYTHONS.iter().find(has_numpy) else {
        println!("there is no Python with NumPy: `cargo xtask setup --c` installs one");
        return;
    };
    let source = Path::new(env!("CARGO_MANIFEST_DIR"));
    let executable = env::current_exe().unwrap();
    let library = executable.ancestors().map(|folder| folder.join("libptx_emu_python.so")).find(|path| path.is_file());
    let folder = tempfile::tempdir().unwrap();
    let package = folder.path().join("ptx_emu");
    fs::create_dir(&package).unwrap();
    symlink(library.expect("cargo builds the library of its tests"), package.join("_native.abi3.so")).unwrap();
    for entry in fs::read_dir(source.join("ptx_emu")).unwrap().map(Result::unwrap) {
        if entry.path().extension().is_some_and(|extension| extension == "py") {
            symlink(entry.path(), package.join(entry.file_name())).unwrap();
        }
    }
    let mut tests = Command::new(python);
    tests.args(["-m", "unittest", "discover", "--verbose", "-s"]).arg(source.join("tests"));
    // Python looks for modules where it runs, and then there.
    tests.current_dir(folder.path()).env("PYTHONPATH", folder.path()).env("PYTHONDONTWRITEBYTECODE", "1");
    let output = tests.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("test_arrays_hold_the_results"), "{said}");
}
