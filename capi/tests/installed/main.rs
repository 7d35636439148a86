//! The library as it is installed: programs in C and C++, and the Python package.

#![cfg(target_os = "linux")]

mod prefix;
mod programs;
mod python;
