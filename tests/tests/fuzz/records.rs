//! The loader of records, and what is made of the records.

use results::{Ladder, Peers, Run, ShapeSet, compare};

use super::run::Target;

static RECORDS: Target = Target {
    name: "records",
    corpora: &["tests/corpus/records"],
    words: &[
        "measurement",
        "accuracy",
        "counters",
        "shape",
        "timeline",
        "lanes",
        "start_us",
        "record",
        "schema",
        "time_ms",
        "kernel",
        "device",
        "null",
        "true",
        "false",
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "\"",
        "\\u001b",
        "\\ud800",
        "\u{202e}",
        "\\n",
        "\n",
        "fp32",
        "naive",
        "auto",
        "cublas",
        "[[[[[[[[",
        "é",
    ],
    inputs: 4000,
    most_bytes: 64 << 20,
    check,
};

fn check(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    match Run::parse("x", &text) {
        Ok(run) => show(&run),
        Err(error) => {
            let text = error.to_string();
            assert!(text.len() < 1000 && !text.contains(char::is_control), "{text:?}");
        }
    }
}

/// All that is computed of a run.
fn show(run: &Run) {
    assert!(!run.is_empty());
    let peers = Peers::default();
    let ladder = Ladder::new(run, &peers).map(|ladder| ladder.markdown("x", None));
    for text in ladder.into_iter().chain(run.note()) {
        assert!(!text.contains(|c: char| c.is_control() && c != '\n'), "{text:?}");
    }
    for change in compare(run, run).unwrap_or_default() {
        assert!(change.worst().is_none_or(|change| change.time_ratio.is_finite()), "{change:?}");
    }
    drop(ShapeSet::all(&run.shapes));
    for row in &run.measurements {
        let _ = (row.of_peak(), row.size(), run.speedup_over_base(row));
    }
    drop(report::Report::new(std::slice::from_ref(run), &peers).html());
}

#[test]
fn any_records_are_read_or_refused() {
    RECORDS.run();
}
