//! The tests of a GPU on the emulated driver: the library calls the driver's interface, as on a GPU.

use std::env;
use std::os::unix::fs::symlink;
use std::process::Command;

use tempfile::TempDir;

use crate::prefix::built;

/// A folder where the loader finds the emulator under the driver's name.
pub fn driver() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    symlink(built("libptx_emu_driver.so"), folder.path().join("libcuda.so.1")).unwrap();
    symlink("libcuda.so.1", folder.path().join("libcuda.so")).unwrap();
    folder
}

/// Runs a program with the emulated driver: all that it says, if it succeeds.
fn run(command: &mut Command) -> String {
    let folder = driver();
    let output = command.env("LD_LIBRARY_PATH", folder.path()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    said
}

#[test]
fn the_tests_of_a_gpu_pass_on_the_emulated_driver() {
    let said = run(Command::new(env::current_exe().unwrap()).args(["gpu::", "--nocapture"]));
    assert!(said.contains("4 passed") && !said.contains("driver (libcuda)"), "{said}");
    // The ordinals that no device has, now that there is a driver.
    run(Command::new(env::current_exe().unwrap()).arg("a_gpu_that_is_not_there"));
}
