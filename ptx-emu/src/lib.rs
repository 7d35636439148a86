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
//!
//! # Tests of a kernel
//!
//! A test launches a kernel, and asserts on what it computed, on the findings, and on the counters: here that each request to global memory
//! touches the 4 sectors of 32 consecutive words, and that no lanes conflict in a bank of shared memory.
//!
//! ```
//! use ptx_emu::{Error, GlobalMemory, Launch, Module, Report};
//!
//! const REVERSE: &str = "
//!     .version 7.0
//!     .target sm_80
//!     .address_size 64
//!     .visible .entry reverse(.param .u64 data)
//!     {
//!         .reg .b32 %r<6>;
//!         .reg .b64 %rd<4>;
//!         .shared .align 4 .b8 tile[4096];
//!         ld.param.u64 %rd1, [data];
//!         mov.u32 %r1, %tid.x;
//!         mul.wide.u32 %rd2, %r1, 4;
//!         add.s64 %rd3, %rd1, %rd2;
//!         ld.global.u32 %r2, [%rd3];
//!         shl.b32 %r3, %r1, 2;
//!         mov.u32 %r4, tile;
//!         add.s32 %r3, %r3, %r4;
//!         st.shared.u32 [%r3], %r2;
//!         bar.sync 0;
//!         xor.b32 %r3, %r3, 124;
//!         ld.shared.u32 %r5, [%r3];
//!         st.global.u32 [%rd3], %r5;
//!         ret;
//!     }";
//!
//! fn reverse(text: &str) -> Result<(Report, Vec<u32>), Error> {
//!     let mut memory = GlobalMemory::default();
//!     let data = memory.allocate_words(0..32);
//!     let launch = Launch::new([1, 1, 1], [32, 1, 1]).argument(data.to_le_bytes());
//!     let report = Module::parse(text)?.kernel("reverse")?.launch(&mut memory, &launch)?;
//!     Ok((report, memory.free(data).unwrap_or_default()))
//! }
//!
//! let (report, result) = reverse(REVERSE)?;
//! assert_eq!(result, (0..32).rev().collect::<Vec<_>>());
//! assert_eq!(report.failures().map(ToString::to_string).collect::<Vec<_>>(), [""; 0]);
//! let counters = &report.counters;
//! assert!(counters.global_loads.sectors <= 4 * counters.global_loads.requests);
//! assert_eq!(counters.shared_stores.wavefronts, counters.shared_stores.requests);
//!
//! // The same test notices what goes wrong: words that are 128 bytes apart are all in one bank.
//! let (report, _) = reverse(&REVERSE.replace("%r1, 2;", "%r1, 7;").replace("124", "3968"))?;
//! assert_eq!(report.counters.shared_stores.wavefronts, 32 * report.counters.shared_stores.requests);
//! # Ok::<(), Error>(())
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
    AddressMode, Filter, GlobalMemory, Label, Layering, Pointer, Swizzle, TensorMap, TensorMapError, Texture,
    TextureArray, TextureError, VariableInfo,
};
pub use model::{device, occupancy};
pub use program::ParamInfo;
pub use types::{Space, Type};

/// What the tensor cores compute, without a kernel.
pub mod tensor_core {
    pub use crate::ops::tensor_core::{Format, k_step};
}
