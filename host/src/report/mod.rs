//! Measurements as rows, and rows as a table, JSON or CSV.

mod accuracy;
mod csv;
mod explanation;
mod json;
mod row;
mod table;

pub use accuracy::{accuracy, accuracy_summary};
pub use csv::csv;
pub use explanation::{counters, explanation};
pub use json::{explanation_json, json_lines};
pub use results::Measurement as Row;
pub(crate) use row::{now, rows};
pub use table::table;
