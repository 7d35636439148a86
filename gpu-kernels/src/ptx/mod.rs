//! PTX instructions that neither `core` nor `cuda_std` has, each with its section of the PTX ISA.

pub(crate) mod cp_async;
pub(crate) mod packed;
pub(crate) mod read_only;
