//! Figures in lines and columns.

use maud::{Markup, html};
use results::Ladder;

/// A table of texts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Table {
    /// The columns' names.
    pub columns: Vec<String>,
    /// How many of the columns, from the left, hold texts; the others hold numbers.
    pub texts: usize,
    /// A text for each column.
    pub lines: Vec<Vec<String>>,
}

impl Table {
    /// Without lines yet.
    #[must_use]
    pub fn new<T: Into<String>>(texts: usize, columns: impl IntoIterator<Item = T>) -> Self {
        Self { columns: columns.into_iter().map(Into::into).collect(), texts, lines: Vec::new() }
    }

    /// The table of the README.
    pub(crate) fn of_ladder(ladder: &Ladder) -> Self {
        // Where all are modelled, title and caption say so.
        let is_modelled = ladder.lines.iter().all(|line| line.is_modelled);
        let plain = |cell: &String| cell.strip_suffix(" (modelled)").filter(|_| is_modelled).unwrap_or(cell).to_owned();
        let lines = ladder.lines.iter().map(|line| line.cells.iter().map(plain).collect()).collect();
        Self { columns: ladder.columns.clone(), texts: Ladder::TEXTS, lines }
    }

    /// As HTML, in a box of its own that scrolls.
    pub(crate) fn html(&self, what: &str) -> Markup {
        let class = |column: usize| (column >= self.texts).then_some("n");
        html! {
            div.tools { button.csv type="button" { "Download as CSV" } }
            div.scroll tabindex="0" role="region" aria-label={ "Table: " (what) } {
                table.sortable data-name=(what) {
                    thead { tr { @for (i, name) in self.columns.iter().enumerate() { th scope="col" class=[class(i)] { (name) } } } }
                    tbody {
                        @for line in &self.lines {
                            tr {
                                @for (i, cell) in line.iter().enumerate() {
                                    @if i == 0 { th scope="row" { (cell) } } @else { td class=[class(i)] { (cell) } }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}
