//! CSV: the same keys as JSON, in a header line, but for lists.

use std::fmt;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

/// The rows as CSV, after a line of column names if `header` is set. What is unknown is empty; lists have no place in a cell.
#[must_use]
pub fn csv(rows: &[impl Serialize], header: bool) -> String {
    let mut writer = ::csv::Writer::from_writer(Vec::new());
    for (i, row) in rows.iter().enumerate() {
        let text = serde_json::to_string(row).unwrap_or_default();
        let Ok(Cells(cells)) = serde_json::from_str(&text) else { continue };
        // The writer writes into memory: there is nothing to fail.
        if header && i == 0 {
            let _ = writer.write_record(cells.iter().map(|(key, _)| key));
        }
        let _ = writer.write_record(cells.iter().map(|(_, cell)| cell));
    }
    writer.into_inner().ok().and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_default()
}

/// Keys and texts, in the order of the record.
struct Cells(Vec<(String, String)>);

impl<'de> Deserialize<'de> for Cells {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Keys;
        impl<'de> Visitor<'de> for Keys {
            type Value = Cells;

            fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
                formatter.write_str("a record")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Cells, A::Error> {
                let mut cells = Vec::new();
                while let Some((key, value)) = map.next_entry::<String, Value>()? {
                    match value {
                        Value::Array(_) => {}
                        Value::Null => cells.push((key, String::new())),
                        Value::String(text) => cells.push((key, text)),
                        other => cells.push((key, other.to_string())),
                    }
                }
                Ok(Cells(cells))
            }
        }
        deserializer.deserialize_map(Keys)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_left_out_and_what_is_unknown_is_empty() {
        #[derive(Serialize)]
        struct Row {
            name: &'static str,
            times: Vec<f32>,
            share: Option<f64>,
            alpha: f32,
        }
        let row = Row { name: "a, b", times: vec![1.0, 2.0], share: None, alpha: 0.1 };
        assert_eq!(csv(&[row], true), "name,share,alpha\n\"a, b\",,0.1\n");
    }
}
