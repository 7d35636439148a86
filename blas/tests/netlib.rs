//! netlib's testers of level-3 BLAS, in Debian's builds, with this library preloaded: `sgemm_` and `cblas_sgemm`, by the emulator and by the
//! next BLAS. `cargo xtask setup --blas` installs them; where they are not, the tests say so and end.

#![cfg(target_os = "linux")]

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Where Debian has them, on x86-64.
const TESTERS: &str = "/usr/lib/x86_64-linux-gnu/blas";

/// The calls of SGEMM that a tester makes, in each layout.
const CALLS: &str = "17496";

/// This library, which cargo has put beside the tests or above them.
fn library() -> PathBuf {
    let folder = env::current_exe().unwrap();
    let mut folders = folder.ancestors().skip(1).map(|folder| folder.join("libsgemm_blas.so"));
    folders.find(|path| path.exists()).expect("cargo builds the library with its tests")
}

/// Runs a tester on the lines of its input that are about SGEMM: its own output, and what the loader bound.
fn run(tester: &str, input: &str, preload: &[&Path], backend: &str) -> Option<(String, String)> {
    let program = Path::new(TESTERS).join(tester);
    if !program.exists() {
        println!("{} is not installed", program.display());
        return None;
    }
    let folder = tempfile::tempdir().unwrap();
    let lines = fs::read_to_string(Path::new(TESTERS).join(input)).unwrap();
    let is_routine = |line: &&str| line.contains("PUT F FOR NO TEST") && !line.to_lowercase().contains("sgemm");
    let skipped = |line: &str| if is_routine(&line) { line.replacen(" T ", " F ", 1) } else { line.to_owned() };
    let lines: Vec<_> = lines.lines().map(skipped).collect();
    fs::write(folder.path().join("input"), lines.join("\n") + "\n").unwrap();
    let preload: Vec<_> = preload.iter().map(|path| path.to_str().unwrap()).collect();
    let Output { stdout, stderr, .. } = Command::new(&program)
        .current_dir(folder.path())
        .stdin(fs::File::open(folder.path().join("input")).unwrap())
        .env("LD_PRELOAD", preload.join(":"))
        // The reference implementation, whatever BLAS the system has chosen: the testers need more of it than BLAS's names.
        .env("LD_LIBRARY_PATH", TESTERS)
        .env("LD_DEBUG", "bindings")
        .env("SGEMM_BACKEND", backend)
        .output()
        .unwrap();
    let summary = fs::read_to_string(folder.path().join("sblat3.out")).unwrap_or_default();
    let bindings = String::from_utf8_lossy(&stderr).into_owned();
    Some((String::from_utf8_lossy(&stdout).into_owned() + &summary, bindings))
}

fn check(text: &str, bindings: &str, symbol: &str, layouts: usize) {
    let bound = format!("libsgemm_blas.so [0]: normal symbol `{symbol}'");
    assert!(bindings.lines().any(|line| line.contains(&bound)), "{symbol} is not ours");
    assert!(!bindings.contains("goes to the next BLAS"), "{symbol}: not all calls are ours");
    assert!(!text.contains("FAIL") && !text.contains("*****"), "{text}");
    assert!(text.contains("PASSED THE TESTS OF ERROR-EXITS"), "{text}");
    assert_eq!(text.matches(&format!("COMPUTATIONAL TESTS ( {CALLS} CALLS)")).count(), layouts, "{text}");
}

#[test]
fn fortran_calls_pass_by_the_emulator() {
    if let Some((text, bindings)) = run("xblat3s", "sblat3.in", &[&library()], "emulator") {
        check(&text, &bindings, "sgemm_", 1);
    }
}

#[test]
fn c_calls_pass_by_the_emulator() {
    if let Some((text, bindings)) = run("xscblat3", "sin3", &[&library()], "emulator") {
        check(&text, &bindings, "cblas_sgemm", 2);
    }
}

/// One library takes the other for the next BLAS, and that one the program's.
#[test]
fn two_of_them_do_not_call_each_other_for_ever() {
    let folder = tempfile::tempdir().unwrap();
    let other = folder.path().join("libother.so");
    fs::copy(library(), &other).unwrap();
    for (tester, input, symbol, layouts) in
        [("xblat3s", "sblat3.in", "sgemm_", 1), ("xscblat3", "sin3", "cblas_sgemm", 2)]
    {
        if let Some((text, bindings)) = run(tester, input, &[&library(), &other], "next") {
            check(&text, &bindings, symbol, layouts);
            assert!(bindings.contains("normal symbol `sgemm_'"), "the next BLAS is asked");
        }
    }
}
