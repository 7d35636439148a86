//! Ctrl-C: what was done by then is written, the rest is left.

use std::cell::Cell;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};

use host::backend::{BackendChoice, Options, open};
use host::measure::bench::{Progress, Timing, compare, compare_and_keep};
use host::output::Row;
use host::{Kernel, Problem, Stop};
use tempfile::TempDir;

/// A problem that is done at once, and one that takes the emulator hours.
const QUICK_THEN_LONG: [&str; 7] =
    ["--backend", "emulator", "--kernel", "naive,coalesced", "--size", "64,8192", "--full"];

/// Starts the program, and waits until it has printed its rows of the first problem.
fn start(arguments: &[&str]) -> (Child, BufReader<impl Read + use<>>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_host"));
    command.args(QUICK_THEN_LONG).args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let (mut stdout, mut text) = (BufReader::new(child.stdout.take().unwrap()), String::new());
    for _ in 0..2 {
        stdout.read_line(&mut text).unwrap();
    }
    (child, stdout, text)
}

/// How many rows these lines are.
fn rows(text: &str) -> usize {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).filter(serde_json::Value::is_object).count()
}

/// What Ctrl-C does, with INT, or a job scheduler, with TERM.
fn send(signal: &str, child: &Child) {
    let script = format!("kill -{signal} {}", child.id());
    assert!(Command::new("sh").args(["-c", &script]).status().unwrap().success());
}

#[test]
fn rows_that_are_there_are_written_and_one_line_says_that_it_was_interrupted() {
    is_interrupted_by(&["INT"]);
}

/// Who sends it to a group of processes, and one of them on to another, sends it twice.
#[test]
fn termination_is_an_interrupt_however_often_it_comes() {
    is_interrupted_by(&["TERM", "TERM"]);
}

fn is_interrupted_by(signals: &[&str]) {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("rows.jsonl");
    let (child, mut stdout, mut text) = start(&["--format", "json", "--json", file.to_str().unwrap()]);
    signals.iter().for_each(|signal| send(signal, &child));
    stdout.read_to_string(&mut text).unwrap();
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), rows(&text)), (Some(130), 2), "{stderr}");
    assert_eq!(rows(&std::fs::read_to_string(file).unwrap()), 2);
    assert_eq!(stderr.lines().last(), Some("interrupted: 2 of 4 runs are done"), "{stderr}");
}

#[test]
fn kernels_that_had_run_are_compared() {
    let stop = Stop::default();
    let options = Options { stop: stop.clone(), ..Options::default() };
    let mut backend = open(BackendChoice::Emulator, options).unwrap().backend;
    let kernels = ["naive", "coalesced", "2d-tiling"].map(|slug| Kernel::Step(gpu_kernels::find(slug).unwrap()));
    let finished = Cell::new(0);
    let mut watch = |progress| match progress {
        Progress::Finished(Kernel::Step(_), _) => finished.set(finished.get() + 1),
        // In the midst of the third one.
        Progress::Emulating(Kernel::Step(_)) if finished.get() == 2 => _ = stop.raise(),
        _ => {}
    };
    let (problem, timing) = (Problem::new(64, 64, 64).unwrap(), Timing { warmup: 0, iterations: None });
    let mut kept = Vec::new();
    let mut keep = |rows: &[Row]| kept.push(rows.to_vec());
    let comparison = compare_and_keep(backend.as_mut(), &kernels, &problem, timing, &mut watch, &mut keep).unwrap();
    let names: Vec<_> = comparison.rows.iter().map(|row| row.kernel.as_str()).collect();
    assert_eq!((names, comparison.is_interrupted), (vec!["naive", "coalesced"], true));
    assert!(comparison.failures.is_empty() && comparison.rows[1].speedup_over_base.is_some());
    // Each was handed on as soon as it was there, beside what it is compared with.
    let first = |row: &Row| row.kernel.clone();
    assert_eq!(
        kept.iter().map(|rows| rows.iter().map(first).collect()).collect::<Vec<Vec<_>>>(),
        [vec!["naive"], vec!["naive", "coalesced"]]
    );
    assert_eq!(kept[1][1].speedup_over_base, comparison.rows[1].speedup_over_base);
    let nothing = compare(backend.as_mut(), &kernels, &problem, timing, &mut |_| ()).unwrap();
    assert!(nothing.is_interrupted && nothing.rows.is_empty());
}
