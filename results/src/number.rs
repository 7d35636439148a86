//! Numbers as texts, and numbers that need not be finite: JSON has `null` for those that are not.

use serde::{Deserialize, Deserializer};

/// Whole numbers from 1000 on, one decimal from 10 on, three significant digits below.
#[must_use]
pub fn significant(value: f64) -> String {
    let decimals = match value.abs() {
        0.0 => 0,
        x if x >= 1000.0 => 0,
        x if x >= 10.0 => 1,
        x => (2.0 - x.log10().floor()).min(9.0) as usize,
    };
    format!("{value:.decimals$}")
}

/// Digits in groups of three.
#[must_use]
pub fn grouped(value: u64) -> String {
    let digits = value.to_string();
    let groups: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().filter_map(|group| std::str::from_utf8(group).ok()).collect();
    groups.join(" ")
}

/// Reads `null` as NaN.
pub(crate) fn or_nan<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or(f64::NAN))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_follow_the_magnitude() {
        let texts = [31413.4, 512.34, 99.96, 5.678, 0.5678, 0.005678, 0.0].map(significant);
        assert_eq!(texts, ["31413", "512.3", "100.0", "5.68", "0.568", "0.00568", "0"]);
    }

    #[test]
    fn digits_are_grouped() {
        assert_eq!([0, 999, 1000, 1_234_567].map(grouped), ["0", "999", "1 000", "1 234 567"]);
    }
}
