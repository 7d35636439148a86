//! Standard output, standard error and the files that results go to. No failed write is a panic.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::error::Error;

/// Characters of a line on standard error.
const MAX_LINE: usize = 1000;

/// Writes to standard output. A closed pipe, as `head` leaves it, is not an error.
pub fn print(text: &str) -> Result<(), Error> {
    let mut stdout = io::stdout().lock();
    written(stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()))
}

/// Writes what the parser of the command line has to say: help to standard output, errors to standard error. Returns
/// the exit code.
pub fn print_clap(message: &clap::Error) -> Result<u8, Error> {
    let result = message.print();
    if message.use_stderr() { Ok(2) } else { written(result).map(|()| 0) }
}

/// Writes a line to standard error, ignoring failure. It may hold names out of a file: see [`shown`].
pub fn complain(line: &str) {
    let _ = writeln!(io::stderr(), "{}", shown(line, MAX_LINE));
}

/// Text of a file on one line of a terminal: control characters escaped, and no more than `longest` of all.
pub fn shown(text: &str, longest: usize) -> String {
    let mut line = String::new();
    for (index, c) in text.chars().enumerate() {
        match c {
            _ if index == longest => return line + "...",
            // Those that reorder what stands around them, too.
            c if c.is_control() || ('\u{202a}'..='\u{202e}').contains(&c) || ('\u{2066}'..='\u{2069}').contains(&c) => {
                line.extend(c.escape_default());
            }
            c => line.push(c),
        }
    }
    line
}

fn written(result: io::Result<()>) -> Result<(), Error> {
    match result {
        Err(source) if source.kind() != io::ErrorKind::BrokenPipe => {
            Err(Error::Write { path: "standard output".into(), source })
        }
        _ => Ok(()),
    }
}

/// A file that a result goes to.
#[derive(Debug)]
pub struct ResultFile {
    path: PathBuf,
    file: File,
    /// Whether it was not there before, and nothing was written yet.
    is_new: bool,
}

impl ResultFile {
    /// Makes sure that the file can be written. What it holds stays until [`ResultFile::write`]; one that was not there is gone again
    /// where nothing is written.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let is_new = !path.exists();
        let file = File::options().create(true).write(true).truncate(false).open(path);
        let file = file.map_err(|source| Error::Write { path: path.to_owned(), source })?;
        Ok(Self { path: path.to_owned(), file, is_new })
    }

    /// Replaces the file's contents.
    pub fn write(mut self, bytes: &[u8]) -> Result<(), Error> {
        let mut write = || {
            if self.file.metadata()?.is_file() {
                self.file.set_len(0)?;
            }
            self.file.write_all(bytes)
        };
        write().map_err(|source| Error::Write { path: self.path.clone(), source })?;
        self.is_new = false;
        Ok(())
    }
}

impl Drop for ResultFile {
    fn drop(&mut self) {
        if self.is_new {
            // Nothing more can be done where that fails.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_holds_no_control_characters_and_ends() {
        assert_eq!(shown("k\u{1b}[2J\n\u{202e}é", 99), "k\\u{1b}[2J\\n\\u{202e}é");
        assert_eq!(shown(&"x".repeat(100_000), 1000).len(), 1003);
    }
}
