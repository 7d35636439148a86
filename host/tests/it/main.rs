//! The program as its users see it, in one executable.

mod accuracy;
mod choosing;
mod cli;
#[cfg(target_os = "linux")]
mod driver;
#[cfg(unix)]
mod interrupt;
mod options;
mod output;
mod program;
mod readme;
mod together;
