//! Runs the programs of `tests/programs/known`: bugs known from public kernels, planted in small ones of our own, each beside its
//! mending.
//!
//! `NAME.ptx` is what `nvcc -std=c++17 -ptx -arch=sm_90 -lineinfo NAME.cu` writes, its paths cut to names of files. `NAME.cu` begins as
//! the programs do. Its kernel `bad` must give the expected findings, whose lines are those of `NAME.cu`; `good` must give none, and
//! the results. `good: dynamic=512` is what another launch changes, where the kernel itself is right.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use ptx_emu::{Kernel, Report};

use super::programs::{Header, differences, kernel, programs, run};

/// The findings as they are printed, with lines of the source in place of those of the PTX.
fn printed(kernel: &Kernel, report: &Report, file: &str) -> Vec<String> {
    let findings = report.findings.iter().chain(&report.fault);
    findings.map(|finding| in_source(&finding.to_string(), |line| source_line(kernel, line, file))).collect()
}

/// A text whose every `line N` is replaced.
fn in_source(text: &str, source: impl Fn(u32) -> u32) -> String {
    let mut parts = text.split("line ");
    let mut replaced = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (number, rest) = part.split_at(part.find(|c: char| !c.is_ascii_digit()).unwrap_or(part.len()));
        let line = number.parse().unwrap_or_else(|_| panic!("`line {part}` has no number"));
        _ = write!(replaced, "line {}{rest}", source(line));
    }
    replaced
}

/// The line of the file that a line of the PTX comes from, be it through what the toolkit's headers inline there.
fn source_line(kernel: &Kernel, line: u32, file: &str) -> u32 {
    let frames = kernel.source(line);
    frames.iter().find(|frame| frame.file == file).unwrap_or_else(|| panic!("line {line} comes from {frames:?}")).line
}

#[test]
fn known_bugs_are_found_in_their_lines_and_their_mending_is_silent() {
    let sources = programs("known").into_iter().filter(|(path, _)| path.extension().is_some_and(|end| end == "cu"));
    let (mut failures, mut count) = (String::new(), 0);
    for (path, text) in sources {
        let file = path.file_name().and_then(|name| name.to_str()).unwrap();
        for wanted in ["bad", "good"] {
            let differences = check(&path, file, &text, wanted);
            if !differences.is_empty() {
                _ = write!(failures, "{file}, {wanted}:\n{differences}");
            }
        }
        count += 1;
    }
    assert!(failures.is_empty(), "\n{failures}");
    assert!(count >= 25, "{count}");
}

/// What is wrong with one of a program's kernels; empty where nothing is.
fn check(path: &Path, file: &str, text: &str, wanted: &str) -> String {
    let mut header = Header::read(text);
    assert!(!header.expected.is_empty(), "{file} expects nothing");
    if header.entry.is_empty() {
        header.entry = wanted.to_owned();
    }
    if wanted == "good" {
        header.expected.clear();
        let launch = text.lines().filter_map(|line| line.strip_prefix("// good: "));
        launch.flat_map(str::split_whitespace).for_each(|part| header.read_part(part));
    } else {
        header.results.clear();
    }
    let kernel = kernel(&fs::read_to_string(path.with_extension("ptx")).unwrap(), &header.entry);
    let (report, buffers) = run(&kernel, &header, 1);
    differences(&header, printed(&kernel, &report, file), &buffers)
}
