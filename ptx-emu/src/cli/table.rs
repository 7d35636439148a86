//! Text tables.

use comfy_table::{Cell, CellAlignment, LineStyle, Table, TableStyle};

const RULE: LineStyle = LineStyle::none().fill('─').junction('─');

const STYLE: TableStyle = TableStyle::new().top_border(RULE).header_separator(RULE).bottom_border(RULE);

/// A table with a rule above, below and under its header. The columns named by `text` are aligned to the left, the others,
/// which hold numbers, to the right.
pub fn table<const N: usize>(header: [&str; N], text: &[usize], rows: impl IntoIterator<Item = [String; N]>) -> String {
    let aligned = |texts: [String; N]| {
        texts.into_iter().enumerate().map(|(column, content)| {
            let left = text.contains(&column);
            Cell::new(content).set_alignment(if left { CellAlignment::Left } else { CellAlignment::Right })
        })
    };
    let mut table = Table::new();
    table.load_style(STYLE).set_header(aligned(header.map(str::to_owned)));
    for row in rows {
        table.add_row(aligned(row));
    }
    format!("{}\n", table.trim_fmt())
}

/// A whole number in groups of three digits.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

/// How many of one there are for each of the other; a dash for none.
pub fn ratio(of: u64, per: u64) -> String {
    if per == 0 { "-".to_owned() } else { format!("{:.2}", of as f64 / per as f64) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_readable() {
        assert_eq!([0, 999, 1000, 1_234_567].map(grouped), ["0", "999", "1 000", "1 234 567"]);
        assert_eq!([ratio(1, 0), ratio(5, 2)], ["-", "2.50"]);
    }
}
