//! Why there is no report.

use std::path::PathBuf;

/// Why a report cannot be written. The text is a line that says what to do.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)] // the messages say it
pub enum Error {
    #[error("there are no results to show: give a file that `cargo xtask bench` wrote")]
    Nothing,
    #[error("cannot write {path}: {source}")]
    Write { path: PathBuf, source: std::io::Error },
    #[error("the picture {name} cannot be drawn as PNG: {reason}")]
    Png { name: String, reason: String },
}
