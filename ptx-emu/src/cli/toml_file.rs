//! Files in TOML: launch files and suppressions.

use std::path::Path;

use serde::de::DeserializeOwned;

use super::error::Error;
use super::input;

/// Such files at most, in bytes.
const MAX_BYTES: u64 = 1 << 20;

/// Reads a file: its name, and what it says. An error is one line, with the line of the file.
pub fn read<T: DeserializeOwned>(path: &Path) -> Result<(String, T), Error> {
    let name = path.display().to_string();
    let text = String::from_utf8(input::read(path, MAX_BYTES)?)
        .map_err(|_| Error::Usage(format!("{name} is no TOML: its text is not UTF-8")))?;
    let parsed = toml::from_str(&text).map_err(|error| {
        let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
        let line = 1 + before.matches('\n').count();
        Error::Usage(format!("{name}:{line}: {}", error.message().trim().replace('\n', " ")))
    })?;
    Ok((name, parsed))
}
