//! The program as its users see it, in one executable.

mod accuracy;
mod choosing;
mod cli;
#[cfg(unix)]
mod interrupt;
mod options;
mod output;
mod program;
mod readme;
mod together;
