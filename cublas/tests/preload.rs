//! A program on cuBLAS's functions, with this library preloaded, stand-ins for NVIDIA's libraries, and the emulated driver.

#![cfg(target_os = "linux")]

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::{env, fs};

use tempfile::TempDir;

/// A library that cargo has put beside the tests or above them.
fn built(name: &str) -> PathBuf {
    let folder = env::current_exe().unwrap();
    let mut folders = folder.ancestors().skip(1).map(|folder| folder.join(name));
    folders.find(|path| path.exists()).expect("cargo builds the library with its tests")
}

fn library() -> PathBuf {
    built("libsgemm_cublas.so")
}

/// A folder with the program, what stands for NVIDIA's libraries, and the emulator under the driver's name; where there is no compiler,
/// a line says so.
fn folder() -> Option<&'static Path> {
    static FOLDER: OnceLock<Option<TempDir>> = OnceLock::new();
    let folder = FOLDER.get_or_init(|| {
        if !Command::new("cc").arg("--version").output().is_ok_and(|output| output.status.success()) {
            println!("cc is not installed: `cargo xtask setup --c` does that");
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c");
        let compile = |arguments: &[&str]| {
            let output = Command::new("cc").current_dir(folder.path()).args(arguments).output().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        };
        let source = |name| sources.join(name).to_str().unwrap().to_owned();
        let (cublas, lt) = ("libcublas.so.13", "libcublasLt.so.13");
        // Their symbols have the library's name for a version, as NVIDIA's have.
        let shared = ["-shared", "-fPIC", "-Wl,--default-symver"];
        compile(&[&shared[..], &["-Wl,-soname,libcublasLt.so.13", "-o", lt, &source("cublaslt.c")]].concat());
        compile(&[&shared[..], &["-Wl,-soname,libcublas.so.13", "-o", cublas, &source("cublas.c"), lt]].concat());
        compile(&["-O2", "-o", "program", &source("program.c"), cublas, lt, "-lm", "-ldl", "-pthread"]);
        symlink(built("libptx_emu_driver.so"), folder.path().join("libcuda.so.1")).unwrap();
        symlink("libcuda.so.1", folder.path().join("libcuda.so")).unwrap();
        Some(folder)
    });
    folder.as_ref().map(TempDir::path)
}

/// What a case of the program says, by lines, and the summary.
fn run(case: &str, preload: &[PathBuf], variables: &[(&str, &str)]) -> Option<(Vec<String>, String)> {
    let folder = folder()?;
    let preload: Vec<_> = preload.iter().map(|path| path.to_str().unwrap()).collect();
    let mut command = Command::new(folder.join("program"));
    command.arg(case).env("LD_LIBRARY_PATH", folder).env("LD_PRELOAD", preload.join(":"));
    command.env("SGEMM_LOG", "1").envs(variables.iter().copied());
    let output = command.output().unwrap();
    let [said, summary] = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    assert!(output.status.success(), "{said}{summary}");
    Some((said.lines().map(str::to_owned).collect(), summary))
}

/// The lines that begin with a word, without it.
fn after<'a>(lines: &'a [String], word: &str) -> Vec<&'a str> {
    lines.iter().filter_map(|line| line.strip_prefix(word)?.strip_prefix(' ')).collect()
}

/// What was called is what reached cuBLAS, and nothing else did; so many products are right, and none is wrong.
fn check(lines: &[String], right: usize) {
    assert_eq!(after(lines, "called"), after(lines, "reached"), "{lines:#?}");
    assert_eq!(after(lines, "right").len(), right, "{lines:#?}");
    let known = |line: &&String| ["called ", "reached ", "right "].iter().any(|word| line.starts_with(word));
    assert_eq!(lines.iter().find(|line| !known(line)), None);
}

#[test]
fn products_of_f32_are_computed() {
    for class in ["fp32-strict", "fp32"] {
        let Some((lines, summary)) = run("products", &[library()], &[("SGEMM_PRECISION", class)]) else { return };
        check(&lines, 19);
        assert!(summary.starts_with(&format!("sgemm: 28 calls computed in {class}, 0 forwarded")), "{summary}");
    }
}

#[test]
fn other_calls_reach_cublas_as_they_are() {
    let Some((lines, summary)) = run("forwarded", &[library()], &[]) else { return };
    check(&lines, 0);
    assert!(summary.starts_with("sgemm: 0 calls computed in fp32-strict, 45 forwarded"), "{summary}");
    for (count, line) in [
        (6, "cublasSgemm_v2 forwarded: invalid, or nothing to compute"),
        (3, "cublasSgemm_v2 forwarded: TF32 or another arithmetic is asked for"),
        (1, "cublasSgemm_v2 forwarded: pedantic arithmetic is asked for"),
        (1, "cublasSgemm_v2 forwarded: alpha and beta in device memory"),
        (1, "cublasSgemm_v2 forwarded: fewer SMs are asked for"),
        (2, "cublasSgemmStridedBatched forwarded: invalid, or nothing to compute"),
        (1, "cublasGemmEx_64 forwarded: an algorithm is named"),
        (5, "cublasLtMatmul forwarded: another epilogue"),
        (3, "cublasLtMatmul forwarded: another layout"),
        (3, "cublasLtMatmul forwarded: alpha and beta in device memory"),
        (1, "cublasLtMatmul forwarded: an algorithm is named"),
        (1, "cublasLtMatmul forwarded: results that do not depend on the batch are asked for"),
        (1, "cublasSgemmBatched forwarded: a batch by arrays of pointers"),
        (1, "cublasSgemmBatched_64 forwarded: a batch by arrays of pointers"),
        (1, "cublasGemmBatchedEx forwarded: a batch by arrays of pointers"),
        (1, "cublasGemmBatchedEx_64 forwarded: not of f32"),
    ] {
        assert!(summary.contains(&format!("{count} x {line}\n")), "{line}: {summary}");
    }
}

/// And all of them are, where the environment asks NVIDIA's libraries for what this one does not do.
#[test]
fn what_is_asked_for_all_is_left_to_cublas() {
    for (variable, reason) in [
        ("NVIDIA_TF32_OVERRIDE", "TF32 or another arithmetic is asked for"),
        ("CUBLAS_BATCH_INVARIANCE_FLAGS", "results that do not depend on the batch are asked for"),
    ] {
        let Some((lines, summary)) = run("products", &[library()], &[(variable, "1")]) else { return };
        assert_eq!((after(&lines, "right").len(), after(&lines, "reached").len()), (0, 29), "{lines:#?}");
        assert!(summary.starts_with("sgemm: 0 calls") && summary.contains(reason), "{summary}");
    }
}

#[test]
fn without_tf32_no_tensor_core_computes() {
    let variables = [("NVIDIA_TF32_OVERRIDE", "0"), ("SGEMM_PRECISION", "fp32")];
    let Some((lines, summary)) = run("plain", &[library()], &variables) else { return };
    check(&lines, 1);
    assert!(summary.starts_with("sgemm: 1 calls computed in fp32-strict"), "{summary}");
}

#[test]
fn threads_share_plans() {
    let Some((lines, summary)) = run("threads", &[library()], &[]) else { return };
    check(&lines, 4);
    assert!(summary.starts_with("sgemm: 12 calls computed"), "{summary}");
}

#[test]
fn what_cublas_calls_itself_is_its_own() {
    let Some((lines, summary)) = run("nested", &[library()], &[]) else { return };
    let reached = after(&lines, "reached");
    assert_eq!(reached.len(), 2, "{lines:#?}");
    assert!(reached[1].starts_with("cublasLtMatmul") && summary.contains(" 1 forwarded"), "{lines:#?} {summary}");
}

#[test]
fn a_capture_has_what_is_at_hand() {
    let Some((lines, summary)) = run("captured", &[library()], &[]) else { return };
    check(&lines, 1);
    assert!(summary.contains("sgemm: 4 calls computed in fp32-strict, 2 forwarded"), "{summary}");
    let line = "forwarded: would load or allocate while the stream is captured";
    assert_eq!(summary.matches(line).count(), 2, "{summary}");
}

#[test]
fn a_workspace_is_the_programs_where_there_may_be_no_other() {
    let variables = [("CUBLAS_WORKSPACE_CONFIG", ":0:0")];
    let Some((lines, summary)) = run("limited", &[library()], &variables) else { return };
    check(&lines, 1);
    assert!(summary.contains("2 x cublasSgemm_v2 forwarded: no memory for the workspace"), "{summary}");
}

/// Where the best plan of the class has no room, one that is no slower than cuBLAS's arithmetic does with less.
#[test]
fn a_plan_does_with_the_workspace_that_there_is() {
    let variables = [("CUBLAS_WORKSPACE_CONFIG", ":1024:2"), ("SGEMM_PRECISION", "fp32")];
    let Some((lines, summary)) = run("frugal", &[library()], &variables) else { return };
    check(&lines, 0);
    assert!(summary.starts_with("sgemm: 1 calls computed in fp32, 1 forwarded"), "{summary}");
    assert!(summary.contains("1024 x 1024 x 1024 by any-layout"), "{summary}");
}

#[test]
fn two_of_them_do_not_call_each_other_for_ever() {
    let folder = tempfile::tempdir().unwrap();
    let other = folder.path().join("libother.so");
    fs::copy(library(), &other).unwrap();
    let both = [library(), other];
    let Some((lines, summary)) = run("plain", &both, &[]) else { return };
    check(&lines, 1);
    assert!(summary.contains("sgemm: 1 calls computed"), "{summary}");
    let (lines, _) = run("forwarded", &both, &[]).unwrap();
    check(&lines, 0);
}

/// Of the context before, no plan, pool or workspace is used.
#[test]
fn after_a_reset_of_the_device_all_is_made_again() {
    let Some((lines, summary)) = run("reset", &[library()], &[]) else { return };
    check(&lines, 3);
    assert!(summary.starts_with("sgemm: 3 calls computed in fp32-strict, 0 forwarded"), "{summary}");
}

#[test]
fn a_forked_child_is_left_alone() {
    let Some((mut lines, summary)) = run("forks", &[library()], &[]) else { return };
    assert_eq!(lines.pop().as_deref(), Some("child 0"));
    check(&lines, 1);
    assert_eq!(summary.matches("calls computed").count(), 1, "one summary, the parent's: {summary}");
}

#[test]
fn a_process_without_calls_notices_nothing() {
    let Some((lines, summary)) = run("silent", &[library()], &[]) else { return };
    assert_eq!((lines, summary), (vec!["threads 1".to_owned()], String::new()));
}

/// Of the library's own, and of the runtime's as little.
#[test]
fn nothing_but_names_of_cublas_is_exported() {
    let Ok(output) = Command::new("nm").args(["-D", "--defined-only"]).arg(library()).output() else { return };
    let text = String::from_utf8(output.stdout).unwrap();
    let names: Vec<_> = text.lines().filter_map(|line| line.rsplit(' ').next()).collect();
    assert_eq!(names.len(), 20, "{names:?}");
    assert!(names.iter().all(|name| name.starts_with("cublas")), "{names:?}");
}

/// On the stand-ins its figures mean nothing: it finds all that it calls, and what is preloaded.
#[test]
fn the_benchmark_of_overhead_runs() {
    let Some(folder) = folder() else { return };
    let program = folder.join("overhead");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("bench/overhead.c");
    let mut compile = Command::new("cc");
    compile.args(["-O2", "-Wall", "-Wextra", "-Werror", "-o"]).arg(&program).arg(source).arg("-ldl");
    let output = compile.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let output = Command::new(&program).arg(library()).arg("1").env("LD_LIBRARY_PATH", folder).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    for way in ["cublas", "preloaded"] {
        assert_eq!(said.matches(&format!("{{\"way\": \"{way}\"")).count(), 5, "{said}");
    }
    // A warm-up and a batch, of three kinds of calls without the library, and of two with it.
    assert_eq!(said.matches("reached cublasSgemm_v2 ").count(), (3 + 2) * 400, "{said}");
}
