//! PTX instructions that neither `core` nor `cuda_std` has, each with its section of the PTX ISA.

pub(crate) mod approximate;
pub(crate) mod barrier;
pub(crate) mod cluster;
pub(crate) mod compiler;
pub(crate) mod convert;
pub(crate) mod cp_async;
pub(crate) mod f32x4;
pub(crate) mod global;
pub(crate) mod griddepcontrol;
pub(crate) mod lanes;
pub(crate) mod matrix;
pub(crate) mod mbarrier;
pub(crate) mod mma;
pub(crate) mod packed;
pub(crate) mod read_only;
pub(crate) mod smem;
pub(crate) mod tensor;
pub(crate) mod wgmma;
