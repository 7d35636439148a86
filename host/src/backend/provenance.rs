//! When a record was made.

use jiff::{Timestamp, Unit};

/// This moment, as records have it.
pub(crate) fn now() -> String {
    let now = Timestamp::now();
    now.round(Unit::Second).unwrap_or(now).to_string()
}
