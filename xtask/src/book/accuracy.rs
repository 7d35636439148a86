//! The errors of the steps whose accuracy class is held to SGEMM's, in another precision.

use std::collections::BTreeSet;

use anyhow::{Result, ensure};
use results::format::{error, times};
use results::{Accuracy, Run, Verdict};

use super::sources::Sources;

/// The block `accuracy`: for each file and each step of such a class, a table of inputs by k.
pub fn block(sources: &Sources) -> Result<String> {
    ensure!(!sources.accuracy.is_empty(), "there are no errors in docs/results: run `cargo xtask accuracy`");
    Ok(sources.accuracy.iter().flat_map(|(file, run)| tables(file, run)).collect::<Vec<_>>().join("\n"))
}

/// A table for each step.
fn tables(file: &str, run: &Run) -> Vec<String> {
    let mut steps: Vec<&str> = Vec::new();
    for row in run.accuracy.iter().filter(|row| row.promises) {
        if !steps.contains(&row.kernel.as_str()) {
            steps.push(&row.kernel);
        }
    }
    let rows_of = |step: &str| run.accuracy.iter().filter(|row| row.kernel == step).collect::<Vec<_>>();
    let tables = steps.into_iter().filter_map(|step| table(&rows_of(step)));
    tables.chain(caption(file, run)).collect()
}

/// How the figures of a file came about.
fn caption(file: &str, run: &Run) -> Option<String> {
    let Accuracy { compared_with, device, date, .. } = run.accuracy.first()?;
    let date: String = date.chars().take(10).collect();
    Some(format!(
        "The normwise relative error against f64; in parentheses, this error and the largest componentwise error as multiples of \
        those of `{compared_with}`. Bold: beyond the bound. {device}, {date}; every row: `{file}`.\n"
    ))
}

/// The table of one step's rows.
fn table(rows: &[&Accuracy]) -> Option<String> {
    let Accuracy { kernel, m, n, .. } = rows.first()?;
    let depths: BTreeSet<u32> = rows.iter().map(|row| row.k).collect();
    let mut inputs: Vec<&str> = Vec::new();
    for row in rows {
        if !inputs.contains(&row.inputs.as_str()) {
            inputs.push(&row.inputs);
        }
    }
    let header: String = depths.iter().map(|k| format!(" k = {k} |")).collect();
    let mut text = format!("| `{kernel}`, {m} x {n} |{header}\n|---|{}\n", "---:|".repeat(depths.len()));
    for inputs in inputs {
        let at = |k: &u32| rows.iter().find(|row| row.inputs == inputs && row.k == *k);
        let cells: String =
            depths.iter().map(|k| format!(" {} |", at(k).map_or("-".into(), |row| cell(row)))).collect();
        text += &format!("| {inputs} |{cells}\n");
    }
    Some(text)
}

fn cell(row: &Accuracy) -> String {
    let text = format!("{} ({} x, {} x)", error(row.rel_error), times(row.rel_error_ratio), times(row.max_error_ratio));
    if row.verdict == Verdict::Larger { format!("**{text}**") } else { text }
}
