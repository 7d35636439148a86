//! Runs PTX, the assembly language of NVIDIA GPUs, on the CPU: finds what is wrong with a kernel, counts what it does, and
//! predicts how long it would take on a GPU.
//!
//! A [`Module`] is read from text, a [`Kernel`] taken out of it, buffers put into a [`GlobalMemory`], and a [`Launch`]
//! run on them. The [`Report`] has what the checkers found and what was counted; [`model::predict`] makes a time of it.
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
mod cluster;
mod coalesce;
mod counters;
pub mod device;
mod exec;
mod finding;
mod kernel;
mod lanes;
mod lower;
mod memory;
pub mod model;
pub mod occupancy;
mod ops;
mod program;
mod registers;
mod sample;
mod special;
pub mod syntax;
mod tensor;
mod types;
mod waits;

pub use check::Checks;
pub use coalesce::SECTOR_BYTES;
pub use counters::{Class, Counters, GlobalCounters, LineCounters, SharedCounters, TensorCoreFmas};
pub use finding::{Finding, FindingKind, Thread};
pub use kernel::{Error, Kernel, Launch, MAX_SHARED_BYTES, MAX_THREADS, Module, Report};
pub use lower::LowerError;
pub use memory::{GlobalMemory, Pointer};
pub use program::ParamInfo;
pub use sample::{BlockIndex, Blocks, Grouping};
pub use tensor::{Swizzle, TensorMap, TensorMapError};
pub use types::{Space, Type};
pub use waits::Waits;
