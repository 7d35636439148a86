//! The table for people.

use results::format::{error, or_dash, percent, significant, tflops, times};
use results::text_table;

use super::Row;
use crate::measure::bench::Comparison;

/// A column: its header, and what it shows of a row.
pub(super) struct Column {
    pub(super) header: &'static str,
    is_text: bool,
    pub(super) cell: fn(&Row) -> String,
}

impl Column {
    const fn text(header: &'static str, cell: fn(&Row) -> String) -> Self {
        Self { header, is_text: true, cell }
    }

    const fn number(header: &'static str, cell: fn(&Row) -> String) -> Self {
        Self { header, is_text: false, cell }
    }
}

/// What was measured on a device.
const MEASURED: &[Column] = &[
    KERNEL,
    PRECISION,
    Column::number("ms", |row| significant(row.time_ms)),
    Column::number("min..max", |row| format!("{}..{}", significant(row.time_ms_min), significant(row.time_ms_max))),
    Column::number("TFLOPS", |row| tflops(row.gflops)),
    Column::number("% cuBLAS", |row| or_dash(row.percent_of_cublas, percent)),
    PERCENT_OF_PEAK,
    SPEEDUP,
    WORKSPACE,
    REL_ERROR,
    VERIFIED,
];

/// What was emulated: how much of it, and times that no device took.
const MODELLED: &[Column] = &[
    KERNEL,
    PRECISION,
    Column::number("blocks run", blocks),
    Column::number("modelled ms", |row| significant(row.time_ms)),
    Column::number("modelled TFLOPS", |row| tflops(row.gflops)),
    PERCENT_OF_PEAK,
    SPEEDUP,
    WORKSPACE,
    REL_ERROR,
    VERIFIED,
];

const KERNEL: Column = Column::text("kernel", |row| row.kernel.to_owned());
const PRECISION: Column = Column::text("precision", |row| row.precision.to_owned());
const PERCENT_OF_PEAK: Column = Column::number("% of peak", |row| or_dash(row.of_peak(), percent));
const SPEEDUP: Column = Column::number("x base", |row| or_dash(row.speedup_over_base, times));
/// Shown where a kernel has any to speak of.
const WORKSPACE: Column = Column::number("workspace MiB", |row| format!("{:.2}", workspace_mib(row)));
pub(super) const REL_ERROR: Column = Column::number("rel. error", |row| error(row.rel_error));
pub(super) const VERIFIED: Column = Column::number("verified", |row| {
    match row.verified {
        true => "yes",
        false if row.is_baseline() => FAILED_BASELINE,
        false => "NO",
    }
    .to_owned()
});

/// What is said of a baseline whose result is beyond its error bound: the run goes on with it.
const FAILED_BASELINE: &str = "failed its check";

/// The comparison as a table, under a title that says on what and how it was measured. Empty where nothing ran.
#[must_use]
pub fn table(comparison: &Comparison) -> String {
    let rows: Vec<&Row> = comparison.rows.iter().chain(&comparison.baselines).collect();
    let Some(first) = rows.first() else { return String::new() };
    let has_workspace = rows.iter().any(|row| workspace_mib(row) >= 0.01);
    let columns = if first.modelled { MODELLED } else { MEASURED }.iter();
    let columns: Vec<_> = columns.filter(|column| has_workspace || column.header != WORKSPACE.header).collect();
    let texts: Vec<_> = columns.iter().enumerate().filter_map(|(i, column)| column.is_text.then_some(i)).collect();
    let cells = rows.iter().map(|row| columns.iter().map(|column| (column.cell)(row)));
    let table = text_table(&texts, columns.iter().map(|column| column.header), cells);
    let mut text = format!("{}\n{}\n{table}\n", title(first), setting(&rows));
    for error in &comparison.failed_baselines {
        text += &format!("A baseline {FAILED_BASELINE}: {error}\n");
    }
    if let Some(reason) = &comparison.no_baseline {
        text += &format!("No comparison: {reason}\n");
    }
    text
}

pub(super) fn title(row: &Row) -> String {
    let Row { m, n, k, alpha, beta, seed, .. } = row;
    format!("SGEMM m = {m}, n = {n}, k = {k}, alpha = {alpha}, beta = {beta}, seed = {seed}")
}

fn setting(rows: &[&Row]) -> String {
    let row = rows[0];
    if row.modelled {
        return emulation(rows);
    }
    let mut parts = vec![format!("{} (compute capability {})", row.device, row.compute_capability)];
    if !row.driver.is_empty() {
        parts.push(format!("driver {}, CUDA {}", row.driver, row.cuda));
    }
    if let Some(version) = &row.cublas {
        let mut maths: Vec<_> = rows.iter().filter_map(|row| row.cublas_math.as_deref()).collect();
        maths.dedup();
        parts.push(format!("cuBLAS {version} ({})", maths.join("; ")));
    }
    parts.push(format!("L2 {}", row.l2));
    parts.extend(row.max_sm_clock_mhz.map(|clock| format!("peaks at {clock} MHz")));
    let clocks = || rows.iter().filter_map(|row| row.sm_clock_mhz);
    if let (Some(low), Some(high)) = (clocks().min(), clocks().max()) {
        parts.push(if low == high { format!("SM clock {low} MHz") } else { format!("SM clock {low}..{high} MHz") });
    }
    parts.join("; ")
}

/// What the emulator did, and what its times are.
fn emulation(rows: &[&Row]) -> String {
    let Row { device, compute_capability, .. } = rows[0];
    let mut text =
        format!("No GPU: run by the emulator; times modelled for {device} (compute capability {compute_capability})");
    if rows.iter().any(|row| row.sampled_blocks.is_some()) {
        text += "\nOf large grids, every kind of edge and corner ran, and random blocks inside; --full runs all";
    }
    text
}

fn blocks(row: &Row) -> String {
    match (row.sampled_blocks, row.blocks) {
        (Some(sampled), Some(blocks)) => format!("{sampled} of {blocks}"),
        (None, Some(blocks)) => format!("all {blocks}"),
        _ => "-".to_owned(),
    }
}

fn workspace_mib(row: &Row) -> f64 {
    row.workspace_bytes.unwrap_or(0) as f64 / f64::from(1 << 20)
}
