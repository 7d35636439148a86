//! Products in blocks, by all entry points that differ: in processes of their own, since the environment is read once, by the emulator and
//! by the CUDA backend on the emulated driver, with less memory than the matrices take.

#![cfg(target_os = "linux")]

mod calls;

use std::env;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::Command;

/// A library that cargo has put beside the tests or above them.
fn built(name: &str) -> PathBuf {
    let folder = env::current_exe().unwrap();
    let mut folders = folder.ancestors().skip(1).map(|folder| folder.join(name));
    folders.find(|path| path.exists()).expect("cargo builds the library with its tests")
}

/// Runs the tests of [`calls`] with these variables and the emulated driver, and gives what they say.
fn run(variables: &[(&str, &str)]) -> String {
    let folder = tempfile::tempdir().unwrap();
    symlink(built("libptx_emu_driver.so"), folder.path().join("libcuda.so.1")).unwrap();
    symlink("libcuda.so.1", folder.path().join("libcuda.so")).unwrap();
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["calls::", "--nocapture", "--test-threads=1"]).env("LD_LIBRARY_PATH", folder.path());
    let output = command.envs(variables.iter().copied()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("6 passed"), "{said}");
    said
}

/// A quarter of what the matrices of [`calls`] take.
const LITTLE: (&str, &str) = ("SGEMM_MEMORY_MIB", "0.014");

#[test]
fn the_emulator_streams_through_little_memory() {
    for class in ["fp32-strict", "fp32"] {
        let said = run(&[("SGEMM_BACKEND", "emulator"), ("SGEMM_PRECISION", class), LITTLE]);
        // Nothing went to the next BLAS.
        assert!(!said.contains("sgemm: "), "{said}");
    }
}

#[test]
fn a_gpu_streams_through_little_memory() {
    for class in ["fp32-strict", "fp32"] {
        let said = run(&[("SGEMM_BACKEND", "cuda"), ("SGEMM_PRECISION", class), LITTLE]);
        assert!(!said.contains("sgemm: "), "{said}");
    }
}

#[test]
fn a_gpu_has_all_at_once_by_default() {
    let said = run(&[("SGEMM_BACKEND", "cuda")]);
    assert!(!said.contains("sgemm: "), "{said}");
}

#[test]
fn too_little_memory_is_said_once() {
    let said = run(&[("SGEMM_BACKEND", "cuda"), ("SGEMM_MEMORY_MIB", "0.0001")]);
    assert_eq!(said.matches("goes to the next BLAS").count(), 1, "{said}");
}
