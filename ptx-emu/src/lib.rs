//! Runs PTX on the CPU.
#![forbid(unsafe_code)]

mod lanes;
mod lower;
mod memory;
mod program;
mod registers;
mod special;
pub mod syntax;
mod types;

pub use memory::{GlobalMemory, Pointer};
pub use types::{Space, Type};
