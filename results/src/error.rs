//! What can be wrong with files of results.

use std::path::PathBuf;

use crate::SCHEMA;

/// Why results cannot be read or shown. The text is a line that says what to do.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)] // the messages say it
pub enum Error {
    #[error("cannot read {path}: {reason}")]
    Read { path: PathBuf, reason: std::io::Error },
    #[error("{name}: line {line} is no record of results ({reason}): give a file that `cargo xtask bench` wrote")]
    Line { name: String, line: usize, reason: String },
    #[error("{name}: line {line} has a time of {time_ms} ms: times are above 0, and nothing ends before it begins")]
    Time { name: String, line: usize, time_ms: f64 },
    #[error("{name}: line {line} has schema {schema}, and this program knows those up to {SCHEMA}: use a newer one")]
    Newer { name: String, line: usize, schema: u32 },
    #[error("{name} holds no records")]
    Empty { name: String },
    #[error("{name}: {kernel} at {m}x{n}x{k} is not verified, so it is not shown")]
    NotVerified { name: String, kernel: String, m: u32, n: u32, k: u32 },
    #[error("{name} has no measurements at {}", sizes.map(|size| size.to_string()).join(" or "))]
    NoSuchSize { name: String, sizes: [u32; 2] },
    #[error("{path}: {reason}")]
    Peers { path: PathBuf, reason: serde_json::Error },
    #[error("{} was {}, and {} was {}: times of one device are compared, both measured or both modelled", names[0], what[0], names[1], what[1])]
    NotComparable { names: [String; 2], what: [String; 2] },
    #[error("{} and {} have no kernel at the same size in common", names[0], names[1])]
    NothingInCommon { names: [String; 2] },
}
