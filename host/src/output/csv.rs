//! CSV: the same keys as JSON, in a header line.

use serde::Serialize;

/// The rows as CSV, after a line of column names if `header` is set. What is unknown is empty.
#[must_use]
pub fn csv(rows: &[impl Serialize], header: bool) -> String {
    let mut writer = ::csv::WriterBuilder::new().has_headers(header).from_writer(Vec::new());
    for row in rows {
        // Rows are flat and the writer writes into memory: there is nothing to fail.
        let _ = writer.serialize(row);
    }
    writer.into_inner().ok().and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_default()
}
