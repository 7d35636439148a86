//! The committed predictions for many devices are those of the model as it is.

use std::fs;
use std::path::Path;

use host::output;
use results::Run;

use crate::{scale, timeline};

fn committed(file: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/results/scale").join(file)).unwrap()
}

#[test]
fn predictions_are_those_of_the_model() {
    let committed = committed("modelled.jsonl");
    let rows = scale::rows().unwrap();
    // After a change of tables or kernels: `cargo run -p sgemm --features distributed --example scale` writes them anew.
    assert!(committed.lines().eq(rows.iter().map(String::as_str)), "docs/results/scale/modelled.jsonl is stale");
}

#[test]
fn timelines_are_those_of_the_model() {
    let committed = committed("timeline-modelled.jsonl");
    let run = Run::parse("timeline-modelled.jsonl", &committed).unwrap();
    let mut timelines = timeline::timelines().unwrap();
    for (new, old) in timelines.iter_mut().zip(&run.timelines) {
        (new.date, new.commit) = (old.date.clone(), old.commit.clone());
    }
    assert!(run.timelines.iter().all(|timeline| timeline.modelled && timeline.gpus == 4));
    // After a change of tables or kernels: `cargo run -p host --example timeline` writes them anew.
    assert!(output::json_lines(&timelines) == committed, "docs/results/scale/timeline-modelled.jsonl is stale");
}
