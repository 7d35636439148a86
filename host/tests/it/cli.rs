//! The command line: what it prints, and that bad input is one clear line and an exit code, never a panic.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use crate::program::{assert_fails, host, no_device, rows, write};
use assert_cmd::Command;
use gpu_kernels::{STEPS, Step};
use host::{BASELINES, Error, PtxSource};
use tempfile::TempDir;

const PTX_HEADER: &str = ".version 7.0\n.target sm_80\n.address_size 64\n";

/// The steps that a device of that compute capability runs.
fn ladder(major: u32, minor: u32) -> impl Iterator<Item = &'static Step> {
    STEPS.iter().filter(move |step| step.target.runs_on(major, minor))
}

#[test]
fn list_is_the_registry() {
    let outcome = host(&["list"]);
    let names: Vec<_> = outcome.stdout.lines().map(|line| line.split_whitespace().next().unwrap()).collect();
    let expected = STEPS.iter().map(|step| step.slug);
    let expected: Vec<_> =
        expected.chain(BASELINES.iter().map(|baseline| baseline.name)).chain(["auto", "pinned", "all"]).collect();
    assert_eq!((outcome.code, names, outcome.stderr.as_str()), (0, expected, ""));
}

#[test]
fn a_step_is_explained_beside_its_base() {
    let outcome = host(&["explain", "coalesced", "--size", "128"]);
    assert_eq!((outcome.code, outcome.stderr.as_str()), (0, ""));
    for text in ["naive", "sectors per load", "touches 2.50 sectors instead of 16.5", "modelled for NVIDIA H200"] {
        assert!(outcome.stdout.contains(text), "'{text}' is missing in: {}", outcome.stdout);
    }
    let json = host(&["explain", "naive", "--size", "64", "--format", "json"]);
    let json: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!((&json["base"], &json["step"]["thread_fmas"]), (&serde_json::Value::Null, &(64 * 64 * 64).into()));
    assert_fails(&["explain", "vectorised"], 2, &["did you mean 'vectorized'?"]);
    assert_fails(&["explain", "naive", "--kernel", "naive"], 2, &["unexpected argument '--kernel'"]);
    assert_fails(&["explain"], 2, &["required"]);
    assert_fails(&["explain", "naive", "--m", "4", "--n", "4", "--k", "0"], 1, &["explain naive", "no work"]);
}

#[test]
fn sets_of_shapes_must_be_sets() {
    let folder = TempDir::new().unwrap();
    let bad = write(&folder, "m,n,k\n1,2,3\n# c\n4,x,6\n");
    assert_fails(&["shapes", &bad], 1, &["line 4: n = 'x' is no whole number"]);
    assert_fails(&["shapes", "/no/such/file.csv"], 1, &["/no/such/file.csv: ", "No such file"]);
    assert_fails(&["shapes", "random:5"], 1, &["give random:COUNT:SEED", "random:200:1"]);
    assert_fails(&["shapes"], 2, &["required"]);
    assert_fails(&["shapes", "random:5:1", "--op", "nx"], 2, &["'nx' is none of nn, nt, tn, tt"]);
    assert_fails(&["shapes", "random:5:1", "--order", "rows"], 2, &["'rows' is neither row nor column"]);
    assert_fails(&["shapes", "random:5:1", "--precision", "f16,fp64"], 2, &["no accuracy class 'fp64'"]);
    assert_fails(&["shapes", "random:5:1", "--batch", "0"], 2, &["0 is not in 1..=65535"]);
    assert_fails(&["shapes", "random:5:1", "--device", "99"], 1, &["no CUDA device"]);
    if no_device().is_some() {
        assert_fails(&["shapes", "random:5:1"], 1, &["beside cuBLAS", "run it on a machine with one"]);
    }
}

#[test]
fn unknown_kernels_get_a_suggestion() {
    assert_fails(
        &["--kernel", "vectorised"],
        2,
        &["unknown kernel 'vectorised'", "did you mean 'vectorized'?", "host list"],
    );
    assert_fails(&["--kernel", "naive,2dtiling"], 2, &["did you mean '2d-tiling'?"]);
    assert_fails(&["--kernel", "xyz"], 2, &["unknown kernel 'xyz'; `host list` shows all"]);
    assert_fails(&["--kernel", ""], 2, &["unknown kernel ''"]);
}

#[test]
fn sizes_must_be_sizes() {
    for size in ["4k", "-5", "1.5", "", "0x10", "+7", "1024,abc", "4x4", "4x4x", "4x4x4x4", "4x-4x4", "4X4X4"] {
        assert_fails(&["--size", size], 2, &["is not a size: give a whole number of elements, such as 4096"]);
    }
    assert_fails(&["--size", "2147483648"], 2, &["too large"]);
    assert_fails(&["--m", "one", "--n", "1", "--k", "1"], 2, &["'one' is not a size"]);
}

#[test]
fn shapes_are_given_one_way() {
    assert_fails(&["--size", "4", "--m", "4", "--n", "4", "--k", "4"], 2, &["--size", "cannot be used with"]);
    assert_fails(&["--m", "4", "--n", "4"], 2, &["required"]);
}

#[test]
fn bytes_that_overflow_are_refused() {
    let words = ["m = 2147483647, n = 2147483647, k = 2147483647", "overflow"];
    assert_fails(&["--size", "2147483647"], 2, &words);
    assert_fails(&["--m", "2147483647", "--n", "1", "--k", "2147483647"], 2, &["overflow"]);
}

#[test]
fn options_must_be_in_range() {
    assert_fails(&["--iterations", "0"], 2, &["--iterations"]);
    assert_fails(&["--iterations", "4000000000"], 2, &["--iterations"]);
    assert_fails(&["--warmup", "-1"], 2, &["-1"]);
    assert_fails(&["--seed", "abc"], 2, &["--seed"]);
    assert_fails(&["--device", "first"], 2, &["--device"]);
    assert_fails(&["--format", "xml"], 2, &["xml"]);
    assert_fails(&["--backend", "rocm"], 2, &["rocm"]);
    assert_fails(&["--model", "tpu"], 2, &["unknown device 'tpu'", "h200"]);
    assert_fails(&["--no-such-option"], 2, &["--no-such-option"]);
    for factor in ["nan", "inf", "1e99", "one", ""] {
        assert_fails(&["--alpha", factor], 2, &["is not a factor: give a finite number"]);
        assert_fails(&["--beta", factor], 2, &["is not a factor: give a finite number"]);
    }
    assert_fails(&["--alpha", "3e38"], 2, &["leave the range of f"]);
}

#[test]
fn the_emulator_says_that_its_times_are_modelled() {
    let arguments = ["--backend", "emulator", "--kernel", "all", "--size", "100"];
    let json = host(&[&arguments[..], &["--format", "json"]].concat());
    let mut notes: Vec<_> = json.stderr.lines().collect();
    assert!(notes.pop().unwrap().starts_with("note: no comparison: cuBLAS is not there"), "{}", json.stderr);
    notes.retain(|note| !note.starts_with("autotuned: "));
    assert!(notes.iter().all(|note| note.starts_with("note: left out: ") && note.contains("--model")), "{notes:?}");
    let rows = rows(&json.stdout);
    assert_eq!((json.code, rows.len() + notes.len()), (0, STEPS.len()), "{}", json.stderr);
    assert_eq!(rows.len(), ladder(9, 0).count());
    for row in rows {
        assert_eq!((&row["verified"], &row["modelled"]), (&true.into(), &true.into()));
        assert_eq!((&row["backend"], &row["device"]), (&"emulator".into(), &"NVIDIA H200".into()));
        assert_eq!((&row["sampled_blocks"], &row["iterations"]), (&serde_json::Value::Null, &1.into()));
        assert!(row["blocks"].as_u64() >= Some(1) && row["time_ms"].as_f64() > Some(0.0));
    }
    let table = host(&arguments);
    let table_notes = table.stderr.lines().filter(|note| !note.starts_with("autotuned: ")).count();
    assert_eq!((table.code, table_notes), (0, notes.len()), "{}", table.stderr);
    assert!(table.stdout.contains("No GPU: run by the emulator; times modelled for NVIDIA H200"), "{}", table.stdout);
    assert!(table.stdout.contains("modelled ms") && table.stdout.contains("No comparison: cuBLAS"), "{}", table.stdout);
}

#[test]
fn cublas_does_not_run_in_the_emulator() {
    assert_fails(&["--backend", "emulator", "--kernel", "cublas", "--size", "8"], 1, &["cuBLAS", "NVIDIA GPUs only"]);
}

#[test]
fn samples_are_announced_and_full_runs_are_not() {
    let sizes = ["--backend", "emulator", "--kernel", "2d-tiling", "--m", "512", "--n", "512", "--k", "64"];
    let full = host(&[&sizes[..], &["--full"]].concat());
    assert!(full.stdout.contains("all 16") && !full.stdout.contains("--full"), "{}", full.stdout);
    // More blocks than a sample ever has.
    let wide = ["--backend", "emulator", "--kernel", "naive", "--m", "1", "--n", "3000000", "--k", "1"];
    let sampled = host(&wide);
    assert!(sampled.stdout.contains(" of 93750") && sampled.stdout.contains("--full runs all"), "{}", sampled.stdout);
}

#[test]
fn corrupt_ptx_files_are_refused() {
    let folder = TempDir::new().unwrap();
    let missing = folder.path().join("missing.ptx");
    assert_fails(&["--ptx", missing.to_str().unwrap()], 1, &["missing.ptx", "No such file"]);
    assert_fails(&["--ptx", folder.path().to_str().unwrap()], 1, &["directory"]);
    let cases: [(&[u8], &str); 5] = [
        (b"", "no .version"),
        (b"\x7fELF\xff\xfe", "not text"),
        (b".version 7.0\n", "no .target"),
        (b".version 7.0\n.target sm_80\n.entry sgemm_naive() { ret;", "truncated file"),
        (b".version 7.0\n.target sm_80\n\0", "NUL"),
    ];
    for (bytes, word) in cases {
        let path = write(&folder, bytes);
        assert_fails(&["--kernel", "naive", "--ptx", &path], 1, &["kernels.ptx", word]);
    }
    let path = write(&folder, format!("{PTX_HEADER}.visible .entry sgemm_naive() {{\n frobnicate;\n}}\n"));
    let emulated = ["--backend", "emulator", "--kernel", "naive", "--size", "8", "--ptx", &path];
    let outcome = host(&emulated);
    assert_eq!((outcome.code, outcome.stdout.as_str()), (1, ""));
    let words = ["kernels.ptx", "line 5", "frobnicate"];
    assert!(words.iter().all(|word| outcome.stderr.contains(word)), "{}", outcome.stderr);
}

#[test]
fn what_the_emulator_finds_in_a_ptx_file_is_one_line() {
    let step = gpu_kernels::find("2d-tiling").unwrap();
    let module = PtxSource::BuiltIn.module(step).unwrap();
    let folder = TempDir::new().unwrap();
    for (left_out, found) in [("st.shared", "uninitialised"), ("bar.sync", "race")] {
        let lines: Vec<_> = module.lines().filter(|line| !line.contains(left_out)).collect();
        let path = write(&folder, lines.join("\n"));
        let outcome = host(&["--backend", "emulator", "--kernel", "2d-tiling", "--size", "64", "--ptx", &path]);
        assert_eq!((outcome.code, outcome.stdout.as_str()), (1, ""), "{}", outcome.stderr);
        let error = outcome.stderr.lines().find(|line| line.starts_with("error: ")).unwrap();
        assert!(error.starts_with(&format!("error: 2d-tiling is wrong: {found}: line ")), "{error}");
        assert!(error.contains(".shared") && error.contains("thread ("), "{error}");
    }
}

#[test]
fn kernels_missing_in_a_ptx_file_are_named() {
    let folder = TempDir::new().unwrap();
    let path = write(&folder, format!("{PTX_HEADER}.visible .entry sgemm_naive_too() {{ ret; }}\n"));
    assert_fails(&["--kernel", "naive", "--ptx", &path], 1, &["kernels.ptx", "no kernel 'sgemm_naive'"]);
}

#[test]
fn json_files_that_cannot_be_written_are_found_first() {
    let folder = TempDir::new().unwrap();
    let file = write(&folder, "");
    assert_fails(&["--json", &format!("{file}/rows.jsonl")], 1, &["cannot write", "rows.jsonl"]);
    assert_fails(&["--json", folder.path().to_str().unwrap()], 1, &["cannot write", "directory"]);
}

#[test]
fn json_files_keep_their_rows_until_there_are_new_ones() {
    let folder = TempDir::new().unwrap();
    let file = write(&folder, "rows");
    host(&["--json", &file, "--backend", "cuda", "--device", "99"]);
    assert_eq!(fs::read_to_string(&file).unwrap(), "rows");
    let new = folder.path().join("rows.jsonl");
    host(&["--json", new.to_str().unwrap(), "--backend", "cuda", "--device", "99"]);
    assert_eq!(fs::read_to_string(&new).unwrap(), "");
    host(&["--json", &file, "--backend", "emulator", "--kernel", "naive", "--size", "8"]);
    assert_eq!(rows(&fs::read_to_string(&file).unwrap()).len(), 1);
}

#[test]
fn a_full_disk_is_an_error_and_a_closed_pipe_is_none() {
    if !Path::new("/dev/full").exists() {
        return;
    }
    for option in ["list", "--help"] {
        let command = format!("'{}' {option}", env!("CARGO_BIN_EXE_host"));
        let full = Command::new("sh").args(["-c", &format!("{command} > /dev/full")]).output().unwrap();
        let stderr = String::from_utf8(full.stderr).unwrap();
        assert_eq!(full.status.code(), Some(1));
        assert!(stderr.starts_with("error: cannot write standard output: ") && stderr.lines().count() == 1, "{stderr}");
        // The reader has gone before anything is written.
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut closed = std::process::Command::new(env!("CARGO_BIN_EXE_host"));
        let closed = closed.arg(option).stdout(writer).stderr(Stdio::piped()).spawn().unwrap();
        let closed = closed.wait_with_output().unwrap();
        assert_eq!((closed.status.code(), String::from_utf8(closed.stderr).unwrap()), (Some(0), String::new()));
    }
}

#[test]
fn errors_that_cannot_be_shown_are_no_panic() {
    if Path::new("/dev/full").exists() {
        let script = format!("'{}' --kernel xyz 2> /dev/full", env!("CARGO_BIN_EXE_host"));
        let mute = Command::new("sh").args(["-c", &script]).output().unwrap();
        assert_eq!(mute.status.code(), Some(2));
    }
}

#[test]
fn a_missing_device_is_one_line_and_the_emulator_takes_its_place() {
    if let Some(error @ (Error::NoDriver | Error::NoDevice { .. })) = no_device() {
        assert!(error.to_string().starts_with("no CUDA device"));
        for arguments in [
            &["--backend", "cuda"][..],
            &["--backend", "cuda", "--kernel", "all", "--size", "4092", "--format", "json"],
        ] {
            assert_fails(arguments, 1, &["no CUDA device"]);
        }
        let auto = host(&["--size", "40"]);
        assert_eq!((auto.code, auto.stderr.lines().count()), (0, 2), "{}", auto.stderr);
        let words = ["note: no CUDA device was found", "emulator", "modelled for NVIDIA H200"];
        assert!(words.iter().all(|word| auto.stderr.contains(word)), "{}", auto.stderr);
    }
}

#[test]
fn devices_that_are_not_there_are_named() {
    match no_device() {
        None => assert_fails(&["--device", "99"], 1, &["no CUDA device 99"]),
        Some(_) => assert_fails(&["--backend", "cuda", "--device", "99"], 1, &[]),
    }
}

#[test]
fn sizes_beyond_the_devices_memory_are_refused() {
    let arguments = ["--kernel", "naive", "--size", "1000000", "--backend"];
    assert_fails(&[&arguments[..], &["emulator"]].concat(), 1, &["not enough device memory"]);
    if no_device().is_none() {
        assert_fails(&[&arguments[..], &["cuda"]].concat(), 1, &["not enough device memory"]);
    }
}

#[test]
fn the_json_stream_holds_nothing_but_json() {
    let backend = if no_device().is_none() { "cuda" } else { "emulator" };
    let outcome = host(&["--kernel", "all", "--size", "64,65", "--iterations", "2", "--format", "json"]);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let rows = rows(&outcome.stdout);
    for row in &rows {
        assert_eq!((&row["verified"], &row["backend"]), (&true.into(), &backend.into()));
    }
    assert!(rows.len() >= 2 * ladder(8, 0).count());
}
