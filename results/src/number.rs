//! Numbers that need not be finite: JSON has `null` for those that are not.

use serde::{Deserialize, Deserializer};

/// Reads `null` as NaN.
pub(crate) fn or_nan<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or(f64::NAN))
}
