//! Runs PTX on the CPU.
#![forbid(unsafe_code)]

mod lanes;
mod lower;
mod ops;
mod registers;
mod special;
pub mod syntax;
mod types;

pub use types::{Space, Type};
