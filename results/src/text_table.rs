//! Tables on the terminal.

use comfy_table::{Cell, CellAlignment, LineStyle, Table, TableStyle};

const RULE: LineStyle = LineStyle::none().fill('─').junction('─');
const STYLE: TableStyle = TableStyle::new().top_border(RULE).header_separator(RULE).bottom_border(RULE);

/// A table with a rule above, below and under its header. The columns in `texts` are aligned to the left, as words are, and the
/// others to the right, as numbers are.
///
/// ```
/// use results::text_table;
///
/// let table = text_table(&[0], ["step", "ms"], [["naive".to_owned(), "22.1".to_owned()]]);
/// assert!(table.lines().nth(3).is_some_and(|line| line.trim_end().ends_with("22.1")));
/// ```
#[must_use]
pub fn text_table<H: ToString, R: IntoIterator<Item = String>>(
    texts: &[usize],
    header: impl IntoIterator<Item = H>,
    rows: impl IntoIterator<Item = R>,
) -> String {
    let aligned = |(column, text): (usize, String)| {
        let is_text = texts.contains(&column);
        Cell::new(text).set_alignment(if is_text { CellAlignment::Left } else { CellAlignment::Right })
    };
    let mut table = Table::new();
    table.load_style(STYLE).set_header(header.into_iter().map(|name| name.to_string()).enumerate().map(aligned));
    for row in rows {
        table.add_row(row.into_iter().enumerate().map(aligned));
    }
    table.to_string()
}
