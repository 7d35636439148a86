//! Standard output, standard error and the `--json` file. No failed write is a panic.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::Error;

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

/// Writes a line to standard error; where that cannot be written there is nobody left to tell.
pub fn complain(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
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
    written: bool,
}

impl JsonFile {
    /// Makes sure that the file can be written, and its folder is there. What it holds stays until the first write.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let failed = |source| Error::Output { path: path.to_owned(), source };
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(failed)?;
        }
        let file = File::options().create(true).write(true).truncate(false).open(path).map_err(failed)?;
        Ok(Self { path: path.to_owned(), file, written: false })
    }

    /// Adds lines; the first time, in place of what the file held before.
    pub fn write(&mut self, lines: &str) -> Result<(), Error> {
        let mut write = || {
            if !std::mem::replace(&mut self.written, true) && self.file.metadata()?.is_file() {
                self.file.set_len(0)?;
            }
            self.file.write_all(lines.as_bytes())
        };
        write().map_err(|source| Error::Output { path: self.path.clone(), source })
    }
}
