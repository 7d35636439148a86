//! Where the records of a run go: to standard output, in the form that was asked for, and to a file.

use std::path::Path;

use clap::ValueEnum;
use results::Record;
use serde::Serialize;

use super::{JsonFile, csv, json_lines, print};
use crate::Error;

/// What is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// A table for people
    Table,
    /// One JSON object per line
    Json,
    /// Comma-separated values under a line of names
    Csv,
}

/// Where the records of a run go.
pub(crate) struct Records {
    format: Format,
    file: Option<JsonFile>,
    is_first: bool,
}

impl Records {
    /// Makes sure that the file can be written, if there is to be one.
    pub(crate) fn open(format: Format, file: Option<&Path>) -> Result<Self, Error> {
        Ok(Self { format, file: file.map(JsonFile::open).transpose()?, is_first: true })
    }

    /// Prints the records, and adds them to the file. `table` makes them a table; it is told whether nothing was printed before.
    pub(crate) fn write<R>(&mut self, records: &[R], table: impl FnOnce(bool) -> String) -> Result<(), Error>
    where
        R: Into<Record> + Serialize + Clone,
    {
        let text = match self.format {
            Format::Table => table(self.is_first),
            Format::Json => json_lines(records),
            Format::Csv => csv(records, self.is_first),
        };
        print(&text)?;
        self.is_first &= text.is_empty();
        self.file.as_mut().map_or(Ok(()), |file| file.write(&json_lines(records)))
    }
}
