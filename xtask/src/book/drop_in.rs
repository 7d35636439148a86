//! What an unmodified PyTorch takes with cuBLAS, and with the library that is preloaded.

use std::fs;

use anyhow::{Context, Result};
use results::format::{error, significant, times};
use serde::Deserialize;

use super::markdown::{cell, table};
use crate::workspace::root;

/// The folder of the lines that `cublas/bench/torch_preload.py` writes.
const FOLDER: &str = "docs/results/drop-in";

/// The ways to multiply, in the order of columns.
const WAYS: [&str; 3] = ["cublas", "fp32-strict", "fp32"];

/// The square size of the headline.
const LARGE: u32 = 4096;

/// A line, as far as the book shows it.
#[derive(Debug, Deserialize)]
struct Row {
    way: String,
    what: String,
    shape: Option<Vec<u32>>,
    ms: Option<f64>,
    /// Of a step of training.
    step_ms: Option<f64>,
    /// What a call takes the host.
    host_us: Option<f64>,
    /// The largest error, as a share of |A||B|.
    error: Option<f64>,
    /// The final loss.
    mean: Option<f64>,
    standard_error: Option<f64>,
    device: Option<String>,
}

impl Row {
    /// What was timed, with its unit; `None` where nothing was, or one of several seeds.
    fn time(&self) -> Option<(f64, &'static str)> {
        match (self.what.as_str(), self.ms, self.step_ms, self.host_us) {
            ("training", ..) => None,
            (_, Some(ms), ..) => Some((ms, "ms")),
            (_, _, Some(ms), _) => Some((ms, "ms per step")),
            (_, _, _, Some(us)) => Some((us, "µs of the host")),
            _ => None,
        }
    }

    fn shape(&self) -> String {
        self.shape.iter().flatten().map(u32::to_string).collect::<Vec<_>>().join(" x ")
    }
}

/// The newest file's lines.
fn rows() -> Result<Vec<Row>> {
    let files = fs::read_dir(root().join(FOLDER))?.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    let newest = files.iter().max().with_context(|| format!("{FOLDER} is empty"))?;
    let rows = fs::read_to_string(newest)?.lines().map(serde_json::from_str).collect::<Result<_, _>>();
    rows.with_context(|| format!("cannot read {}", newest.display()))
}

/// The same operation in each of [`WAYS`].
fn in_all_ways<'a>(rows: &'a [Row], row: &Row) -> Option<[&'a Row; 3]> {
    let in_way = |way| rows.iter().find(|other| other.way == way && other.what == row.what && other.shape == row.shape);
    let [a, b, c] = WAYS.map(in_way);
    Some([a?, b?, c?])
}

/// The device, which a line of its own names.
fn device(rows: &[Row]) -> &str {
    rows.iter().find_map(|row| row.device.as_deref()).unwrap_or("an unnamed device")
}

/// The product of the headline.
fn product(rows: &[Row], size: u32) -> Result<[&Row; 3]> {
    let row = rows.iter().find(|row| row.what == "torch.mm" && row.shape.as_deref() == Some(&[size; 3]));
    row.and_then(|row| in_all_ways(rows, row))
        .with_context(|| format!("{FOLDER} has no torch.mm of {size} in all ways"))
}

/// The block `headline drop-in`.
pub fn headline() -> Result<String> {
    let rows = rows()?;
    let [theirs, strict, fp32] = product(&rows, LARGE)?.map(|row| row.ms.unwrap_or(f64::NAN));
    Ok(format!(
        "**{} x cuBLAS's speed in `fp32-strict` and {} x in `fp32`, for `torch.mm` at {LARGE} in a PyTorch that nobody changed**: cuBLAS's \
        products of f32 go to these kernels, and in `fp32` those may use the tensor cores.\n\n\
        *Measured on {}. Every row: `{FOLDER}`.*\n",
        times(theirs / strict),
        times(theirs / fp32),
        device(&rows),
    ))
}

/// The block `drop-in`: a line for each operation, and what became of errors and losses.
pub fn block() -> Result<String> {
    let rows = rows()?;
    let ours = rows.iter().filter(|row| row.way == WAYS[0]).filter_map(|row| in_all_ways(&rows, row));
    let lines = ours.filter_map(|ways| {
        let (_, unit) = ways[0].time()?;
        let [theirs, strict, fp32] =
            ways.map(|row| row.time().map_or_else(|| "-".into(), |(time, _)| significant(time)));
        let code = format!("{} {}", cell(&ways[0].what), ways[0].shape());
        Some([format!("{}, {unit}", code.trim_end()), theirs, strict, fp32])
    });
    let mut text = table(["", "cuBLAS", "`fp32-strict`", "`fp32`"], lines);
    let [theirs, strict, fp32] = product(&rows, LARGE)?.map(|row| row.error.map_or_else(|| "-".into(), error));
    text += &format!(
        "\nThe largest errors of `torch.mm` at {LARGE}, as a share of |A||B|: {theirs} with cuBLAS, {strict} in `fp32-strict`, {fp32} in \
        `fp32`."
    );
    if let Some(ways) = rows.iter().find(|row| row.mean.is_some()).and_then(|row| in_all_ways(&rows, row)) {
        let [theirs, strict, fp32] = ways.map(|row| row.mean.unwrap_or(f64::NAN));
        let scatter = ways[0].standard_error.unwrap_or(f64::NAN);
        text += &format!(
            " The mean final loss of the training: {theirs:.4}, {strict:.4} and {fp32:.4}, each with a standard error of about {scatter:.4}."
        );
    }
    Ok(text + &format!(" Measured on {}. Every row: `{FOLDER}`.\n", device(&rows)))
}

#[cfg(test)]
mod tests {
    #[test]
    fn each_operation_stands_in_all_ways() {
        let block = super::block().unwrap();
        let line = block.lines().find(|line| line.starts_with("| torch.mm 4096 x 4096 x 4096, ms | ")).unwrap();
        assert_eq!(line.matches('|').count(), 5, "{line}");
        assert!(
            block.contains(", µs of the host | ") && block.contains("The mean final loss") && !block.contains("NaN"),
            "{block}"
        );
        assert!(super::headline().unwrap().contains(" x in `fp32`, for `torch.mm` at 4096 "));
    }
}
