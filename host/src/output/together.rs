//! Products over several GPUs, for people.

use results::format::{or_dash, percent, significant, tflops};
use results::text_table;

use super::Row;
use super::table::{REL_ERROR, VERIFIED, title};

/// Columns before those of every table; the first three are texts.
const HEADERS: [&str; 9] =
    ["GPUs", "scheme", "kernel", "precision", "ms", "min..max", "TFLOPS", "efficiency %", "workspace MiB"];

/// The rows of one problem, under a title that says on what and how it was measured: over all GPUs, and on one alone.
#[must_use]
pub fn together(rows: &[Row], is_first: bool) -> String {
    let Some(first) = rows.first() else { return String::new() };
    let headers = HEADERS.into_iter().chain([REL_ERROR, VERIFIED].map(|column| column.header));
    let table = text_table(&[1, 2, 3], headers, rows.iter().map(cells));
    let Row { device, compute_capability, driver, cuda, .. } = first;
    let setting = if first.modelled {
        format!(
            "No GPU: run by the emulator; times modelled for {device} (compute capability {compute_capability}) with NVLink"
        )
    } else {
        format!(
            "{device} (compute capability {compute_capability}); driver {driver}, CUDA {cuda}; the slowest rank's times"
        )
    };
    format!("{}{}\n{setting}\n{table}\n", if is_first { "" } else { "\n" }, title(first))
}

fn cells(row: &Row) -> Vec<String> {
    let workspace = row.workspace_bytes.map(|bytes| bytes as f64 / f64::from(1 << 20));
    vec![
        row.gpus.unwrap_or(1).to_string(),
        row.scheme.clone().unwrap_or_default(),
        row.kernel.clone(),
        row.precision.clone(),
        significant(row.time_ms),
        format!("{}..{}", significant(row.time_ms_min), significant(row.time_ms_max)),
        tflops(row.gflops),
        or_dash(row.efficiency, |efficiency| percent(100.0 * efficiency)),
        or_dash(workspace, |mib| format!("{mib:.2}")),
        (REL_ERROR.cell)(row),
        (VERIFIED.cell)(row),
    ]
}
