//! The CUDA driver API under `cust`: the bindings of `cudarc`, which load the driver at the first call.
//!
//! The released `cust_raw` 0.11.3 runs bindgen on the headers of an installed CUDA toolkit and links `libcuda` at build
//! time. This one takes its place by the `[patch]` in the workspace's manifest, so that `cust` builds on any machine, and
//! one binary runs with and without a driver. The first call panics where the driver's library, or one function of CUDA
//! 11.4 in it, is missing: ask for both beforehand, by the workspace's newer `cudarc`, which loads one function at a time.
//!
//! `cust` 0.3.2 matches exhaustively on the enums of CUDA 11.4, so these are the bindings of that version; what is newer
//! comes from the `cudarc` of the workspace. This crate can go when a release of `cust` loads the driver at run time.
#![no_std]

pub use cudarc::driver::sys::*;
