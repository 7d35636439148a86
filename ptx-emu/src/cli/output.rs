//! Standard output, standard error and the files that results go to. No failed write is a panic.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::error::Error;

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

/// Writes a line to standard error, ignoring failure.
pub fn complain(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
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
}

impl ResultFile {
    /// Makes sure that the file can be written. What it holds stays until [`ResultFile::write`].
    pub fn open(path: &Path) -> Result<Self, Error> {
        let file = File::options().create(true).write(true).truncate(false).open(path);
        let file = file.map_err(|source| Error::Write { path: path.to_owned(), source })?;
        Ok(Self { path: path.to_owned(), file })
    }

    /// Replaces the file's contents.
    pub fn write(mut self, bytes: &[u8]) -> Result<(), Error> {
        let mut write = || {
            if self.file.metadata()?.is_file() {
                self.file.set_len(0)?;
            }
            self.file.write_all(bytes)
        };
        write().map_err(|source| Error::Write { path: self.path, source })
    }
}
