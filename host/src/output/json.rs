//! JSON: one object per line.

use results::Record;

use crate::measure::explain::Explanation;

/// The rows as JSON Lines: [`Record`]s. Numbers that are not finite, such as the error of a result that holds NaN, are `null`.
#[must_use]
pub fn json_lines<R: Into<Record> + Clone>(rows: &[R]) -> String {
    let records = rows.iter().cloned().map(Into::into);
    records.filter_map(|record: Record| serde_json::to_string(&record).ok()).map(|line| line + "\n").collect()
}

/// An explanation as one line of JSON.
#[must_use]
pub fn explanation_json(explanation: &Explanation) -> String {
    serde_json::to_string(explanation).map_or_else(|_| String::new(), |line| line + "\n")
}
