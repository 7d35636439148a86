//! Measurements as rows, and rows as a table, JSON or CSV.
//!
//! ```
//! use host::backend::{BackendChoice, Options, open};
//! use host::measure::bench::{Timing, compare};
//! use host::measure::kernels;
//! use host::{Kernel, Problem, output};
//! use results::Run;
//!
//! let mut backend = open(BackendChoice::Emulator, Options::default())?.backend;
//! let kernels = [Kernel::Step(kernels::find("coalesced")?)];
//! let timing = Timing { warmup: 0, iterations: None };
//! let comparison = compare(&mut *backend, &kernels, &Problem::new(32, 32, 32)?, timing, &mut |_| {})?;
//!
//! let table = output::table(&comparison); // for people
//! assert!(table.contains("modelled TFLOPS") && table.contains("coalesced"));
//! let lines = output::json_lines(&comparison.rows); // for programs: what the crate `results` reads
//! assert_eq!(Run::parse("example", &lines).unwrap().measurements, comparison.rows);
//! let csv = output::csv(&comparison.rows, true); // for spreadsheets
//! assert!(csv.lines().count() == 2 && csv.starts_with("schema,kernel,"));
//! # Ok::<(), host::Error>(())
//! ```

mod accuracy;
mod csv;
mod explanation;
mod json;
mod records;
mod shapes;
mod table;
mod terminal;
mod timeline;
mod together;

pub use accuracy::{accuracy, accuracy_summary};
pub use csv::csv;
pub use explanation::{counters, explanation};
pub use json::{explanation_json, json_lines};
pub use records::Format;
pub(crate) use records::Records;
pub use results::Measurement as Row;
pub use shapes::shapes;
pub use table::table;
use terminal::JsonFile;
pub(crate) use terminal::{complain, print, print_clap, reader_has_gone};
pub(crate) use timeline::draw_timeline;
pub use together::together;
