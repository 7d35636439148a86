//! `--suppress`: findings that are known are left out, with a reason; rules that match nothing are said.

use std::fs;

use tempfile::TempDir;

use super::cli::{Outcome, REDUCTION, assert_error, run};

const INLINED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/ptx/inlined.ptx");

fn suppressed(file: &str, options: &str, specs: &str, rules: &str) -> Outcome {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("known.toml");
    fs::write(&path, rules).unwrap();
    run(file, &format!("{options} --suppress {}", path.display()), specs)
}

#[test]
fn known_findings_are_left_out_and_unused_rules_are_named() {
    let racy = |rules: &str| {
        let options = "--entry reduction_racy --grid 1 --block 256 --check races";
        suppressed(REDUCTION, options, "in:u32:256:fill=1 out:u32:1", rules)
    };
    let kind = "[[suppress]]\nkind = \"race\"\nkernel = \"reduction_racy\"\nreason = \"shown in the book\"\n";
    let outcome = racy(kind);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    assert!(outcome.stderr.starts_with("reduction_racy: clean, 2 suppressed; "), "{}", outcome.stderr);

    let line =
        "[[suppress]]\nptx = 76\nreason = \"one of them\"\n[[suppress]]\nkind = \"deadlock\"\nreason = \"old\"\n";
    let outcome = racy(line);
    assert_eq!(outcome.code, 1);
    assert!(
        outcome.stderr.contains(".ptx:85: race: ") && !outcome.stderr.contains(".ptx:76: race: "),
        "{}",
        outcome.stderr
    );
    assert!(outcome.stderr.contains("1 finding, 1 suppressed"), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("known.toml: rule 2 has matched nothing: old"), "{}", outcome.stderr);
}

#[test]
fn places_of_the_source_are_named_through_inlined_calls() {
    let folder = TempDir::new().unwrap();
    let sarif = folder.path().join("log.sarif");
    let options = format!("--grid 1 --block 64 --check races --counters json --sarif {}", sarif.display());
    for (source, code) in [("tile.cuh:7", 0), ("shift.cu", 0), ("shift.cu:23", 0), ("tile.cuh:8", 1)] {
        let rules = format!("[[suppress]]\nsource = \"{source}\"\nreason = \"known\"\n");
        let outcome = suppressed(INLINED, &options, "out:u32:64", &rules);
        assert_eq!(outcome.code, code, "{source}: {}", outcome.stderr);
        let json: serde_json::Value = serde_json::from_str(&outcome.stdout).unwrap();
        assert_eq!((&json["clean"], &json["suppressed"]), (&(code == 0).into(), &(1 - code).into()));
        let log: serde_json::Value = serde_json::from_str(&fs::read_to_string(&sarif).unwrap()).unwrap();
        let shown = log["runs"][0]["results"][0]["suppressions"].as_array().unwrap();
        assert_eq!(shown.iter().any(|entry| entry["justification"] == "known"), code == 0);
    }
}

#[test]
fn a_fault_is_never_left_out() {
    let rules = "[[suppress]]\nkind = \"out of bounds\"\nreason = \"no\"\n";
    let specs = "in:f32:32 in:f32:64 out:f32:64 u32:64";
    let outcome = suppressed(super::cli::VECTOR_ADD, "--grid 1 --block 64", specs, rules);
    assert_eq!(outcome.code, 1, "{}", outcome.stderr);
}

#[test]
fn wrong_rules_are_one_line() {
    let refused = |rules: &str, words: &[&str]| {
        assert_error(
            &suppressed(REDUCTION, "--grid 1 --block 1 --entry reduction", "in:u32:1 out:u32:1", rules),
            2,
            words,
        );
    };
    refused("[[suppress]]\nkind = \"race\"\n", &["known.toml:1", "missing field `reason`"]);
    refused("[[suppress]]\nkind = \"races\"\nreason = \"x\"\n", &["rule 1", "\"races\"", "none of out of bounds"]);
    refused("[[suppress]]\nreason = \"x\"\n", &["rule 1", "leave out everything"]);
    refused("[[suppress]]\nptx = 3\nreason = \" \"\n", &["rule 1", "`reason` is empty"]);
    refused("[[suppress]]\nline = 3\nreason = \"x\"\n", &["known.toml:2", "unknown field `line`"]);
    refused("suppress", &["known.toml:1"]);
}
