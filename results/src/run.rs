//! A file of results.

use std::fs;
use std::path::{Path, PathBuf};

use crate::input::{check_strings, read_text, shown};
use crate::{Accuracy, Counters, Error, Measurement, Record, SCHEMA, ShapeTiming, Timeline};

/// Characters of a reason in a message.
const MAX_REASON: usize = 200;

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
    /// When the GPUs of a product computed and communicated.
    pub timelines: Vec<Timeline>,
    /// Whether the file ends in the midst of a line, which is left out: what wrote it was ended there.
    pub is_cut: bool,
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
        let text = read_text(path).map_err(|reason| Error::Read { path: path.to_owned(), reason })?;
        Self::parse(&path.display().to_string(), &text)
    }

    /// Reads JSON lines; empty ones count for nothing, nor does a last one that is cut.
    ///
    /// # Errors
    /// [`Error::Line`], [`Error::Time`] and [`Error::Newer`] name the line; [`Error::Empty`].
    pub fn parse(name: &str, text: &str) -> Result<Self, Error> {
        let mut run = Self { name: name.to_owned(), ..Self::default() };
        let end = text.as_bytes().as_ptr_range().end;
        // A line that is written to its end has a line break behind it.
        let is_last = |line: &str| line.as_bytes().as_ptr_range().end == end;
        for (line, text) in (1..).zip(text.lines()).filter(|(_, text)| !text.trim().is_empty()) {
            let failed = |reason: &str| Error::Line { name: name.to_owned(), line, reason: shown(reason, MAX_REASON) };
            // The version first: the keys of a newer one need not be those that are known.
            match serde_json::from_str(text) {
                Ok(Version { schema }) if schema > SCHEMA => {
                    return Err(Error::Newer { name: name.to_owned(), line, schema });
                }
                Err(_) if is_last(text) && is_cut(text) => {
                    run.is_cut = true;
                    break;
                }
                _ => {}
            }
            check_strings(text).map_err(|reason| failed(&reason))?;
            let record: Record = serde_json::from_str(text).map_err(|reason| failed(&reason.to_string()))?;
            if let Some(time_ms) = record.impossible_time() {
                return Err(Error::Time { name: name.to_owned(), line, time_ms });
            }
            run.add(record);
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
            Record::Timeline(record) => self.timelines.push(*record),
        }
    }

    /// A line for people about what of the file is missing here, if anything is.
    #[must_use]
    pub fn note(&self) -> Option<String> {
        self.is_cut.then(|| format!("note: {} ends in the midst of a line: that one is left out", self.name))
    }

    /// Whether there is nothing in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let Self { measurements, distributed, counters, accuracy, shapes, timelines, .. } = self;
        [measurements, distributed].iter().all(|rows| rows.is_empty())
            && counters.is_empty()
            && accuracy.is_empty()
            && shapes.is_empty()
            && timelines.is_empty()
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

/// Whether a line ends in the midst of its JSON.
fn is_cut(line: &str) -> bool {
    serde_json::from_str::<serde_json::Value>(line).is_err_and(|error| error.is_eof())
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

    const LINE: &str = r#"{"record": "accuracy", "schema": 1, "kernel": "naive", "precision": "fp32", "inputs": "uniform",
        "m": 128, "n": 128, "k": 64, "seed": 1, "rows_compared": 128, "rel_error": 1.4e-7, "max_error": 2.8e-7,
        "compared_with": "naive", "rel_error_ratio": 1, "max_error_ratio": 1, "promises": false, "verdict": "same",
        "backend": "emulator", "device": "DEVICE", "compute_capability": "9.0", "driver": "", "cuda": "",
        "date": "2026-05-04T03:02:01Z", "commit": "unknown"}"#;

    fn line(device: &str) -> String {
        LINE.replace('\n', " ").replace("DEVICE", device)
    }

    #[test]
    fn a_last_line_that_is_cut_leaves_the_others() {
        let (whole, line) = (format!("{0}\n{0}\n", line("a")), line("b"));
        for end in 1..line.len() {
            let run = Run::parse("x.jsonl", &format!("{whole}{}", &line[..end])).unwrap();
            assert_eq!((run.accuracy.len(), run.is_cut), (2, true), "{end}");
            assert!(run.note().unwrap().starts_with("note: x.jsonl ends in the midst of a line"));
        }
        let run = Run::parse("x", &format!("{whole}{line}")).unwrap();
        assert_eq!((run.accuracy.len(), run.is_cut, run.note()), (3, false, None));
        // Elsewhere, half a line is none of ours.
        let half = &line[..line.len() / 2];
        assert!(matches!(Run::parse("x", &format!("{whole}{half}\n{whole}")), Err(Error::Line { line: 3, .. })));
        assert!(matches!(Run::parse("x", &format!("{whole}{half}\n")), Err(Error::Line { line: 3, .. })));
        assert!(matches!(Run::parse("x", half), Err(Error::Empty { .. })));
    }

    #[test]
    fn times_that_nothing_takes_are_refused() {
        let mut row = docs_row();
        let parse = |row: &Measurement| {
            let line = serde_json::to_string(&Record::from(row.clone())).unwrap();
            Run::parse("x", &line)
        };
        assert!(parse(&row).is_ok());
        for time_ms in [0.0, -0.0, -1.0] {
            let set: [fn(&mut Measurement) -> &mut f64; 3] =
                [|row| &mut row.time_ms, |row| &mut row.time_ms_min, |row| &mut row.time_ms_max];
            for time in set {
                let mut wrong = row.clone();
                *time(&mut wrong) = time_ms;
                assert!(matches!(parse(&wrong), Err(Error::Time { line: 1, .. })), "{time_ms}");
            }
        }
        // There was nothing to compute.
        (row.k, row.time_ms) = (0, 0.0);
        assert!(parse(&row).is_ok());
    }

    #[test]
    fn tasks_that_end_before_they_begin_are_refused() {
        let line = |times: &str| {
            let text = format!(
                r#"{{"record": "timeline", "schema": 2, "device": "H200", "modelled": true, "class": "fp32", "m": 1, "n": 2, "k": 3, "gpus": 2,
                "scheme": "2x1 panels, 1x1 chunks", "iterations": 1, "lanes": [{{"rank": 0, "queue": "compute", "tasks": [
                {{"kind": "all_gather", "name": "AllGather", "start_us": 0, "end_us": 0}}, {{"kind": "product", "name": "p", {times}}}]}}],
                "date": "2026-05-04T03:02:01Z", "commit": "unknown"}}"#
            );
            Run::parse("x", &text.replace('\n', " "))
        };
        let run = line(r#""start_us": 1.5, "end_us": 3"#).unwrap();
        assert_eq!((run.timelines.len(), run.is_empty(), run.timelines[0].end_us()), (1, false, 3.0));
        for times in
            [r#""start_us": 3, "end_us": 1"#, r#""start_us": -1, "end_us": 1"#, r#""start_us": -2, "end_us": -1"#]
        {
            assert!(matches!(line(times), Err(Error::Time { line: 1, time_ms, .. }) if time_ms < 0.0), "{times}");
        }
        for times in [r#""start_us": 0, "end_us": 1e999"#, r#""start_us": null, "end_us": 1"#] {
            assert!(matches!(line(times), Err(Error::Line { line: 1, .. })), "{times}");
        }
    }

    /// A row that is published.
    fn docs_row() -> Measurement {
        let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/results"));
        Run::read(&Run::newest_in(folder).unwrap().unwrap()).unwrap().measurements.remove(0)
    }

    #[test]
    fn text_that_no_terminal_should_get_is_refused() {
        for device in [r"a\u001b[2J", r"a\nb", r"a\u202eb", &"x".repeat(100_000)] {
            let error = Run::parse("x", &line(device)).unwrap_err();
            assert!(matches!(error, Error::Line { line: 1, .. }), "{device}");
            let text = error.to_string();
            assert!(text.len() < 1000 && !text.contains(char::is_control), "{text}");
        }
        let error = Run::parse("x", r#"{"record": "\u001b[2J", "schema": 2}"#).unwrap_err().to_string();
        assert!(!error.contains(char::is_control), "{error}");
        let long = format!(r#"{{"record": "{}", "schema": 2}}"#, "x".repeat(1_000_000));
        assert!(Run::parse("x", &long).unwrap_err().to_string().len() < 1000);
    }

    #[test]
    fn what_several_gpus_did_is_kept_apart() {
        let text = include_str!("../../docs/results/2026-11-23-h200.jsonl");
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
