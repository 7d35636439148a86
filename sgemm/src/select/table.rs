//! What a device was found to do: the constants of its kernels, and the fastest kernel of some shapes.

mod format;

use std::sync::LazyLock;

use gpu_kernels::Step;

use super::{Cost, Memory, guess};
use crate::{AccuracyClass, Device, Error, Problem};

/// A table that is built in.
struct BuiltIn {
    /// The compute capability of its device.
    capability: (u32, u32),
    /// The name of its file, for the tests.
    #[cfg_attr(not(test), expect(dead_code))]
    file: &'static str,
    text: &'static str,
}

/// The tables that are built in: those of an H100 and an H200 were measured, the others are of times that the emulator models. Whoever tunes for another
/// device adds its file here.
const BUILT_IN: [BuiltIn; 6] = [
    BuiltIn { capability: (8, 0), file: "nvidia-a100-80gb.txt", text: include_str!("tables/nvidia-a100-80gb.txt") },
    BuiltIn { capability: (10, 0), file: "nvidia-b200.txt", text: include_str!("tables/nvidia-b200.txt") },
    BuiltIn {
        capability: (8, 6),
        file: "nvidia-geforce-rtx-3090.txt",
        text: include_str!("tables/nvidia-geforce-rtx-3090.txt"),
    },
    BuiltIn {
        capability: (8, 9),
        file: "nvidia-geforce-rtx-4090.txt",
        text: include_str!("tables/nvidia-geforce-rtx-4090.txt"),
    },
    BuiltIn {
        capability: (9, 0),
        file: "nvidia-h100-80gb-hbm3.txt",
        text: include_str!("tables/nvidia-h100-80gb-hbm3.txt"),
    },
    BuiltIn { capability: (9, 0), file: "nvidia-h200.txt", text: include_str!("tables/nvidia-h200.txt") },
];

/// What a device was found to do.
///
/// ```
/// use sgemm::select::Table;
///
/// let text = "
///     device = Test GPU
///     driver = 580
///     cublas =
///     date   = 2026-05-04T03:02:01Z
///     commit = unknown
///     how    = by hand
///     memory = 1.5 3000 4300
///     vectorized 2 2.5 0.5 0.7 0.5 1.0 0.0 5000 0.25 0 -0.1 0 0 0.2 0 0 0 yes
///     2048 2048 2048 fp32-strict vectorized";
/// let table = Table::parse(text)?;
/// assert_eq!((table.costs[0].1.start, table.entries[0].shape), (2.5, [2048; 3]));
/// assert_eq!(Table::parse(&table.to_text())?, table);
/// # Ok::<(), sgemm::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// Where and how it came about.
    pub header: Header,
    /// Its memory.
    pub memory: Memory,
    /// Kernels and their constants.
    pub costs: Vec<(&'static Step, Cost)>,
    /// The fastest kernels of some shapes, in the order of their classes and sizes.
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
    /// When it was written: UTC, RFC 3339.
    pub date: String,
    /// The commit of the program that measured.
    pub commit: String,
    /// How the times were taken.
    pub how: String,
}

/// What was the fastest for one shape: row-major matrices without gaps, one problem, no epilogue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// m, n and k.
    pub shape: [u32; 3],
    /// What it meets.
    pub class: AccuracyClass,
    /// The kernel.
    pub step: &'static Step,
}

impl Table {
    /// The built-in table of a device: its own, or that of one of the same compute capability, or else a guess.
    #[must_use]
    pub fn of(device: &Device) -> &'static Self {
        static TABLES: LazyLock<Vec<((u32, u32), Table)>> = LazyLock::new(|| {
            let parse = |built_in: &BuiltIn| Some((built_in.capability, Table::parse(built_in.text).ok()?));
            BUILT_IN.iter().filter_map(parse).collect()
        });
        static GUESS: LazyLock<Table> = LazyLock::new(Table::guess);
        let own = TABLES.iter().find(|(_, table)| table.header.device == device.name);
        let alike = || TABLES.iter().find(|(capability, _)| *capability == device.compute_capability);
        own.or_else(alike).map_or(&*GUESS, |(_, table)| table)
    }

    /// For a device of which nothing is known.
    #[must_use]
    pub fn guess() -> Self {
        let header = Header { how: "a guess from the sizes of tiles".into(), ..Header::default() };
        Self { header, memory: guess::MEMORY, costs: guess::costs(), entries: Vec::new() }
    }

    /// The tables that are built in, or why one of them cannot be read.
    pub fn built_in() -> impl Iterator<Item = Result<Self, Error>> {
        BUILT_IN.iter().map(|built_in| Self::parse(built_in.text))
    }

    /// Reads a table: what [`Self::to_text`] writes.
    ///
    /// # Errors
    /// [`Error::BadTable`] where the text is none, or names a kernel that there is not.
    pub fn parse(text: &str) -> Result<Self, Error> {
        format::parse(text)
    }

    /// The table as a file.
    #[must_use]
    pub fn to_text(&self) -> String {
        format::write(self)
    }

    /// What was the fastest for just this problem, in its class.
    pub(super) fn measured(&self, problem: &Problem) -> Option<&'static Step> {
        let shape = problem.plain_shape()?;
        let is_wanted = |entry: &&Entry| entry.shape == shape && entry.class == problem.class;
        self.entries.iter().find(is_wanted).map(|entry| entry.step)
    }
}

#[cfg(test)]
mod tests;
