//! The committed predictions for many devices are those of the model as it is.

use std::fs;
use std::path::Path;

use crate::scale;

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
