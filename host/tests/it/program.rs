//! Runs the program, and reads what it prints.

use std::fs;

use assert_cmd::Command;
use host::Error;
use host::backend::{BackendChoice, Options, open};
use tempfile::TempDir;

/// What a run of the program printed.
pub struct Outcome {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

/// Runs the program.
pub fn host(arguments: &[&str]) -> Outcome {
    let output = Command::new(env!("CARGO_BIN_EXE_host")).args(arguments).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Outcome { code: output.status.code().unwrap(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

/// Expects that exit code, one `error:` line that has all of these words, and no result.
pub fn assert_fails(arguments: &[&str], code: i32, words: &[&str]) {
    let Outcome { code: got, stdout, stderr } = host(arguments);
    assert_eq!(got, code, "{arguments:?}: {stderr}");
    assert_eq!(stdout, "", "{arguments:?}");
    assert_eq!(stderr.matches("error:").count(), 1, "{arguments:?}: {stderr}");
    assert!(stderr.starts_with("error:") && !stderr.contains("panicked"), "{arguments:?}: {stderr}");
    let line = stderr.lines().next().unwrap();
    for word in words {
        assert!(line.contains(word), "{arguments:?}: '{word}' is missing in: {line}");
    }
}

/// Why no CUDA device can be used here, if none can.
pub fn no_device() -> Option<Error> {
    open(BackendChoice::Cuda, Options::default()).err()
}

/// The lines of JSON.
pub fn rows(stdout: &str) -> Vec<serde_json::Value> {
    stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Writes a file into the folder; returns its path.
pub fn write(folder: &TempDir, text: impl AsRef<[u8]>) -> String {
    let path = folder.path().join("kernels.ptx");
    fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}
