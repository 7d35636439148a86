//! What is measured: kernels beside cuBLAS, their errors, shapes in bulk, what the emulator counts of them, and which one is the fastest where.

pub mod accuracy;
pub mod bench;
pub mod explain;
pub mod kernels;
mod measurement;
mod probes;
mod rows;
pub mod shapes;
pub mod sizes;
pub mod tables;
pub mod together;
pub mod tune;
