//! The table for people.

use comfy_table::{Cell, CellAlignment, LineStyle, Table, TableStyle};

use results::significant;

use super::Row;
use crate::bench::Comparison;

/// A column: its header, and what it shows of a row.
struct Column {
    header: &'static str,
    is_text: bool,
    cell: fn(&Row) -> String,
}

impl Column {
    const fn text(header: &'static str, cell: fn(&Row) -> String) -> Self {
        Self { header, is_text: true, cell }
    }

    const fn number(header: &'static str, cell: fn(&Row) -> String) -> Self {
        Self { header, is_text: false, cell }
    }

    fn aligned(&self, text: impl ToString) -> Cell {
        Cell::new(text).set_alignment(if self.is_text { CellAlignment::Left } else { CellAlignment::Right })
    }
}

/// What was measured on a device.
const MEASURED: &[Column] = &[
    KERNEL,
    PRECISION,
    Column::number("ms", |row| significant(row.time_ms)),
    Column::number("min..max", |row| format!("{}..{}", significant(row.time_ms_min), significant(row.time_ms_max))),
    Column::number("GFLOPS", |row| significant(row.gflops)),
    Column::number("% cuBLAS", |row| or_dash(row.percent_of_cublas)),
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
    Column::number("modelled GFLOPS", |row| significant(row.gflops)),
    PERCENT_OF_PEAK,
    SPEEDUP,
    WORKSPACE,
    REL_ERROR,
    VERIFIED,
];

const KERNEL: Column = Column::text("kernel", |row| row.kernel.to_owned());
const PRECISION: Column = Column::text("precision", |row| row.precision.to_owned());
const PERCENT_OF_PEAK: Column = Column::number("% peak", |row| or_dash(row.percent_of_peak));
const SPEEDUP: Column = Column::number("x base", |row| or_dash(row.speedup_over_base));
/// Shown where a kernel has any to speak of.
const WORKSPACE: Column = Column::number("workspace MiB", |row| format!("{:.2}", workspace_mib(row)));
const REL_ERROR: Column = Column::number("rel. error", |row| format!("{:.1e}", row.rel_error));
const VERIFIED: Column = Column::number("verified", |row| (if row.verified { "yes" } else { "NO" }).to_owned());

const RULE: LineStyle = LineStyle::none().fill('─').junction('─');

const STYLE: TableStyle = TableStyle::new().top_border(RULE).header_separator(RULE).bottom_border(RULE);

/// The comparison as a table, under a title that says on what and how it was measured. Empty where nothing ran.
#[must_use]
pub fn table(comparison: &Comparison) -> String {
    let rows: Vec<&Row> = comparison.rows.iter().chain(&comparison.baselines).collect();
    let Some(first) = rows.first() else { return String::new() };
    let mut table = Table::new();
    let has_workspace = rows.iter().any(|row| workspace_mib(row) >= 0.01);
    let columns = if first.modelled { MODELLED } else { MEASURED }.iter();
    let columns = columns.filter(|column| has_workspace || column.header != WORKSPACE.header);
    table.load_style(STYLE).set_header(columns.clone().map(|column| column.aligned(column.header)));
    for row in &rows {
        table.add_row(columns.clone().map(|column| column.aligned((column.cell)(row))));
    }
    let mut text = format!("{}\n{}\n{table}\n", title(first), setting(&rows));
    if let Some(reason) = &comparison.no_baseline {
        text += &format!("No comparison: {reason}\n");
    }
    text
}

/// A table of texts, the first columns, `left` of them, to the left and the others to the right.
pub(super) fn plain_table(left: usize, header: Vec<String>, rows: impl Iterator<Item = Vec<String>>) -> Table {
    let aligned = move |texts: Vec<String>| {
        texts.into_iter().enumerate().map(move |(column, text)| {
            Cell::new(text).set_alignment(if column < left { CellAlignment::Left } else { CellAlignment::Right })
        })
    };
    let mut table = Table::new();
    table.load_style(STYLE).set_header(aligned(header));
    rows.for_each(|row| {
        table.add_row(aligned(row));
    });
    table
}

fn title(row: &Row) -> String {
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

fn or_dash(value: Option<f64>) -> String {
    value.map_or("-".to_owned(), significant)
}
