//! What was found to be fastest: a table for each device, measured by [`crate::tune`], read by `auto`.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::LazyLock;

use gpu_kernels::Step;
use serde::Deserialize;

use crate::backend::Device;
use crate::{Error, Problem, Promise};

/// The tables that are built in: `(file, text)`.
const BUILT_IN: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/tuned.rs"));

/// Beyond this size, a larger one makes no difference any more.
const LARGEST: u32 = 8192;

/// How much further away, squared, a shape is for each operand whose rows are aligned differently: one whose rows are not
/// has to be copied first.
const MISALIGNED: f64 = 4.0;

/// A shape whose distance squared is larger than this has nothing in common: 3 in one dimension, that is 8 times.
const FAR: f64 = 9.0;

/// The promise that lines without a precision are of.
const UNNAMED: Promise = Promise::Fp32Strict;

/// The fastest kernels of one device, by shape.
///
/// ```
/// use host::Problem;
/// use host::tuned::Table;
///
/// let text = r#"
///     device = "Test GPU"
///     driver = "580"
///     cublas = ""
///     date = "2026-05-04T03:02:01Z"
///     commit = "unknown"
///     how = "by hand"
///     shapes = [
///         { m = 64, n = 64, k = 64, kernel = "coalesced", ms = 0.005 },
///         { m = 2048, n = 2048, k = 2048, kernel = "vectorized", ms = 0.5 },
///     ]"#;
/// let table = Table::parse(text, "example.toml")?;
/// let (entry, step) = table.nearest(&Problem::new(1000, 2000, 3000)?, |entry| Some(entry.first.step)).expect("one is near");
/// assert_eq!((entry.shape, step.slug), ([2048; 3], "vectorized"));
/// assert_eq!(Table::parse(&table.to_text(), "itself")?, table);
/// # Ok::<(), host::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// Where and how it came about.
    pub header: Header,
    /// One for each shape and promise: squares first, then in the order of m, n, k.
    pub entries: Vec<Entry>,
}

/// Where and how a table came about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// The device's name as the driver gives it.
    pub device: String,
    /// The driver's version.
    pub driver: String,
    /// cuBLAS's version; empty where it was not there.
    pub cublas: String,
    /// When it was last written: UTC, RFC 3339.
    pub date: String,
    /// The commit of the program that wrote it last.
    pub commit: String,
    /// How the times were taken.
    pub how: String,
}

/// What is fastest for one shape, with rows without gaps.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Entry {
    /// Rows of A and C, columns of B and C, columns of A.
    pub shape: [u32; 3],
    /// What all of these keep.
    pub promise: Promise,
    /// The fastest.
    pub first: Timed,
    /// The runner-up.
    pub second: Option<Timed>,
    /// The fastest of the step `autotuned` and its variants.
    pub autotuned: Option<Timed>,
    /// What cuBLAS took, in milliseconds.
    pub cublas_ms: Option<f64>,
}

/// A step or variant, and its median time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Timed {
    /// The step or variant.
    pub step: &'static Step,
    /// In milliseconds.
    pub ms: f64,
}

/// The keys of a kernel and of its time.
const NAMES: [(&str, &str); 3] = [("kernel", "ms"), ("second", "second_ms"), ("autotuned", "autotuned_ms")];

/// The file, as TOML has it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    device: String,
    driver: String,
    cublas: String,
    date: String,
    commit: String,
    how: String,
    shapes: Vec<Line>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    m: u32,
    n: u32,
    k: u32,
    precision: Option<String>,
    kernel: String,
    ms: f64,
    second: Option<String>,
    second_ms: Option<f64>,
    autotuned: Option<String>,
    autotuned_ms: Option<f64>,
    cublas_ms: Option<f64>,
}

impl Table {
    /// The built-in table of the device.
    #[must_use]
    pub fn of(device: &Device) -> Option<&'static Self> {
        static TABLES: LazyLock<Vec<Table>> =
            LazyLock::new(|| BUILT_IN.iter().filter_map(|(name, text)| Table::parse(text, name).ok()).collect());
        TABLES.iter().find(|table| table.header.device == device.name)
    }

    /// Reads a table. `name` is the file's, for errors.
    ///
    /// # Errors
    /// [`Error::BadTable`] where the text is none, names a kernel that there is not, or has a shape without a size or time.
    pub fn parse(text: &str, name: &str) -> Result<Self, Error> {
        let bad = |reason: String| Error::BadTable { path: name.into(), reason };
        let File { device, driver, cublas, date, commit, how, shapes } = toml::from_str(text).map_err(|error| {
            let line = error.span().map_or(0, |span| text[..span.start].lines().count().max(1));
            bad(format!("line {line}: {}", error.message().lines().collect::<Vec<_>>().join(" ")))
        })?;
        let entry = |line: Line| line.entry().map_err(bad);
        let mut entries = shapes.into_iter().map(entry).collect::<Result<Vec<_>, _>>()?;
        sort(&mut entries);
        Ok(Self { header: Header { device, driver, cublas, date, commit, how }, entries })
    }

    /// Reads a file.
    ///
    /// # Errors
    /// [`Error::BadTable`] where it cannot be read, or as [`Self::parse`].
    pub fn from_file(path: &Path) -> Result<Self, Error> {
        let name = path.display().to_string();
        let text = std::fs::read_to_string(path)
            .map_err(|error| Error::BadTable { path: name.clone(), reason: error.to_string() })?;
        Self::parse(&text, &name)
    }

    /// The tables that are built in, or why one of them cannot be read.
    pub fn built_in() -> impl Iterator<Item = Result<Self, Error>> {
        BUILT_IN.iter().map(|(name, text)| Self::parse(text, name))
    }

    /// Puts an entry in its place, instead of one of the same shape and promise.
    pub fn insert(&mut self, entry: Entry) {
        self.entries.retain(|old| (old.shape, old.promise) != (entry.shape, entry.promise));
        self.entries.push(entry);
        sort(&mut self.entries);
    }

    /// The entry of the nearest shape, of those that `wanted` finds something in; `None` where all are far away.
    #[must_use]
    pub fn nearest<T>(&self, problem: &Problem, wanted: impl Fn(&Entry) -> Option<T>) -> Option<(&Entry, T)> {
        let found = self.entries.iter().filter_map(|entry| Some((entry, wanted(entry)?)));
        let (distance, entry, found) = found
            .map(|(entry, found)| (entry.distance(problem), entry, found))
            .min_by(|(one, ..), (other, ..)| one.total_cmp(other))?;
        (distance <= FAR).then_some((entry, found))
    }

    /// The table as a file: what [`Self::parse`] reads.
    #[must_use]
    pub fn to_text(&self) -> String {
        let Header { device, driver, cublas, date, commit, how } = &self.header;
        let mut text =
            "# The fastest kernel of each shape, by which `auto` chooses. Written by `cargo xtask tune`.\n".to_owned();
        let fields = [
            ("device", device),
            ("driver", driver),
            ("cublas", cublas),
            ("date", date),
            ("commit", commit),
            ("how", how),
        ];
        for (name, value) in fields {
            let _ = writeln!(text, "{name} = {}", toml::Value::String(value.clone()));
        }
        let timed = |entry: &Entry| [Some(entry.first), entry.second, entry.autotuned];
        let slugs = self.entries.iter().flat_map(timed).flatten().map(|timed| timed.step.slug.len());
        // With its quotes and the comma.
        let width = slugs.max().unwrap_or(0) + 3;
        text += "# Times in milliseconds.\nshapes = [\n";
        for entry in &self.entries {
            let [m, n, _] = entry.shape.map(|size| format!("{size},"));
            let mut fields = vec![format!("  {{ m = {m:6}n = {n:6}k = {}", entry.shape[2])];
            if entry.promise != UNNAMED {
                fields.push(format!("precision = \"{}\"", entry.promise.name()));
            }
            for ((name, time), timed) in NAMES.into_iter().zip(timed(entry)) {
                let quoted = |step: &Step| format!("\"{}\",", step.slug);
                fields.extend(
                    timed.map(|Timed { step, ms }| format!("{name} = {:width$}{time} = {ms:.5}", quoted(step))),
                );
            }
            fields.extend(entry.cublas_ms.map(|ms| format!("cublas_ms = {ms:.5}")));
            let _ = writeln!(text, "{} }},", fields.join(", "));
        }
        text + "]\n"
    }
}

impl Line {
    fn entry(self) -> Result<Entry, String> {
        let Self { m, n, k, precision, kernel, ms, second, second_ms, autotuned, autotuned_ms, cublas_ms } = self;
        let shape = format!("{m}x{n}x{k}");
        if m == 0 || n == 0 || k == 0 {
            return Err(format!("{shape}: a size is 0"));
        }
        let timed = |slug: &str, ms: f64| {
            let step = gpu_kernels::find(slug).ok_or_else(|| format!("{shape}: there is no kernel '{slug}'"))?;
            let is_time = ms.is_finite() && ms > 0.0;
            if is_time { Ok(Timed { step, ms }) } else { Err(format!("{shape}: {ms} is no time")) }
        };
        let promise = match precision {
            Some(name) => Promise::find(&name).ok_or_else(|| format!("{shape}: there is no precision '{name}'"))?,
            None => UNNAMED,
        };
        let optional = |slug: Option<String>, ms: Option<f64>| match (slug, ms) {
            (None, None) => Ok(None),
            (Some(slug), Some(ms)) => timed(&slug, ms).map(Some),
            _ => Err(format!("{shape}: a kernel without its time, or a time without its kernel")),
        };
        Ok(Entry {
            shape: [m, n, k],
            promise,
            first: timed(&kernel, ms)?,
            second: optional(second, second_ms)?,
            autotuned: optional(autotuned, autotuned_ms)?,
            cublas_ms,
        })
    }
}

impl Entry {
    /// How far the problem is from this shape: the distance squared of the logarithms (base 2) of their sizes.
    fn distance(&self, problem: &Problem) -> f64 {
        let [_, n, k] = self.shape;
        let log = |size: u32| f64::from(size.clamp(1, LARGEST)).log2();
        let sizes = self.shape.into_iter().zip([problem.m, problem.n, problem.k]);
        let apart: f64 = sizes.map(|(own, other)| (log(own) - log(other)).powi(2)).sum();
        let misaligned = [(k, problem.lda), (n, problem.ldb)]
            .into_iter()
            .filter(|(own, other)| own.is_multiple_of(4) != other.is_multiple_of(4))
            .count();
        apart + MISALIGNED * misaligned as f64
    }
}

/// Squares first, then by their sizes.
fn sort(entries: &mut [Entry]) {
    entries.sort_by_key(|entry| {
        let [m, n, k] = entry.shape;
        let promise = Promise::ALL.iter().position(|promise| *promise == entry.promise);
        (m != n || n != k, entry.shape, promise)
    });
}

#[cfg(test)]
mod tests;
