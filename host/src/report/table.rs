//! The table for people.

use comfy_table::{Cell, CellAlignment, LineStyle, Table, TableStyle};

use super::Row;
use crate::bench::Comparison;

const HEADER: [&str; 10] =
    ["kernel", "precision", "ms", "min..max", "GFLOPS", "% cuBLAS", "% peak", "x base", "rel. error", "verified"];

const RULE: LineStyle = LineStyle::none().fill('─').junction('─');

const STYLE: TableStyle = TableStyle::new().top_border(RULE).header_separator(RULE).bottom_border(RULE);

/// Columns of text; the others hold numbers.
const TEXT_COLUMNS: [usize; 2] = [0, 1];

/// The comparison as a table, under a title that says on what and how it was measured. Empty where nothing ran.
#[must_use]
pub fn table(comparison: &Comparison) -> String {
    let rows: Vec<&Row> = comparison.rows.iter().chain(&comparison.baseline).collect();
    let Some(first) = rows.first() else { return String::new() };
    let mut table = Table::new();
    table.load_style(STYLE).set_header(aligned(HEADER.map(str::to_owned)));
    for row in &rows {
        table.add_row(aligned(cells(row)));
    }
    let mut text = format!("{}\n{}\n{table}\n", title(first), setting(&rows));
    if let Some(reason) = &comparison.no_baseline {
        text += &format!("No comparison: {reason}\n");
    }
    text
}

fn title(row: &Row) -> String {
    let Row { m, n, k, alpha, beta, seed, .. } = row;
    format!("SGEMM m = {m}, n = {n}, k = {k}, alpha = {alpha}, beta = {beta}, seed = {seed}")
}

fn setting(rows: &[&Row]) -> String {
    let row = rows[0];
    let mut parts = vec![format!("{} (compute capability {})", row.device, row.compute_capability)];
    if !row.driver.is_empty() {
        parts.push(format!("driver {}, CUDA {}", row.driver, row.cuda));
    }
    if let (Some(version), Some(math)) = (&row.cublas, row.cublas_math) {
        parts.push(format!("cuBLAS {version} ({math})"));
    }
    parts.push(format!("L2 {}", row.l2));
    let clocks = || rows.iter().filter_map(|row| row.sm_clock_mhz);
    if let (Some(low), Some(high)) = (clocks().min(), clocks().max()) {
        parts.push(if low == high { format!("SM clock {low} MHz") } else { format!("SM clock {low}..{high} MHz") });
    }
    parts.join("; ")
}

fn aligned(texts: [String; HEADER.len()]) -> impl Iterator<Item = Cell> {
    texts.into_iter().enumerate().map(|(column, text)| {
        let left = TEXT_COLUMNS.contains(&column);
        Cell::new(text).set_alignment(if left { CellAlignment::Left } else { CellAlignment::Right })
    })
}

fn cells(row: &Row) -> [String; HEADER.len()] {
    let or_dash = |value: Option<f64>| value.map_or("-".to_owned(), significant);
    [
        row.kernel.to_owned(),
        row.precision.to_owned(),
        significant(row.time_ms),
        format!("{}..{}", significant(row.time_ms_min), significant(row.time_ms_max)),
        significant(row.gflops),
        or_dash(row.percent_of_cublas),
        or_dash(row.percent_of_peak),
        or_dash(row.speedup_over_base),
        format!("{:.1e}", row.rel_error),
        (if row.verified { "yes" } else { "NO" }).to_owned(),
    ]
}

/// Whole numbers from 1000 on, one decimal from 10 on, three significant digits below.
fn significant(value: f64) -> String {
    let decimals = match value.abs() {
        0.0 => 0,
        x if x >= 1000.0 => 0,
        x if x >= 10.0 => 1,
        x => (2.0 - x.log10().floor()).min(9.0) as usize,
    };
    format!("{value:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::significant;

    #[test]
    fn digits_follow_the_magnitude() {
        let texts = [31413.4, 512.34, 99.96, 5.678, 0.5678, 0.005678, 0.0].map(significant);
        assert_eq!(texts, ["31413", "512.3", "100.0", "5.68", "0.568", "0.00568", "0"]);
    }
}
