//! Runs PTX, the assembly language of NVIDIA GPUs, on the CPU: finds errors of a kernel, counts its instructions and memory
//! traffic, and predicts its time on a GPU.
//!
//! A [`Module`] is parsed from text. A [`Kernel`] of it runs with a [`Launch`] on a [`GlobalMemory`]. The [`Report`] has
//! the checkers' findings and the counters, from which [`model::predict`] computes a time.
//!
//! Layers, from the bottom: `syntax` parses, `lower` turns a kernel into a `program` of `ops` on the `lanes` of a warp,
//! `exec` runs it under the eyes of `check` and with `counters`, `model` predicts. A module uses only those below it.
//!
//! ```
//! use ptx_emu::{GlobalMemory, Launch, Module};
//!
//! let module = Module::parse(
//!     ".version 7.0
//!      .target sm_80
//!      .address_size 64
//!      .visible .entry double(.param .u64 data)
//!      {
//!          .reg .b32 %r<4>;
//!          .reg .b64 %rd<4>;
//!          ld.param.u64 %rd1, [data];
//!          mov.u32 %r1, %tid.x;
//!          mul.wide.u32 %rd2, %r1, 4;
//!          add.s64 %rd3, %rd1, %rd2;
//!          ld.global.u32 %r2, [%rd3];
//!          add.s32 %r3, %r2, %r2;
//!          st.global.u32 [%rd3], %r3;
//!          ret;
//!      }",
//! )?;
//! let mut memory = GlobalMemory::default();
//! let data = memory.allocate_words(0..64);
//! let launch = Launch::new([1, 1, 1], [64, 1, 1]).argument(data.to_le_bytes());
//! let report = module.kernel("double")?.launch(&mut memory, &launch)?;
//!
//! assert!(report.is_clean());
//! assert_eq!(report.counters.global_loads.sectors, 8); // 64 words are 8 sectors of 32 bytes
//! assert_eq!(memory.free(data).unwrap()[..4], [0, 2, 4, 6]);
//! # Ok::<(), ptx_emu::Error>(())
//! ```
#![forbid(unsafe_code)]

mod check;
mod counters;
mod exec;
mod finding;
mod kernel;
mod lanes;
mod launch;
mod lower;
mod memory;
pub mod model;
mod ops;
mod program;
pub mod spec;
pub mod syntax;
pub mod trace;
mod types;

pub use check::Checks;
pub use counters::{
    Class, Counters, GlobalCounters, LineCounters, SECTOR_BYTES, SharedCounters, TensorCoreFmas, Waits,
};
pub use finding::{Finding, FindingKind, Rank, Thread};
pub use kernel::{Error, Kernel, Module, Report};
pub use launch::{BlockIndex, Blocks, Grouping, Launch, MAX_SHARED_BYTES, MAX_THREADS};
pub use lower::LowerError;
pub use memory::{
    AddressMode, Filter, GlobalMemory, Pointer, Swizzle, TensorMap, TensorMapError, Texture, TextureArray, TextureError,
};
pub use model::{device, occupancy};
pub use program::ParamInfo;
pub use types::{Space, Type};

/// What the tensor cores compute, without a kernel.
pub mod tensor_core {
    pub use crate::ops::tensor_core::{Format, k_step};
}
