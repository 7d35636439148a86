//! Runs PTX on the CPU.
#![forbid(unsafe_code)]

pub mod syntax;
mod types;

pub use types::{Space, Type};
