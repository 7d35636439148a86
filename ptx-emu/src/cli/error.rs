//! Errors of the program, and their exit codes.

use std::io;
use std::path::PathBuf;

/// Why there is nothing to report.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The command line asks for something that is not there or does not fit.
    #[error("{0}")]
    Usage(String),
    /// The PTX cannot be run.
    #[error("{0}")]
    Ptx(String),
    /// A file of the command line cannot be read.
    #[error("cannot read {path}: {source}")]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A program cannot be run.
    #[error("cannot run {program}: {source}")]
    Run {
        /// The program.
        program: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Results cannot be written.
    #[error("cannot write {path}: {source}")]
    Write {
        /// The file, or standard output.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

impl Error {
    /// The same with where it is, if it is of the command line.
    #[must_use]
    pub fn at(self, place: &str) -> Self {
        match self {
            Self::Usage(reason) => Self::Usage(format!("{place}: {reason}")),
            other => other,
        }
    }

    /// 2 for errors of the command line, 1 for the rest.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Usage(_) | Self::Read { .. } | Self::Run { .. } => 2,
            Self::Ptx(_) | Self::Write { .. } => 1,
        }
    }
}
