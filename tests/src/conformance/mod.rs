//! What the hardware makes of each instruction, recorded on an H200, and what the emulator must make of it.
//!
//! [`families`] is the table: for each instruction a [`Case`], from which [`ptx`] writes a kernel and [`inputs`] draws
//! rows of special and random values. [`device`] runs the kernels on a GPU, and [`data`] keeps inputs and outputs in
//! `ptx-emu/tests/conformance/*.bin`, one file per family. [`emulator`] runs the same kernels on the same inputs in
//! `ptx-emu`. The tests `emulator` and `device` compare; the latter also records.

mod cases;
pub mod data;
pub mod device;
pub mod emulator;
pub mod inputs;
mod kind;
pub mod ptx;
mod rng;
pub mod steps;

use std::path::PathBuf;

pub use cases::{UNRECORDED, families};
pub use kind::Kind;

/// Instructions to be run on many inputs.
#[derive(Debug, Clone)]
pub struct Case {
    /// What stands in reports and files: the opcode, or what the code shows.
    pub name: String,
    /// What the operands `%a`, `%b` and `%c` hold.
    pub args: Vec<Kind>,
    /// Bits of the results `%d`, `%e`, `%f` and `%g`; 1 for a predicate.
    pub results: Vec<u32>,
    /// The instructions.
    pub code: String,
}

/// Cases whose data are in one file.
#[derive(Debug, Clone)]
pub struct Family {
    /// The file's name, without its extension.
    pub name: &'static str,
    /// Its cases.
    pub cases: Vec<Case>,
}

/// Values of each result of a case, by row.
pub type Columns = Vec<Vec<u64>>;

/// Where the data files are.
#[must_use]
pub fn folder() -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "..", "ptx-emu", "tests", "conformance"].iter().collect()
}

/// A result's value out of the 8 bytes that a kernel wrote it to.
#[must_use]
pub fn masked(value: u64, bits: u32) -> u64 {
    value & (u64::MAX >> (64 - bits))
}
