//! The project's own rules about its files. Each one fails with the place and with what to do.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use gpu_kernels::STEPS;

use crate::workspace::{relative, root, step_file_name};

mod directions;
mod retired;
mod words;

/// Where `unsafe` may stand: the interfaces of BLAS, cuBLAS, C and the emulated driver, names that a page calls, matrices that these give to products in the host's
/// memory, kernels, the device's standard library, what calls the CUDA
/// driver and NCCL in the library, in its example of raw addresses, in the host's backend and in tests of what cudarc has not, the bytes of
/// elements, and the reference, which calls the `gemm` crate by raw pointers.
const UNSAFE_PLACES: [&str; 24] = [
    "blas/src/",
    "blas/tests/",
    "capi/src/",
    "capi/tests/",
    "cublas/src/",
    "driver/src/",
    "driver/tests/",
    "gpu-kernels/src/",
    "playground/src/exports.rs",
    "rust-cuda/cuda_std",
    "rust-cuda/cuda_builder/tests/",
    "sgemm/src/cuda",
    "sgemm/src/distributed/nccl",
    "sgemm/src/scalar.rs",
    "sgemm/src/streamed/cuda",
    "sgemm/src/streamed/emulated.rs",
    "sgemm/examples/latency.rs",
    "sgemm/examples/common/cublas.rs",
    "sgemm/examples/raw.rs",
    "sgemm/examples/streamed_plans.rs",
    "host/examples/cust.rs",
    "host/src/backend/cuda",
    "host/src/verify/reference.rs",
    "tests/tests/device/crowded",
];

const STEPS_FOLDER: &str = "gpu-kernels/src/steps/";
const STEP_LINES: usize = 250;
const FILE_LINES: usize = 400;
const FILE_BYTES: usize = 1 << 20;

/// What becomes a panic in the user's terminal, or was left behind from debugging.
const PANICS: [&str; 5] = [".unwrap()", "panic!(", "todo!(", "unimplemented!(", "dbg!("];

/// Notes to oneself, which belong in an issue.
const NOTES: [&str; 2] = ["TODO", "FIXME"];

/// Fails if a file of the workspace breaks a rule.
pub fn check() -> Result<()> {
    let mut files = Vec::new();
    list(root(), &mut files).context("cannot list the workspace's files")?;
    let mut complaints: Vec<_> = files.iter().flat_map(|(path, bytes)| file(path, bytes)).collect();

    let names = files.iter().filter_map(|(path, _)| path.strip_prefix(STEPS_FOLDER));
    let expected = STEPS.iter().enumerate().map(|(index, step)| step_file_name(index, step)).collect();
    complaints.extend(registry(&names.map(str::to_owned).collect(), &expected));

    let readme = files.iter().find(|(path, _)| path == "README.md").map(|(_, bytes)| String::from_utf8_lossy(bytes));
    complaints.extend(ladder(&readme.unwrap_or_default(), STEPS.iter().map(|step| step.slug)));

    let texts = files.iter().filter_map(|(path, bytes)| Some((path.as_str(), std::str::from_utf8(bytes).ok()?)));
    complaints.extend(directions::complaints(texts)?);
    complaints.extend(words::broken());

    if !complaints.is_empty() {
        bail!("{} complaints\n{}", complaints.len(), complaints.join("\n"));
    }
    say!("{} files are tidy", files.len());
    Ok(())
}

/// Reads the files under `folder`: all but hidden folders, symbolic links, and what was built.
fn list(folder: &Path, files: &mut Vec<(String, Vec<u8>)>) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let (path, kind, name) = (entry.path(), entry.file_type()?, entry.file_name());
        let is_hidden = name.to_string_lossy().starts_with('.') && name != ".ci" && name != ".cargo";
        let is_built = name == "target" || path.join("CACHEDIR.TAG").exists();
        if kind.is_dir() && !is_built && !is_hidden {
            list(&path, files)?;
        } else if kind.is_file() {
            files.push((relative(&path), fs::read(&path)?));
        }
    }
    Ok(())
}

/// The complaints about one file.
fn file(path: &str, bytes: &[u8]) -> Vec<String> {
    let mut complaints = Vec::new();
    if bytes.len() > FILE_BYTES && !path.ends_with(".ptx") {
        complaints.push(format!("{path}: is {} bytes, over 1 MiB: keep large data out of the repository", bytes.len()));
    }
    let extension = path.rsplit_once('.').map(|(_, extension)| extension);
    match (extension, std::str::from_utf8(bytes)) {
        (Some("rs"), Ok(text)) => {
            complaints.extend(rust(path, text));
            complaints.extend(words::complaints(path, text));
        }
        (Some("md"), Ok(text)) => {
            complaints.extend(words::complaints(path, text));
            let lines = text.lines().zip(1..);
            complaints.extend(lines.filter_map(|(line, number)| Some(format!("{path}:{number}: {}", note(line)?))));
        }
        _ => {}
    }
    complaints
}

/// The complaints about a Rust file.
fn rust(path: &str, text: &str) -> Vec<String> {
    let mut complaints = Vec::new();
    let most = if path.starts_with(STEPS_FOLDER) { STEP_LINES } else { FILE_LINES };
    let count = text.lines().count();
    if count > most {
        complaints.push(format!("{path}:{count}: more than {most} lines: split the file"));
    }
    let mut in_tests = path.split('/').any(|part| part == "tests" || part.starts_with("test") && part.ends_with(".rs"));
    for (line, number) in text.lines().zip(1..) {
        in_tests |= line.trim() == "#[cfg(test)]";
        let found = line_of_rust(path, line, in_tests);
        complaints.extend(found.into_iter().map(|complaint| format!("{path}:{number}: {complaint}")));
    }
    complaints
}

/// The complaints about one line of a Rust file; panics are a test's right.
fn line_of_rust(path: &str, line: &str, in_tests: bool) -> Vec<String> {
    let words::Line { code, comment, .. } = words::split(line);
    let mut complaints = Vec::new();
    if line.ends_with([' ', '\t']) {
        complaints.push("trailing whitespace: remove it".into());
    }
    if line.contains('\t') {
        complaints.push("a tab: use spaces".into());
    }
    complaints.extend(note(comment));
    let panic = PANICS.iter().find(|call| code.contains(*call));
    let is_product = ["sgemm/src/", "capi/src/", "cublas/src/", "host/src/", "ptx-emu/src/", "ptx-emu/python/src/"]
        .iter()
        .any(|folder| path.starts_with(folder));
    if let Some(call) = panic.filter(|_| is_product && !in_tests) {
        complaints.push(format!("`{call}` in what users run: return an error that says what to do"));
    }
    let words = code.split(|c: char| !c.is_alphanumeric() && c != '_');
    if words.into_iter().any(|word| word == "unsafe") && !UNSAFE_PLACES.iter().any(|place| path.starts_with(place)) {
        complaints.push("`unsafe` outside UNSAFE_PLACES of xtask/src/tidy/mod.rs: put a safe function there".into());
    }
    complaints
}

fn note(text: &str) -> Option<String> {
    let note = NOTES.iter().find(|note| text.contains(*note))?;
    Some(format!("{note}: do it, or open an issue"))
}

/// The complaints about the folder of steps: its files are those of the registry, numbered in the registry's order.
fn registry(files: &BTreeSet<String>, expected: &BTreeSet<String>) -> Vec<String> {
    let unregistered = files.difference(expected).filter(|name| *name != "mod.rs");
    let unregistered = unregistered
        .map(|name| format!("{STEPS_FOLDER}{name}: no entry of STEPS has this number and kernel: add it to mod.rs"));
    let missing = expected.difference(files);
    let missing = missing
        .map(|name| format!("{STEPS_FOLDER}{name}: missing: STEPS has this step at this place, rename its file"));
    unregistered.chain(missing).collect()
}

/// The complaints about the README's tables: some row must show each step.
fn ladder<'a>(readme: &str, slugs: impl Iterator<Item = &'a str>) -> Vec<String> {
    let is_shown = |slug: &str| {
        let quoted = format!("`{slug}`");
        readme.lines().any(|line| line.starts_with('|') && line.contains(&quoted))
    };
    let missing = slugs.filter(|slug| !is_shown(slug));
    missing.map(|slug| format!("README.md: no row of a table shows `{slug}`: add it to the ladder")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaints(path: &str, text: &str) -> String {
        file(path, text.as_bytes()).join("\n")
    }

    #[test]
    fn clean_files_pass() {
        assert_eq!(complaints("host/src/lib.rs", "//! Fine.\nlet url = \"http://x\"; // unsafe, panic!(\n"), "");
        assert_eq!(complaints("README.md", "# Title \n"), "");
    }

    #[test]
    fn panics_fail_in_the_host_but_not_in_its_tests() {
        let text = "let x = y.unwrap();\n#[cfg(test)]\nmod tests { z.unwrap() }\n";
        assert!(complaints("host/src/lib.rs", text).starts_with("host/src/lib.rs:1: `.unwrap()`"));
        assert_eq!(complaints("host/src/lib.rs", text).lines().count(), 1);
        assert_eq!(complaints("host/src/verify/tests.rs", text), "");
        assert_eq!(complaints("xtask/src/main.rs", text), "");
    }

    #[test]
    fn unsafe_stays_in_its_folders() {
        let text = "unsafe { x }\n";
        assert!(complaints("host/src/bench.rs", text).contains("host/src/bench.rs:1: `unsafe` outside"));
        assert_eq!(complaints("host/src/backend/cuda/mod.rs", text), "");
        assert_eq!(complaints("host/src/bench.rs", "#![forbid(unsafe_code)] let s = \"\\\"unsafe\"; // unsafe\n"), "");
    }

    #[test]
    fn long_and_large_files_fail() {
        let step = "gpu-kernels/src/steps/01_naive.rs";
        assert_eq!(complaints(step, &"x\n".repeat(STEP_LINES)), "");
        assert!(complaints(step, &"x\n".repeat(STEP_LINES + 1)).contains("more than 250 lines"));
        assert_eq!(complaints("host/src/lib.rs", &"x\n".repeat(FILE_LINES)), "");
        let large = "x".repeat(FILE_BYTES + 1);
        assert!(complaints("data.bin", &large).contains("over 1 MiB"));
        assert_eq!(complaints("sgemm/src/modules/sm_80.ptx", &large), "");
    }

    #[test]
    fn whitespace_and_notes_fail() {
        assert!(complaints("a.rs", "x; \n").contains("a.rs:1: trailing whitespace"));
        assert!(complaints("a.rs", "\tx;\n").contains("a tab"));
        let note = NOTES[0];
        assert!(complaints("a.rs", &format!("x; // {note}\n")).contains("open an issue"));
        assert_eq!(complaints("a.rs", &format!("x(\"{note}\");\n")), "");
        assert!(complaints("a.md", &format!("\n{note}\n")).starts_with("a.md:2:"));
    }

    #[test]
    fn steps_and_files_must_match() {
        let set = |names: &[&str]| names.iter().map(|name| name.to_string()).collect::<BTreeSet<_>>();
        let files = set(&["mod.rs", "01_naive.rs", "03_extra.rs"]);
        let found = registry(&files, &set(&["01_naive.rs", "02_coalesced.rs"])).join("\n");
        assert!(found.contains("03_extra.rs: no entry of STEPS") && found.contains("02_coalesced.rs: missing"));
        assert_eq!(registry(&set(&["mod.rs"]), &set(&[])), Vec::<String>::new());
    }

    #[test]
    fn every_step_stands_in_the_readme() {
        let readme = "text `coalesced`\n| [`naive`](x) | 1 |\n";
        assert_eq!(ladder(readme, ["naive"].into_iter()), Vec::<String>::new());
        assert_eq!(ladder(readme, ["coalesced"].into_iter()).len(), 1);
    }
}
