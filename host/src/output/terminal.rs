//! Standard output, standard error and the `--json` file. No failed write is a panic.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::Error;

/// Characters of a line on standard error.
const MAX_LINE: usize = 1000;

/// Writes to standard output.
pub fn print(text: &str) -> Result<(), Error> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()).map_err(stdout_error)
}

/// Writes what the parser of the command line has to say: help to standard output, errors to standard error. Returns
/// the exit code.
pub fn print_clap(message: &clap::Error) -> Result<u8, Error> {
    match message.print() {
        _ if message.use_stderr() => Ok(2),
        Ok(()) => Ok(0),
        Err(source) => Err(stdout_error(source)),
    }
}

/// Writes a line to standard error; where that cannot be written there is nobody left to tell. It may hold words out of a file.
pub fn complain(line: &str) {
    let _ = writeln!(io::stderr(), "{}", results::shown(line, MAX_LINE));
}

fn stdout_error(source: io::Error) -> Error {
    Error::Output { path: "standard output".into(), source }
}

/// Whether the reader of standard output has gone, as `head` does: no failure of ours.
pub fn reader_has_gone(error: &Error) -> bool {
    matches!(error, Error::Output { source, .. } if source.kind() == io::ErrorKind::BrokenPipe)
}

/// A file that rows go to.
pub struct JsonFile {
    path: PathBuf,
    file: File,
    /// Bytes that stay, once anything was written.
    end: Option<u64>,
}

impl JsonFile {
    /// Makes sure that the file can be written. What it holds stays until the first write.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let failed = |source| Error::Output { path: path.to_owned(), source };
        let file = File::options().create(true).write(true).truncate(false).open(path).map_err(failed)?;
        Ok(Self { path: path.to_owned(), file, end: None })
    }

    /// Adds lines in place of those that [`Self::keep`] wrote; the first time, in place of what the file held before.
    pub fn write(&mut self, lines: &str) -> Result<(), Error> {
        let mut write = || {
            if self.file.metadata()?.is_file() {
                let end = self.end.unwrap_or(0);
                self.file.set_len(end)?;
                self.file.seek(SeekFrom::Start(end))?;
                self.end = Some(end + lines.len() as u64);
            }
            self.file.write_all(lines.as_bytes())
        };
        write().map_err(|source| Error::Output { path: self.path.clone(), source })
    }

    /// Writes lines that the next call replaces: what is known before the rest is, lest it be lost. A pipe gets none.
    pub fn keep(&mut self, lines: &str) -> Result<(), Error> {
        let mut write = || {
            if !self.file.metadata()?.is_file() {
                return Ok(());
            }
            let end = *self.end.get_or_insert(0);
            self.file.set_len(end)?;
            self.file.seek(SeekFrom::Start(end))?;
            self.file.write_all(lines.as_bytes())
        };
        write().map_err(|source| Error::Output { path: self.path.clone(), source })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_kept_is_replaced_by_what_is_written() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let text = || std::fs::read_to_string(file.path()).unwrap();
        std::fs::write(file.path(), "of an earlier run\n").unwrap();
        let mut json = JsonFile::open(file.path()).unwrap();
        assert_eq!(text(), "of an earlier run\n");
        json.keep("a\nb\n").unwrap();
        assert_eq!(text(), "a\nb\n");
        json.keep("a\n").unwrap();
        json.write("A\n").unwrap();
        assert_eq!(text(), "A\n");
        json.keep("b\n").unwrap();
        assert_eq!(text(), "A\nb\n");
        json.write("B\n").unwrap();
        json.write("C\n").unwrap();
        assert_eq!(text(), "A\nB\nC\n");
    }
}
