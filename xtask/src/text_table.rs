//! Tables on the terminal.

use comfy_table::{Cell, CellAlignment, LineStyle, Table, TableStyle};

const RULE: LineStyle = LineStyle::none().fill('─').junction('─');
const STYLE: TableStyle = TableStyle::new().top_border(RULE).header_separator(RULE).bottom_border(RULE);

/// A table of texts: the columns in `left` begin at the same place, as words do, and the others end there, as numbers do.
pub fn text_table(left: &[usize], header: Vec<String>, rows: impl IntoIterator<Item = Vec<String>>) -> Table {
    let aligned = |texts: Vec<String>| {
        texts.into_iter().enumerate().map(|(column, text)| {
            let alignment = if left.contains(&column) { CellAlignment::Left } else { CellAlignment::Right };
            Cell::new(text).set_alignment(alignment)
        })
    };
    let mut table = Table::new();
    table.load_style(STYLE).set_header(aligned(header));
    for row in rows {
        table.add_row(aligned(row));
    }
    table
}
