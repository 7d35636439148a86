//! The program: its output and findings; invalid input is one clear line and an exit code, never a panic.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use assert_cmd::Command;
use tempfile::TempDir;

pub const SAXPY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/ptx/saxpy.ptx");
pub const VECTOR_ADD: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/ptx/vector_add.ptx");
pub const REDUCTION: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/ptx/reduction.ptx");
const KERNELS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../sgemm/src/modules/sm_80.ptx");

pub struct Outcome {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

pub fn emu(arguments: &[&str]) -> Outcome {
    let output = Command::new(env!("CARGO_BIN_EXE_ptx-emu")).args(arguments).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Outcome { code: output.status.code().unwrap(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

/// `run FILE OPTIONS --arg SPEC ...`, words and SPECs separated by spaces.
pub fn run(file: &str, options: &str, specs: &str) -> Outcome {
    let specs = specs.split_whitespace().flat_map(|spec| ["--arg", spec]);
    let arguments: Vec<&str> = ["run", file].into_iter().chain(options.split_whitespace()).chain(specs).collect();
    emu(&arguments)
}

/// Expects that exit code, one `error:` line that has all of these words, and nothing else.
pub fn assert_error(outcome: &Outcome, code: i32, words: &[&str]) {
    let Outcome { code: got, stdout, stderr } = outcome;
    assert_eq!((*got, stdout.as_str()), (code, ""), "{stderr}");
    assert!(stderr.starts_with("error: ") && stderr.matches("error:").count() == 1, "{stderr}");
    assert!(!stderr.contains("panicked"), "{stderr}");
    let line = stderr.lines().next().unwrap();
    for word in words {
        assert!(line.contains(word), "'{word}' is missing in: {line}");
    }
}

fn floats(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

#[test]
fn help_explains_every_option_and_spec() {
    let help = emu(&["run", "--help"]);
    assert_eq!(help.code, 0);
    for word in [
        "--entry",
        "--grid",
        "--block",
        "--cluster",
        "--shared",
        "--arg",
        "--check",
        "--counters",
        "--print",
        "--variable",
        "--suppress",
        "--threads",
        "--max-instructions",
        "--sample",
        "--seed",
        "--trace",
        "--steps",
        "SPEC",
        "TYPE:VALUE",
        "inout:",
        "fill=",
        "Examples:",
        "Exit codes:",
    ] {
        assert!(help.stdout.contains(word), "{word}");
    }
    let help = emu(&["--help"]);
    assert!(
        help.code == 0 && ["run", "launch", "list", "check", "Examples:"].iter().all(|word| help.stdout.contains(word))
    );
    assert_eq!(emu(&[]).code, 2);
}

#[test]
fn results_are_printed() {
    let specs = "in:f32:40:fill=iota in:f32:40:fill=0.5 out:f32:50 u32:40";
    let outcome = run(VECTOR_ADD, "--grid 2 --block 32 --print 3", specs);
    assert_eq!((outcome.code, outcome.stdout.as_str()), (0, "argument 3: f32[50] = 0.5 1.5 2.5 ...\n"));
    assert!(outcome.stderr.starts_with("vector_add: clean; 2 of 2 blocks in "), "{}", outcome.stderr);
    // Elements that are not written stay NaN.
    let outcome = run(VECTOR_ADD, "--grid 2 --block 32 --print 99", specs);
    assert!(outcome.stdout.ends_with(" 38.5 39.5 NaN NaN NaN NaN NaN NaN NaN NaN NaN NaN\n"), "{}", outcome.stdout);
}

#[test]
fn files_are_read_and_written() {
    let folder = TempDir::new().unwrap();
    let file = |name: &str| folder.path().join(name);
    let name = |name: &str| file(name).to_str().unwrap().to_owned();
    fs::write(file("x"), floats(&[1.0, 2.0, 3.0])).unwrap();
    fs::write(file("y"), floats(&[0.5, 0.25, f32::INFINITY])).unwrap();
    fs::write(file("result"), "longer than what is written over it").unwrap();
    let specs = format!("u32:3 f32:-2 in:f32:@{} inout:f32:@{}:@{}", name("x"), name("y"), name("result"));
    let outcome = run(SAXPY, "--grid 1 --block 2", &specs);
    assert_eq!((outcome.code, outcome.stdout.as_str()), (0, ""), "{}", outcome.stderr);
    assert_eq!(fs::read(file("result")).unwrap(), floats(&[-1.5, -3.75, f32::INFINITY]));
    assert_eq!(fs::read(file("y")).unwrap(), floats(&[0.5, 0.25, f32::INFINITY]));

    let specs = format!("in:f32:@{0} in:f32:@{0} out:f32:4:@{1} u32:3", name("x"), name("sum"));
    assert_eq!(run(VECTOR_ADD, "--grid 1 --block 32", &specs).code, 0);
    let sum = fs::read(file("sum")).unwrap();
    assert_eq!((&sum[..12], &sum[12..]), (&floats(&[2.0, 4.0, 6.0])[..], &[0xff; 4][..]));
}

#[test]
fn seeds_decide_what_is_random() {
    let first = |options: &str, specs: &str| run(SAXPY, &format!("--grid 1 --block 32 {options}"), specs).stdout;
    let specs = "u32:8 f32:0 in:f32:8 inout:f32:8";
    assert_eq!(first("", specs), first("--seed 1", specs));
    assert_ne!(first("", specs), first("--seed 2", specs));
    let fixed = "u32:8 f32:0 in:f32:8 inout:f32:8:seed=5";
    assert_eq!(first("", fixed), first("--seed 2", fixed));
}

#[test]
fn findings_and_faults_are_exit_code_1_and_name_the_line() {
    let specs = "in:u32:256:fill=1 out:u32:1";
    let clean = run(REDUCTION, "--entry reduction --grid 1 --block 256", specs);
    assert_eq!((clean.code, clean.stdout.as_str()), (0, "argument 2: u32[1] = 256\n"), "{}", clean.stderr);
    let racy = run(REDUCTION, "--entry reduction_racy --grid 1 --block 256", specs);
    assert_eq!(racy.code, 1);
    let text = fs::read_to_string(REDUCTION).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let load = 1 + lines.iter().rposition(|line| line.contains("ld.shared.u32 %r8")).unwrap();
    let place = format!("{REDUCTION}:{load}: race: `ld.shared.u32`, thread (");
    assert!(racy.stderr.lines().any(|line| line.starts_with(&place)), "{place}: {}", racy.stderr);
    assert!(racy.stderr.lines().last().unwrap().contains(" finding"), "{}", racy.stderr);
    assert!(racy.stdout.starts_with("argument 2: u32[1] = "), "{}", racy.stdout);
    let unwatched = run(REDUCTION, "--entry reduction_racy --grid 1 --block 256 --check memory,barriers", specs);
    assert_eq!(unwatched.code, 0, "{}", unwatched.stderr);

    let outside = run(VECTOR_ADD, "--grid 1 --block 64", "in:f32:32 in:f32:64 out:f32:64 u32:64");
    assert_eq!(outside.code, 1);
    let found = outside.stderr.lines().any(|line| line.starts_with(&format!("{VECTOR_ADD}:33: out of bounds: `")));
    assert!(found, "{}", outside.stderr);
    assert_eq!(run(VECTOR_ADD, "--grid 1 --block 64 --check none", "in:f32:32 in:f32:64 out:f32:64 u32:64").code, 0);
}

#[test]
fn loops_without_end_are_ended() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("loop.ptx");
    fs::write(&path, ".version 7.0\n.target sm_80\n.address_size 64\n.entry k() {\nL:\nbra L;\n}\n").unwrap();
    let outcome = run(path.to_str().unwrap(), "--grid 1 --block 32 --max-instructions 10000", "");
    assert_eq!((outcome.code, outcome.stdout.as_str()), (1, ""));
    assert!(outcome.stderr.contains("loop.ptx:6: runaway: "), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("k: stopped: runaway"), "{}", outcome.stderr);
    let text = ".version 7.0\n.target sm_80\n.address_size 64\n.entry k() {\nL:\nbar.sync 0;\nbra L;\n}\n";
    fs::write(&path, text).unwrap();
    let outcome = run(path.to_str().unwrap(), "--grid 1 --block 64 --max-instructions 10000", "");
    assert!(outcome.code == 1 && outcome.stderr.contains("k: stopped: runaway"), "{}", outcome.stderr);
}

#[test]
fn json_is_one_object_and_nothing_else() {
    let specs = "u32:1000 f32:2 in:f32:1000 inout:f32:1000";
    let outcome = run(SAXPY, "--grid 2 --block 128 --counters json", specs);
    let json: serde_json::Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    assert_eq!((&json["entry"], &json["blocks_run"], &json["clean"]), (&"saxpy".into(), &2.into(), &true.into()));
    let counters = &json["counters"];
    assert_eq!(counters["thread_fmas"], 1000);
    assert_eq!((&counters["global_loads"]["bytes"], &counters["global_stores"]["bytes"]), (&8000.into(), &4000.into()));
    assert!(counters["lines"].as_array().unwrap().iter().any(|line| line["instruction"] == "fma.rn.f32"));

    let racy = run(REDUCTION, "--entry reduction_racy --grid 1 --block 64 --counters json", "in:u32:64 out:u32:1");
    let json: serde_json::Value = serde_json::from_str(&racy.stdout).unwrap();
    assert_eq!((racy.code, &json["clean"], &json["fault"]), (1, &false.into(), &serde_json::Value::Null));
    let findings = json["findings"].as_array().unwrap();
    let is_race = |finding: &serde_json::Value| finding["kind"] == "race" && finding["instruction"] == "ld.shared.u32";
    assert!(findings.iter().any(is_race), "{findings:?}");
}

#[test]
fn tables_show_totals_and_lines() {
    let specs = "u32:1000 f32:2 in:f32:1000 inout:f32:1000";
    let outcome = run(SAXPY, "--grid 2 --block 128 --counters lines", specs);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    for word in
        ["argument 4: f32[1000] =", "grid 2 x 1 x 1", "global loads", "integer arithmetic", "fma.rn.f32 %f4", "$done:"]
    {
        assert!(outcome.stdout.contains(word), "'{word}' is missing in: {}", outcome.stdout);
    }
    let totals = run(SAXPY, "--grid 2 --block 128 --counters table", specs);
    assert!(!totals.stdout.contains("fma.rn.f32 %f4") && totals.stdout.contains("global loads"));
}

#[test]
fn a_sample_is_scaled_up() {
    let specs = "in:f32:65536 in:f32:65536 out:f32:65536 u32:65536";
    let all = run(VECTOR_ADD, "--grid 256 --block 256 --counters json", specs);
    let sample = run(VECTOR_ADD, "--grid 256 --block 256 --counters json --sample 0", specs);
    let [all, sample] = [all, sample].map(|run| serde_json::from_str::<serde_json::Value>(&run.stdout).unwrap());
    assert_eq!((&sample["sampled"], &sample["blocks_run"], &sample["blocks"]), (&true.into(), &6.into(), &256.into()));
    assert_eq!(sample["counters"], all["counters"]);
}

#[test]
fn clusters_must_fit_the_grid() {
    let specs = "u32:1000 f32:2 in:f32:1000 inout:f32:1000";
    assert_eq!(run(SAXPY, "--grid 4 --block 256 --cluster 2", specs).code, 0);
    let words = ["4 x 1 x 1 blocks", "clusters of 3 x 1 x 1"];
    assert_error(&run(SAXPY, "--grid 4 --block 256 --cluster 3", specs), 2, &words);
}

#[test]
fn kernels_are_listed_and_checked() {
    let list = emu(&["list", REDUCTION]);
    assert_eq!((list.code, list.stderr.as_str()), (0, ""));
    assert!(
        list.stdout.contains("reduction_racy") && list.stdout.contains(".u64 .u64") && list.stdout.contains("1 024")
    );
    let list = emu(&["list", SAXPY]);
    assert!(list.stdout.contains(".u32 .f32 .u64 .u64") && list.stdout.contains("maxntid 256,1,1"), "{}", list.stdout);
    let check = emu(&["check", REDUCTION]);
    assert_eq!((check.code, check.stdout.as_str()), (0, "2 of 2 kernels can be run\n"), "{}", check.stderr);

    let folder = TempDir::new().unwrap();
    let path = folder.path().join("unknown.ptx");
    let text = fs::read_to_string(SAXPY).unwrap().replace("mul.wide.u32", "multiply.u32");
    fs::write(&path, text).unwrap();
    let check = emu(&["check", path.to_str().unwrap()]);
    assert_eq!((check.code, check.stdout.as_str()), (1, "0 of 1 kernels can be run\n"));
    assert!(check.stderr.contains("unknown.ptx:32: `multiply.u32` cannot be run: "), "{}", check.stderr);
    assert!(check.stderr.ends_with("(in saxpy)\n"), "{}", check.stderr);
    let list = emu(&["list", path.to_str().unwrap()]);
    assert!(list.code == 0 && list.stderr.starts_with("note: "), "{}", list.stderr);
    let specs = "u32:1 f32:1 in:f32:1 inout:f32:1";
    assert_error(&run(path.to_str().unwrap(), "--grid 1 --block 1", specs), 1, &["unknown.ptx:32", "multiply.u32"]);
}

#[test]
fn kernels_that_are_not_there_get_a_suggestion() {
    let outcome = run(REDUCTION, "--entry reductoin --grid 1 --block 1", "");
    let words = ["no kernel 'reductoin'", "did you mean 'reduction'?", "it has reduction, reduction_racy"];
    assert_error(&outcome, 2, &words);
    assert_error(&run(REDUCTION, "--entry xyz --grid 1 --block 1", ""), 2, &["'xyz'; it has reduction"]);
    assert_error(&run(REDUCTION, "--grid 1 --block 1", ""), 2, &["several kernels: give --entry one of reduction"]);
}

#[test]
fn arguments_must_fit_the_parameters() {
    let vector_add = |specs: &str| run(VECTOR_ADD, "--grid 1 --block 32", specs);
    let three = "in:f32:32 in:f32:32 out:f32:32";
    let words = ["vector_add takes 4 arguments (.u64, .u64, .u64, .u32); 3 given"];
    assert_error(&vector_add(three), 2, &words);
    assert_error(&vector_add(&format!("{three} u64:32")), 2, &["argument 4, 'u64:32': ", ".u32", "4 bytes", "has 8"]);
    assert_error(&vector_add(&format!("{three} bytes:00")), 2, &["argument 4", ".u32", "has 1"]);
    assert_error(&vector_add(&format!("{three} f32:32")), 2, &["argument 4", ".u32: give u32:VALUE, or b32:0x"]);
    assert_error(&vector_add("u32:0 u64:0 u64:0 u32:0"), 2, &["argument 1", ".u64"]);
    assert_error(&vector_add(&format!("{three} in:u32:1")), 2, &["argument 4", "no pointer"]);
    assert_eq!(vector_add(&format!("{three} bytes:20000000")).code, 0);
    assert_eq!(vector_add("u64:0 u64:0 u64:0 b32:0").code, 0);
}

#[test]
fn wrong_specs_and_files_are_usage_errors() {
    let folder = TempDir::new().unwrap();
    let odd = folder.path().join("odd.bin");
    fs::write(&odd, [0; 7]).unwrap();
    let saxpy = |spec: &str| run(SAXPY, "--grid 1 --block 32", &format!("u32:1 f32:1 in:f32:1 {spec}"));
    assert_error(&saxpy("inout:f33:1"), 2, &["--arg", "inout:f33:1", "'f33' is no type"]);
    assert_error(&saxpy("in:f32:x"), 2, &["--arg", "'x' is no number of elements"]);
    assert_error(&saxpy("in:f32:@/no/such/file"), 2, &["cannot read /no/such/file: No such file"]);
    assert_error(&saxpy(&format!("in:f32:@{}", odd.display())), 2, &["argument 4", "7 bytes", "odd.bin", "4 bytes"]);
    assert_error(&saxpy("in:f32:1000000000000"), 2, &["argument 4", "more than 8 GiB"]);
    assert_error(&saxpy("out:f32:1:@/no/such/folder/c.bin"), 1, &["cannot write /no/such/folder/c.bin"]);
    assert_error(&run("/no/such.ptx", "--grid 1 --block 1", ""), 2, &["cannot read /no/such.ptx: No such file"]);
    assert_error(&run(folder.path().to_str().unwrap(), "--grid 1 --block 1", ""), 2, &["directory"]);
}

#[test]
fn options_must_make_sense() {
    let specs = "u32:1 f32:1 in:f32:1 inout:f32:1";
    let saxpy = |options: &str| run(SAXPY, options, specs);
    assert_error(&saxpy("--grid 1 --block 2000"), 2, &["2000", "1024"]);
    assert_error(&saxpy("--grid 1 --block 512"), 2, &["512", ".maxntid"]);
    assert_error(&saxpy("--grid 1 --block 4294967295,4294967295,4294967295"), 2, &["4294967295", "1024"]);
    assert_error(&saxpy("--grid 1,65536 --block 1"), 2, &["65535"]);
    assert_error(&saxpy("--grid 1 --block 1 --shared 4000000000"), 2, &["shared memory"]);
    assert_error(&saxpy("--block 1"), 2, &["required"]);
    for options in ["--grid 0", "--grid 1,2,3,4", "--grid x", "--grid -1"] {
        assert_error(&saxpy(&format!("{options} --block 1")), 2, &[]);
    }
    for options in
        ["--check some", "--counters xml", "--threads 0", "--max-instructions 0", "--sample -1", "--sample 1e99"]
    {
        assert_error(&saxpy(&format!("--grid 1 --block 1 {options}")), 2, &[]);
    }
}

#[test]
fn broken_ptx_is_one_line_with_its_place() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("broken.ptx");
    let broken = |bytes: &[u8]| {
        fs::write(&path, bytes).unwrap();
        run(path.to_str().unwrap(), "--grid 1 --block 1", "")
    };
    assert_error(&broken(b".version 7.0\n.target sm_80\n.entry k() {\n"), 1, &["broken.ptx:"]);
    assert_error(&broken(b"\x7fELF\xff\xfe"), 1, &["broken.ptx is no PTX", "not UTF-8"]);
    assert_error(&broken(b".version 7.0\n.target sm_80\n.address_size 64\n"), 2, &["broken.ptx has no kernel"]);
    let huge = b".version 7.0\n.target sm_80\n.address_size 64\n.entry k(.param .b8 x[2147483647]) { ret; }\n";
    assert_error(&broken(huge), 1, &["broken.ptx:4: `x`", "parameters take more than 32764 bytes"]);
    let good = b".version 7.0\n.target sm_80\n.address_size 64\n.entry k() { ret; }\n\0";
    assert_eq!(broken(good).code, 0);
}

#[test]
fn what_is_no_file_and_long_names_stay_small() {
    if Path::new("/dev/zero").exists() {
        assert_error(&run("/dev/zero", "--grid 1 --block 1", ""), 2, &["cannot read /dev/zero", "134217728 bytes"]);
    }
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("long\u{1b}[31m.ptx");
    let header = ".version 8.0\n.target sm_80\n.address_size 64\n";
    let name = "x".repeat(1_000_000);
    fs::write(&path, format!("{header}.entry {name}() {{ {name}; }}\n.entry {name}2() {{ ret; }}\n")).unwrap();
    let path = path.to_str().unwrap();
    for arguments in [&["check", path][..], &["list", path], &["run", path, "--grid", "1", "--block", "1"]] {
        let Outcome { stdout, stderr, .. } = emu(arguments);
        assert!(stdout.len() + stderr.len() < 5000, "{arguments:?}: {} bytes", stdout.len() + stderr.len());
        assert!(!(stdout + &stderr).contains('\u{1b}'), "{arguments:?}");
    }
}

#[test]
fn the_projects_kernels_are_listed() {
    let list = emu(&["list", KERNELS]);
    assert_eq!(list.code, 0, "{}", list.stderr);
    assert!(list.stdout.contains("sgemm_naive"), "{}\n{}", list.stdout, list.stderr);
}

#[test]
fn a_full_disk_is_an_error_and_a_closed_pipe_is_none() {
    if !Path::new("/dev/full").exists() {
        return;
    }
    for arguments in [&["--help"][..], &["list", SAXPY]] {
        let command = format!("'{}' {}", env!("CARGO_BIN_EXE_ptx-emu"), arguments.join(" "));
        let full = Command::new("sh").args(["-c", &format!("{command} > /dev/full")]).output().unwrap();
        let stderr = String::from_utf8(full.stderr).unwrap();
        assert_eq!(full.status.code(), Some(1));
        assert!(stderr.starts_with("error: cannot write standard output: ") && stderr.lines().count() == 1, "{stderr}");
        // The reader has gone before anything is written.
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut closed = std::process::Command::new(env!("CARGO_BIN_EXE_ptx-emu"));
        let closed = closed.args(arguments).stdout(writer).stderr(Stdio::piped()).spawn().unwrap();
        let closed = closed.wait_with_output().unwrap();
        assert_eq!((closed.status.code(), String::from_utf8(closed.stderr).unwrap()), (Some(0), String::new()));
    }
}

#[test]
fn findings_count_even_if_standard_error_is_closed() {
    if Path::new("/dev/full").exists() {
        let script = format!(
            "'{}' run {VECTOR_ADD} --grid 1 --block 64 --arg in:f32:1 --arg in:f32:1 --arg out:f32:1 --arg u32:64 2> /dev/full",
            env!("CARGO_BIN_EXE_ptx-emu")
        );
        let mute = Command::new("sh").args(["-c", &script]).output().unwrap();
        assert_eq!(mute.status.code(), Some(1));
    }
}

#[test]
fn warnings_have_an_exit_code_and_remarks_have_none() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/bad");
    let run = |program: &str, constants: &[&str]| {
        let path = format!("{folder}/{program}.ptx");
        let arguments =
            ["run", &path, "--grid", "1", "--block", "32", "--arg", "inout:u32:64:fill=zeros", "--print", "1"];
        emu(&[&arguments, constants].concat())
    };
    let remark = run("remark_same_value", &[]);
    assert!(remark.code == 0 && remark.stderr.contains(": remark: race: "), "{}", remark.stderr);
    assert!(remark.stderr.contains("1 remark;"), "{}", remark.stderr);
    let warning = run("warning_constant_not_set", &[]);
    assert!(warning.code == 3 && warning.stderr.contains(": warning: uninitialised: "), "{}", warning.stderr);
    let set = run("warning_constant_not_set", &["--const", "second=in:u32:2:fill=iota"]);
    assert_eq!((set.code, set.stdout.as_str()), (0, "argument 1: u32[64] = 1 ...\n"), "{}", set.stderr);
    assert_error(&run("warning_constant_not_set", &["--const", "third=u32:1"]), 2, &["third"]);
    assert_error(&run("warning_constant_not_set", &["--const", "second=in:u32:3"]), 2, &["8 bytes", "12"]);
}
