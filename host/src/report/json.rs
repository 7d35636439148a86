//! JSON: one object per line.

use serde::Serialize;

use crate::explain::Explanation;

/// The rows as JSON Lines. Numbers that are not finite, such as the error of a result that holds NaN, are `null`.
#[must_use]
pub fn json_lines(rows: &[impl Serialize]) -> String {
    rows.iter().filter_map(|row| serde_json::to_string(row).ok()).map(|line| line + "\n").collect()
}

/// An explanation as one line of JSON.
#[must_use]
pub fn explanation_json(explanation: &Explanation) -> String {
    serde_json::to_string(explanation).map_or_else(|_| String::new(), |line| line + "\n")
}
