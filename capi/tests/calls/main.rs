//! C's functions, called from Rust: on the emulator, on a GPU where there is one, and on the emulated driver.

mod driver;
mod gpu;
mod misuse;
mod results;
mod support;
