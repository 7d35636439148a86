//! The tests across crates, in one executable: each would link everything again. What takes a registry's tests, or a device, is in
//! `emulator`, `device` and `browser`.

mod accuracy;
mod addresses;
mod adversary;
mod agree;
mod barriers;
mod contract;
mod counters;
mod grading;
mod mutants;
mod noticed;
mod overflow;
mod paths;
mod ptx;
mod public_kernels;
mod registry;
mod report;
mod sample;
#[path = "../../../sgemm/examples/scale.rs"]
#[allow(dead_code, reason = "the example prints what is tested here")]
mod scale;
mod scaling;
mod shared_memory;
mod streams;
mod timed;
