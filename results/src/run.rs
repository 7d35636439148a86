//! A file of results.

use std::fs;
use std::path::{Path, PathBuf};

use crate::{Accuracy, Counters, Error, Measurement, Record, SCHEMA, ShapeTiming};

/// All records of one file, in its order.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Run {
    /// What to call it: the file's path, as it was given.
    pub name: String,
    /// Kernels on problems, verified and timed.
    pub measurements: Vec<Measurement>,
    /// Products over several GPUs, and on one of them beside these: they are kept apart, since no kernel is timed by itself.
    pub distributed: Vec<Measurement>,
    /// What was counted of steps.
    pub counters: Vec<Counters>,
    /// Errors on kinds of inputs.
    pub accuracy: Vec<Accuracy>,
    /// Shapes beside cuBLAS.
    pub shapes: Vec<ShapeTiming>,
}

/// What all versions of a record have.
#[derive(serde::Deserialize)]
struct Version {
    schema: u32,
}

impl Run {
    /// Reads a file of JSON lines.
    ///
    /// # Errors
    /// [`Error::Read`], and those of [`Self::parse`].
    pub fn read(path: &Path) -> Result<Self, Error> {
        let text = fs::read_to_string(path).map_err(|reason| Error::Read { path: path.to_owned(), reason })?;
        Self::parse(&path.display().to_string(), &text)
    }

    /// Reads JSON lines; empty ones count for nothing.
    ///
    /// # Errors
    /// [`Error::Line`] and [`Error::Newer`] name the line; [`Error::Empty`].
    pub fn parse(name: &str, text: &str) -> Result<Self, Error> {
        let mut run = Self { name: name.to_owned(), ..Self::default() };
        for (line, text) in (1..).zip(text.lines()).filter(|(_, text)| !text.trim().is_empty()) {
            // The version first: the keys of a newer one need not be those that are known.
            match serde_json::from_str(text) {
                Ok(Version { schema }) if schema > SCHEMA => {
                    return Err(Error::Newer { name: name.to_owned(), line, schema });
                }
                _ => {}
            }
            run.add(serde_json::from_str(text).map_err(|reason| Error::Line {
                name: name.to_owned(),
                line,
                reason,
            })?);
        }
        if run.is_empty() { Err(Error::Empty { name: name.to_owned() }) } else { Ok(run) }
    }

    /// Adds a record after those of its kind.
    pub fn add(&mut self, record: Record) {
        match record {
            Record::Measurement(record) if record.gpus.is_some() => self.distributed.push(*record),
            Record::Measurement(record) => self.measurements.push(*record),
            Record::Counters(record) => self.counters.push(*record),
            Record::Accuracy(record) => self.accuracy.push(*record),
            Record::Shape(record) => self.shapes.push(*record),
        }
    }

    /// Whether there is nothing in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let Self { measurements, distributed, counters, accuracy, shapes, .. } = self;
        [measurements, distributed].iter().all(|rows| rows.is_empty())
            && counters.is_empty()
            && accuracy.is_empty()
            && shapes.is_empty()
    }

    /// The file in `folder` whose measurements have the latest date; folders in it do not count. `None` without any.
    ///
    /// # Errors
    /// [`Error::Read`], and those of [`Self::parse`].
    pub fn newest_in(folder: &Path) -> Result<Option<PathBuf>, Error> {
        let failed = |reason| Error::Read { path: folder.to_owned(), reason };
        let mut newest: Option<(String, PathBuf)> = None;
        for entry in fs::read_dir(folder).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            if path.extension().is_none_or(|extension| extension != "jsonl") {
                continue;
            }
            let date = Self::read(&path)?.measurements.into_iter().map(|row| row.date).max();
            newest = newest.max(date.map(|date| (date, path)));
        }
        Ok(newest.map(|(_, path)| path))
    }

    /// The measurement of a step or baseline, or of the variant of it that ran, on that problem.
    #[must_use]
    pub fn of(&self, step: &str, precision: &str, shape: [u32; 3]) -> Option<&Measurement> {
        self.measurements.iter().find(|row| row.step() == step && row.precision == precision && row.shape() == shape)
    }

    /// How many times as fast as its base a row is, where the base is in this run and computes in the same arithmetic.
    #[must_use]
    pub fn speedup_over_base(&self, row: &Measurement) -> Option<f64> {
        let base = self.of(row.base.as_deref()?, &row.precision, row.shape())?;
        row.speedup_over_base.filter(|_| base.verified)
    }

    /// What was counted of a step; of several problems, the first one's.
    #[must_use]
    pub fn counters_of(&self, step: &str) -> Option<&Counters> {
        self.counters.iter().find(|counters| counters.step() == step)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_broken_line_is_named() {
        let error = Run::parse("x.jsonl", "\n{\"record\": 1}\n").unwrap_err().to_string();
        assert!(error.starts_with("x.jsonl: line 2 is no record of results"), "{error}");
    }

    #[test]
    fn a_newer_version_is_named_whatever_its_keys_are() {
        let error = Run::parse("x", r#"{"record": "measurement", "schema": 99, "new": 1}"#).unwrap_err();
        assert!(matches!(error, Error::Newer { schema: 99, line: 1, .. }), "{error}");
    }

    #[test]
    fn what_several_gpus_did_is_kept_apart() {
        let text = include_str!("../../docs/results/2026-11-22-h200.jsonl");
        let one = Run::parse("x", text).unwrap();
        assert!(!one.measurements.is_empty() && one.distributed.is_empty());
        let mut row = one.measurements[0].clone();
        row.gpus = Some(4);
        let together = Record::from(row.clone());
        let run = Run::parse("x", &serde_json::to_string(&together).unwrap()).unwrap();
        assert!(run.measurements.is_empty() && run.of(row.step(), &row.precision, row.shape()).is_none());
        assert_eq!(run.distributed, [row.clone()]);
        assert_eq!(row.of_peak(), one.measurements[0].of_peak().map(|percent| percent / 4.0));
    }

    #[test]
    fn nothing_is_an_error() {
        assert!(matches!(Run::parse("x", "\n \n"), Err(Error::Empty { .. })));
    }
}
