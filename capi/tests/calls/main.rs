//! C's functions, called from Rust: on the emulator, and on a GPU where there is one.

mod gpu;
mod misuse;
mod results;
mod support;
