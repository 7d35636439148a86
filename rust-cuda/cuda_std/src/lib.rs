//! What a kernel needs beside `core`: its place in the grid, barriers, shared memory, shuffles, fused arithmetic.
//!
//! The names and signatures are those of Rust CUDA's `cuda_std`; the implementation is for rustc's own NVPTX backend
//! and for `cuda_builder`, which gives shared memory its address space. Every function runs on the GPU only; on the
//! host they compile, so that a crate of kernels can be checked, documented and read there, and panic when called.
#![no_std]
#![cfg_attr(target_arch = "nvptx64", feature(core_intrinsics, link_llvm_intrinsics, stdarch_nvptx))]
#![cfg_attr(target_arch = "nvptx64", allow(internal_features))]

mod float;
pub mod shared;
pub mod thread;
pub mod warp;

pub use cuda_std_macros::{address_space, gpu_only, kernel};
pub use float::GpuFloat;

/// What a file of kernels usually wants in scope.
pub mod prelude {
    pub use crate::{GpuFloat, address_space, kernel, shared, thread, warp};
    pub use core::mem::MaybeUninit;
}
