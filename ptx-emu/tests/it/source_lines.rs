//! Findings as the program gives them: lines of the source, SARIF, and result files after a fault.

use std::fs;

use tempfile::TempDir;

use super::cli::{VECTOR_ADD, run};

const INLINED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/ptx/inlined.ptx");

#[test]
fn findings_name_the_source_once_through_inlined_calls() {
    let folder = TempDir::new().unwrap();
    let sarif = folder.path().join("log.sarif");
    let options = format!("--grid 1 --block 64 --check races --counters json --sarif {}", sarif.display());
    let outcome = run(INLINED, &options, "out:u32:64");
    assert_eq!(outcome.code, 1, "{}", outcome.stderr);
    let lines: Vec<&str> = outcome.stderr.lines().collect();
    assert!(lines[0].starts_with(&format!("{INLINED}:23: race: `ld.shared.u32`")), "{lines:?}");
    let source = [
        "    include/tile.cuh:7:12 in adjacent, inlined at shift.cu:23:21",
        "    the other: shift.cu:20:9",
        "    2 times more from this line, in lines 25, 27 of the PTX",
    ];
    assert_eq!(lines[1..4], source);
    assert!(lines[4].starts_with("shift: 1 finding;") && lines.len() == 5, "{lines:?}");

    let json: serde_json::Value = serde_json::from_str(&outcome.stdout).unwrap();
    let [found] = &json["findings"].as_array().unwrap()[..] else { panic!("{json}") };
    assert_eq!((&found["rank"], &found["more_lines"]), (&"error".into(), &serde_json::json!([25, 27])));
    let call = serde_json::json!({ "file": "shift.cu", "line": 23, "column": 21, "function": null });
    assert_eq!((&found["source"][0]["function"], &found["source"][1]), (&"adjacent".into(), &call));

    // What the schema of SARIF 2.1.0 requires, and what viewers show.
    let log: serde_json::Value = serde_json::from_str(&fs::read_to_string(sarif).unwrap()).unwrap();
    assert_eq!(log["version"], "2.1.0");
    let run = &log["runs"][0];
    assert_eq!(
        (&run["tool"]["driver"]["name"], &run["tool"]["driver"]["rules"][0]["id"]),
        (&"ptx-emu".into(), &"race".into())
    );
    let [result] = &run["results"].as_array().unwrap()[..] else { panic!("{log}") };
    assert!(result["message"]["text"].as_str().unwrap().contains("nothing orders it after the write"), "{result}");
    assert_eq!(
        (&result["ruleId"], &result["level"], &result["occurrenceCount"]),
        (&"race".into(), &"error".into(), &3.into())
    );
    let at = |location: &serde_json::Value| {
        let place = &location["physicalLocation"];
        (place["artifactLocation"]["uri"].clone(), place["region"]["startLine"].clone())
    };
    assert_eq!(at(&result["locations"][0]), ("include/tile.cuh".into(), 7.into()));
    let related: Vec<_> = result["relatedLocations"].as_array().unwrap().iter().map(at).collect();
    let expected = [("shift.cu", 23), ("shift.cu", 20), (INLINED, 23)].map(|(file, line)| (file.into(), line.into()));
    assert_eq!(related, expected);
}

#[test]
fn a_fault_leaves_no_empty_file() {
    let folder = TempDir::new().unwrap();
    let [result, sarif] = ["c.bin", "log.sarif"].map(|name| folder.path().join(name));
    let options = format!("--grid 1 --block 64 --sarif {}", sarif.display());
    let specs = format!("in:f32:32 in:f32:64 out:f32:64:@{} u32:64", result.display());
    assert_eq!(run(VECTOR_ADD, &options, &specs).code, 1);
    assert!(!result.exists());
    assert!(fs::read_to_string(&sarif).unwrap().contains("\"ruleId\": \"out of bounds\""));
    fs::write(&result, "old").unwrap();
    assert_eq!(run(VECTOR_ADD, "--grid 1 --block 64", &specs).code, 1);
    assert_eq!(fs::read_to_string(&result).unwrap(), "old");
}
