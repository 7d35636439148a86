//! Where the records of a run go: to standard output, in the form that was asked for, and to a file.

use std::path::Path;

use clap::ValueEnum;
use results::Record;
use serde::Serialize;

use super::{JsonFile, csv, json_lines, print, reader_has_gone};
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
    /// Whether standard output is still read.
    is_read: bool,
}

impl Records {
    /// Makes sure that the file can be written, if there is to be one.
    pub(crate) fn open(format: Format, file: Option<&Path>) -> Result<Self, Error> {
        Ok(Self { format, file: file.map(JsonFile::open).transpose()?, is_first: true, is_read: true })
    }

    /// Adds the records to the file, and prints them. `table` makes them a table; it is told whether nothing was printed before.
    /// Where there is a file, it does not matter that nobody reads standard output to its end.
    pub(crate) fn write<R>(&mut self, records: &[R], table: impl FnOnce(bool) -> String) -> Result<(), Error>
    where
        R: Into<Record> + Serialize + Clone,
    {
        if let Some(file) = &mut self.file {
            file.write(&json_lines(records))?;
        }
        if !self.is_read {
            return Ok(());
        }
        let text = match self.format {
            Format::Table => table(self.is_first),
            Format::Json => json_lines(records),
            Format::Csv => csv(records, self.is_first),
        };
        match print(&text) {
            Err(error) if self.file.is_some() && reader_has_gone(&error) => self.is_read = false,
            result => result?,
        }
        self.is_first &= text.is_empty();
        Ok(())
    }

    /// Adds a record to the file alone.
    pub(crate) fn add(&mut self, record: impl Into<Record> + Clone) -> Result<(), Error> {
        self.file.as_mut().map_or(Ok(()), |file| file.write(&json_lines(&[record])))
    }

    /// Writes records to the file that the next call replaces: what there is of those that will be written, lest it be lost.
    pub(crate) fn keep<R: Into<Record> + Clone>(&mut self, records: &[R]) -> Result<(), Error> {
        self.file.as_mut().map_or(Ok(()), |file| file.keep(&json_lines(records)))
    }
}
