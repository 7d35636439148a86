//! What the event model predicts for many devices.

use std::fs;

use anyhow::{Context, Result};
use serde::Deserialize;

use crate::workspace::root;

/// The lines that the library's example `scale` prints.
const FILE: &str = "docs/results/scale/modelled.jsonl";

/// One of them, as far as the table shows it.
#[derive(Debug, Deserialize)]
struct Row {
    device: String,
    class: String,
    size: usize,
    gpus: usize,
    grid: String,
    tflops: f64,
    efficiency: f64,
    efficiency_1d: f64,
}

/// The rows of an accuracy class.
fn rows(class: &str) -> Result<Vec<Row>> {
    let text = fs::read_to_string(root().join(FILE)).with_context(|| format!("cannot read {FILE}"))?;
    let rows = text.lines().map(serde_json::from_str).collect::<Result<Vec<Row>, _>>();
    let rows = rows.with_context(|| format!("cannot read {FILE}"))?;
    Ok(rows.into_iter().filter(|row| row.class == class).collect())
}

/// The block `scale CLASS`: sizes by numbers of devices.
pub fn block(class: &str) -> Result<String> {
    let rows = rows(class)?;
    let device = &rows.first().with_context(|| format!("{FILE} has no rows of {class}"))?.device;
    let mut text =
        String::from("| n | GPUs | Grid | TFLOPS | Efficiency | of row panels |\n|---:|---:|---|---:|---:|---:|\n");
    for Row { size, gpus, grid, tflops, efficiency, efficiency_1d, .. } in &rows {
        text += &format!("| {size} | {gpus} | {grid} | {tflops:.0} | {efficiency:.2} | {efficiency_1d:.2} |\n");
    }
    text += &format!(
        "\nModelled: {class} over {device}, eight to a host. Efficiency is over as many times one GPU. Every row: `{FILE}`.\n"
    );
    Ok(text)
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_table_has_a_row_for_each_number_of_devices() {
        let table = super::block("fp32").unwrap();
        assert!(table.contains("| 32768 | 4 | ") && table.contains("Modelled: fp32 over NVIDIA H200"), "{table}");
        assert!(super::block("fp64").unwrap_err().to_string().contains("no rows of fp64"));
    }
}
