//! C's functions: called from Rust, on the emulator, on a GPU where there is one, and on the emulated driver; and as they are installed, by
//! programs in C and C++, and by the Python package.

#![cfg(target_os = "linux")]

mod driver;
mod gpu;
mod misuse;
mod prefix;
mod programs;
mod python;
mod results;
mod support;
