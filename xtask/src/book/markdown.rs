//! Tables and numbers in Markdown.

use results::format;

/// A table: its first column holds texts, the others numbers.
pub fn table<const N: usize>(header: [&str; N], rows: impl IntoIterator<Item = [String; N]>) -> String {
    let rule = (0..N).map(|column| if column == 0 { "---" } else { "---:" }).collect::<Vec<_>>().join("|");
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let mut text = format!("| {} |\n|{rule}|\n", header.join(" | "));
    text.extend(rows.into_iter().map(|row| line(&row)));
    text
}

/// A table of texts.
pub fn texts<const N: usize>(header: [&str; N], rows: impl IntoIterator<Item = [String; N]>) -> String {
    table(header, rows).replacen("---:", "---", N)
}

/// Text that stands in a table: what would end a cell is escaped.
pub fn cell(text: &str) -> String {
    text.replace('|', "\\|").split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Digits in groups of three, by spaces that break no line.
pub fn grouped(value: u64) -> String {
    unbroken(&format::grouped(value))
}

/// A number whose groups of digits stay on one line.
pub fn unbroken(number: &str) -> String {
    number.replace(' ', "\u{a0}")
}

#[cfg(test)]
mod tests {
    use results::format::significant;

    use super::*;

    #[test]
    fn tables_have_a_rule_and_aligned_numbers() {
        let text = table(["a", "b"], [["x".into(), "1".into()]]);
        assert_eq!(text, "| a | b |\n|---|---:|\n| x | 1 |\n");
        assert_eq!(texts(["a", "b"], []), "| a | b |\n|---|---|\n");
    }

    #[test]
    fn numbers_are_short() {
        assert_eq!([0, 999, 1_234_567].map(grouped), ["0", "999", "1\u{a0}234\u{a0}567"]);
        assert_eq!(
            [0.0, 0.0123, 1.5, 16.5, 499.2, 54321.0].map(significant),
            ["0", "0.0123", "1.50", "16.5", "499", "54 321"]
        );
    }
}
