//! What was found to be fastest: a table for each device, by which [`super::choose`] looks up.

mod format;

use std::sync::LazyLock;

use gpu_kernels::Step;

use crate::{AccuracyClass, Error, Product};

/// The tables that are built in: `(file, text)`. Whoever tunes for another device adds its file here.
const BUILT_IN: [(&str, &str); 1] = [("nvidia-h200.txt", include_str!("tables/nvidia-h200.txt"))];

/// Beyond this size, a larger one makes no difference any more.
const LARGEST: u32 = 8192;

/// How much further away, squared, a shape is for each operand whose rows are aligned differently: one whose rows are not
/// has to be copied first.
const MISALIGNED: f64 = 4.0;

/// A shape whose distance squared is larger than this has nothing in common: 3 in one dimension, that is 8 times.
const FAR: f64 = 9.0;

/// The fastest kernels of one device, by shape.
///
/// ```
/// use sgemm::Product;
/// use sgemm::select::Table;
///
/// let text = "
///     device = Test GPU
///     driver = 580
///     cublas =
///     date   = 2026-05-04T03:02:01Z
///     commit = unknown
///     how    = by hand
///     64     64   64 fp32-strict coalesced  0.005 -       -   - - -
///     2048 2048 2048 fp32-strict vectorized 0.5   1d-tiling 1.5 - - 0.25";
/// let table = Table::parse(text)?;
/// let (entry, step) = table.nearest(&Product::new(1000, 2000, 3000)?, |entry| Some(entry.first.step)).expect("one is near");
/// assert_eq!((entry.shape, step.slug), ([2048; 3], "vectorized"));
/// assert_eq!(Table::parse(&table.to_text())?, table);
/// # Ok::<(), sgemm::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// Where and how it came about.
    pub header: Header,
    /// One for each shape and class: squares first, then in the order of m, n, k.
    pub entries: Vec<Entry>,
}

/// Where and how a table came about.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
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
    /// What all of these meet.
    pub class: AccuracyClass,
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

impl Table {
    /// The built-in table of the device of that name.
    #[must_use]
    pub fn of(device: &str) -> Option<&'static Self> {
        static TABLES: LazyLock<Vec<Table>> = LazyLock::new(|| Table::built_in().filter_map(Result::ok).collect());
        TABLES.iter().find(|table| table.header.device == device)
    }

    /// The tables that are built in, or why one of them cannot be read.
    pub fn built_in() -> impl Iterator<Item = Result<Self, Error>> {
        BUILT_IN.iter().map(|(_, text)| Self::parse(text))
    }

    /// Reads a table: what [`Self::to_text`] writes.
    ///
    /// # Errors
    /// [`Error::BadTable`] where the text is none, names a kernel that there is not, or has a shape without a size or time.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let (header, mut entries) = format::parse(text)?;
        sort(&mut entries);
        Ok(Self { header, entries })
    }

    /// The table as a file: a line for each shape and class.
    #[must_use]
    pub fn to_text(&self) -> String {
        format::write(&self.header, &self.entries)
    }

    /// Puts an entry in its place, instead of one of the same shape and class.
    pub fn insert(&mut self, entry: Entry) {
        self.entries.retain(|old| (old.shape, old.class) != (entry.shape, entry.class));
        self.entries.push(entry);
        sort(&mut self.entries);
    }

    /// The entry of the nearest shape, of those that `wanted` finds something in; `None` where all are far away.
    #[must_use]
    pub fn nearest<T>(&self, product: &Product, wanted: impl Fn(&Entry) -> Option<T>) -> Option<(&Entry, T)> {
        let found = self.entries.iter().filter_map(|entry| Some((entry, wanted(entry)?)));
        let (distance, entry, found) = found
            .map(|(entry, found)| (entry.distance(product), entry, found))
            .min_by(|(one, ..), (other, ..)| one.total_cmp(other))?;
        (distance <= FAR).then_some((entry, found))
    }
}

impl Entry {
    /// How far the product is from this shape: the distance squared of the logarithms (base 2) of their sizes.
    fn distance(&self, product: &Product) -> f64 {
        let [_, n, k] = self.shape;
        let log = |size: u32| f64::from(size.clamp(1, LARGEST)).log2();
        let sizes = self.shape.into_iter().zip([product.m, product.n, product.k]);
        let apart: f64 = sizes.map(|(own, other)| (log(own) - log(other)).powi(2)).sum();
        let misaligned = [(k, product.lda), (n, product.ldb)]
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
        let class = AccuracyClass::ALL.iter().position(|class| *class == entry.class);
        (m != n || n != k, entry.shape, class)
    });
}

#[cfg(test)]
mod tests;
