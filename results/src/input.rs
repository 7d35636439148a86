//! Text of files that others wrote: how much of it is read, and what of it may reach a terminal.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use serde_json::Value;

/// Files at most, in bytes.
const MAX_BYTES: u64 = 128 << 20;

/// Characters of a string in a record at most.
const MAX_STRING: usize = 1000;

/// The text of a file, or of a pipe, that is not larger than any of ours. Where it ends in the midst of a character, it does so before it.
///
/// # Errors
/// Where it cannot be read, is no UTF-8, or has more than 128 MiB.
pub fn read_text(path: &Path) -> io::Result<String> {
    let mut bytes = Vec::new();
    File::open(path)?.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_BYTES {
        let reason = format!("it has more than {MAX_BYTES} bytes");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, reason));
    }
    if let Err(error) = str::from_utf8(&bytes)
        && error.error_len().is_none()
    {
        bytes.truncate(error.valid_up_to());
    }
    String::from_utf8(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.utf8_error()))
}

/// Whether a terminal obeys the character instead of showing it, or shows what stands around it in another order.
fn is_control(c: char) -> bool {
    c.is_control() || ('\u{202a}'..='\u{202e}').contains(&c) || ('\u{2066}'..='\u{2069}').contains(&c)
}

/// Text of a file on one line of a terminal: control characters escaped, and no more than `longest` of all.
///
/// ```
/// assert_eq!(results::shown("a\u{1b}[2J", 99), "a\\u{1b}[2J");
/// assert_eq!(results::shown("abcdef", 3), "abc...");
/// ```
#[must_use]
pub fn shown(text: &str, longest: usize) -> String {
    let mut line = String::new();
    for (index, c) in text.chars().enumerate() {
        match c {
            _ if index == longest => return line + "...",
            c if is_control(c) => line.extend(c.escape_default()),
            c => line.push(c),
        }
    }
    line
}

/// Refuses a record with strings that are not fit to be shown. What is no JSON is another's concern.
pub(crate) fn check_strings(line: &str) -> Result<(), String> {
    let Ok(record) = serde_json::from_str::<Value>(line) else { return Ok(()) };
    let mut left = vec![&record];
    while let Some(value) = left.pop() {
        match value {
            Value::String(text) if text.contains(is_control) => return Err("a string has control characters".into()),
            Value::String(text) if text.len() > MAX_STRING => {
                return Err(format!("a string has {} bytes", text.len()));
            }
            Value::Array(values) => left.extend(values),
            Value::Object(values) => left.extend(values.values()),
            _ => {}
        }
    }
    Ok(())
}
