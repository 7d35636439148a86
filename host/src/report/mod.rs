//! Measurements as rows, and rows as a table, JSON or CSV.

mod csv;
mod json;
mod row;
mod table;

pub use csv::csv;
pub use json::json_lines;
pub use row::Row;
pub use table::table;
