//! Where rows go, what of foreign files reaches a terminal, and options that would do nothing.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::program::{assert_fails, host, rows, write};

/// What the emulator does at once.
const QUICK: [&str; 6] = ["--backend", "emulator", "--kernel", "naive", "--size", "64"];

fn with(arguments: &[&'static str]) -> Vec<&'static str> {
    QUICK.iter().chain(arguments).copied().collect()
}

#[test]
fn the_file_has_all_rows_though_nobody_reads_the_table() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("rows.jsonl");
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = Command::new(env!("CARGO_BIN_EXE_host"));
    command.args(["--backend", "emulator", "--kernel", "naive", "--size", "64,32", "--json"]).arg(&file);
    let output = command.stdout(writer).stderr(Stdio::piped()).spawn().unwrap().wait_with_output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), stderr.as_str()), (Some(0), ""));
    assert_eq!(rows(&fs::read_to_string(file).unwrap()).len(), 2);
}

#[test]
fn a_dash_is_standard_output() {
    let folder = TempDir::new().unwrap();
    let run = |format: &str| {
        let mut command = assert_cmd::Command::new(env!("CARGO_BIN_EXE_host"));
        let output =
            command.current_dir(&folder).args(QUICK).args(["--json", "-", "--format", format]).output().unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    };
    for format in ["table", "json"] {
        let (code, stdout) = run(format);
        assert_eq!((code, rows(&stdout).len()), (Some(0), 1), "{stdout}");
    }
    assert_eq!(run("csv"), (Some(2), String::new()));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "no file is called -");
}

#[test]
fn no_folder_is_made_for_a_file() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("typo/rows.jsonl");
    let file = file.to_str().unwrap();
    assert_fails(&[&QUICK[..], &["--json", file]].concat(), 1, &["cannot write", "typo/rows.jsonl", "No such file"]);
    assert_fails(&["tune", "--model", "h200", "--output", file], 1, &["cannot write", "typo/rows.jsonl"]);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn options_without_effect_are_refused() {
    for arguments in [
        &["--backend", "cuda", "--full"][..],
        &["--backend", "cuda", "--model", "h200"],
        &["--backend", "emulator", "--device", "0"],
        &["--backend", "emulator", "--graphs"],
        &["--backend", "emulator", "--iterations", "3"],
        &["--backend", "emulator", "--warmup", "3"],
        &["--kernel", "naive,cublas", "--tuned", "/no/such/table"],
        &["accuracy", "--backend", "cuda", "--model", "h200"],
        &["accuracy", "--backend", "emulator", "--device", "0"],
    ] {
        assert_fails(arguments, 2, &["has no effect here", "leave it out"]);
    }
    assert_fails(&["tune", "--records", "x", "--device", "0"], 2, &["cannot be used with"]);
    assert_fails(&["tune", "--model", "h200", "--device", "0"], 2, &["cannot be used with"]);
}

#[test]
fn only_steps_are_explained_and_counted() {
    for name in ["cublas", "cublas-tf32", "auto", "pinned"] {
        let line = [&format!("'{name}' is no step"), "such as naive", "host list"];
        assert_fails(&["explain", name], 2, &line);
        assert_fails(&["counters", "--kernel", name], 2, &line);
    }
    assert_fails(&["explain", "all"], 2, &["'all' is no step"]);
}

#[test]
fn files_without_end_are_refused() {
    if !Path::new("/dev/zero").exists() {
        return;
    }
    for arguments in [&["--ptx", "/dev/zero"][..], &["--tuned", "/dev/zero"], &["shapes", "/dev/zero"]] {
        assert_fails(arguments, 1, &["/dev/zero", "it has more than 134217728 bytes"]);
    }
    assert_fails(&["tune", "--records", "/dev/zero"], 1, &["cannot read /dev/zero", "134217728"]);
}

#[test]
fn what_a_foreign_file_says_reaches_no_terminal_as_it_is() {
    let folder = TempDir::new().unwrap();
    let (evil, long) = ("\u{1b}[2J\u{202e}", "x".repeat(1_000_000));
    for text in [evil, long.as_str()] {
        let json = format!(r#"{{"record": {}, "schema": 2}}"#, serde_json::to_string(text).unwrap());
        for (arguments, text) in [
            (&["shapes"][..], format!("m,n,k\n{text},1,1\n")),
            (&["shapes"], format!("{text},n,k\n1,1,1\n")),
            (&["--tuned"], format!("device {text}\n")),
            (&["--ptx"], format!(".version {text}\n")),
            (&["tune", "--records"], json.clone()),
            (&["--same-device-as"], json.clone()),
        ] {
            let file = write(&folder, text);
            let outcome = host(&[arguments, &[&file]].concat());
            assert!(outcome.code == 1 && outcome.stdout.is_empty(), "{arguments:?}: {}", outcome.stderr);
            let is_shown = |c: char| c == '\n' || !(c.is_control() || c == '\u{202e}');
            assert!(outcome.stderr.len() < 2000 && outcome.stderr.chars().all(is_shown), "{arguments:?}");
        }
    }
}

#[test]
fn another_device_than_that_of_the_records_is_refused_before_anything_runs() {
    let folder = TempDir::new().unwrap();
    let file = write(&folder, host(&with(&["--json", "-"])).stdout);
    let same = |model: &'static str| [&QUICK[..], &["--model", model, "--same-device-as", &file]].concat();
    let again = host(&same("h200"));
    assert!(again.code == 0 && again.stdout.contains("naive"), "{}", again.stderr);
    assert_fails(&same("a100"), 1, &["was modelled for NVIDIA H200", "this run was modelled for NVIDIA A100"]);
    assert_fails(&[&QUICK[..], &["--same-device-as", "/no/such/file"]].concat(), 1, &["cannot read /no/such/file"]);
}

#[test]
fn a_limit_of_the_process_does_not_contradict_the_machines_memory() {
    let script = format!("ulimit -v 600000; '{}' {} --size 12000", env!("CARGO_BIN_EXE_host"), QUICK[..4].join(" "));
    let output = Command::new("sh").args(["-c", &script]).output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    let line = stderr.lines().last().unwrap_or_default();
    assert!(line.starts_with("error: not enough host memory: "), "{stderr}");
    let numbers: Vec<u64> = line.split(' ').filter_map(|word| word.parse().ok()).collect();
    match numbers[..] {
        [needed, there] => assert!(needed > there, "{line}"),
        _ => assert!(line.contains("this process may not have"), "{line}"),
    }
}
