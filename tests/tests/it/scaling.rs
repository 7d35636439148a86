//! The committed predictions for many devices are those of the model as it is.

use std::fs;
use std::path::Path;

use crate::scale;

#[test]
fn predictions_are_those_of_the_model() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/results/scale/modelled.jsonl");
    let committed = fs::read_to_string(file).unwrap();
    let rows = scale::rows().unwrap();
    // After a change of tables or kernels: `cargo run -p sgemm --features distributed --example scale` writes them anew.
    assert!(committed.lines().eq(rows.iter().map(String::as_str)), "docs/results/scale/modelled.jsonl is stale");
}
