//! A launch as it was executed, instruction by instruction: what a debugger shows.
//!
//! [`Kernel::trace`](crate::Kernel::trace) runs a small launch on one thread, in the same order as a launch with `threads: 1`, and
//! records each instruction of each warp. A [`State`] has the registers and the memory before any step, and goes both ways.
//!
//! ```
//! use ptx_emu::trace::State;
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
//! let data = memory.allocate_words(0..32);
//! let launch = Launch::new([1, 1, 1], [32, 1, 1]).argument(data.to_le_bytes());
//! let (trace, report) = module.kernel("double")?.trace(&mut memory, &launch, 1000)?;
//! assert!(report.is_clean() && !trace.truncated && trace.steps.len() == 8);
//!
//! let (index, access) = trace.last_global_write(trace.steps.len(), data + 4 * 5, 4).expect("it was written");
//! let step = &trace.steps[index];
//! assert_eq!((step.line, access.after_at(5)), (14, &10u32.to_le_bytes()[..]));
//!
//! let mut state = State::new(&trace);
//! state.seek(&trace, index);
//! let register = trace.register_named("%r3").expect("the kernel names it");
//! assert_eq!(state.register(step.warp, register, 5), Some(10));
//! assert_eq!(state.global(data + 4 * 5, 4).as_deref(), Some(&5u32.to_le_bytes()[..])); // not yet written
//! state.seek(&trace, index + 1);
//! assert_eq!(state.global(data + 4 * 5, 4).as_deref(), Some(&10u32.to_le_bytes()[..]));
//! # Ok::<(), ptx_emu::Error>(())
//! ```

mod registers;
mod state;
mod step;

use std::collections::HashMap;

pub(crate) use registers::RegisterFile;
pub use state::State;
pub use step::{Access, AccessKind, AsyncCopy, CopyKind, Event, Place, RegisterWrite, Step, WarpId};

use crate::launch::BlockIndex;
use crate::types::{Space, Type};

/// A launch as it was executed.
#[derive(Debug, Clone)]
pub struct Trace {
    /// What was executed, in order.
    pub steps: Vec<Step>,
    /// Whether there was more than the limit allowed: the launch was stopped then.
    pub truncated: bool,
    /// The kernel's instructions, calls inlined.
    pub instructions: Vec<Instruction>,
    /// The kernel's registers. Inlined functions have their own, so that a name may be there several times.
    pub registers: Vec<Register>,
    /// Variables in shared and local memory, and those of the module that the kernel names.
    pub variables: Vec<Variable>,
    /// Blocks of the grid, by dimension.
    pub grid: [u32; 3],
    /// Threads of a block, by dimension.
    pub block: [u32; 3],
    /// Blocks of a cluster, by dimension.
    pub cluster: [u32; 3],
    /// Shared memory of a block, in bytes, dynamic included.
    pub shared_bytes: u32,
    /// Local memory of a thread, in bytes.
    pub local_bytes: u32,
    /// Global memory before the launch: allocations by address, the module's variables included.
    pub global: Vec<Region>,
    /// The steps of each warp, in ascending order.
    by_warp: HashMap<WarpId, Vec<usize>>,
}

/// An instruction of the kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instruction {
    /// The line of the PTX, counted from 1; several instructions may share one, as calls that are inlined.
    pub line: u32,
    /// Its opcode, such as `ld.shared.v4.f32`.
    pub mnemonic: Box<str>,
    /// Registers that it reads, its guard included: indices in [`Trace::registers`].
    pub reads: Box<[u32]>,
    /// Registers that it writes.
    pub writes: Box<[u32]>,
}

/// A register of the kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Register {
    /// Its name, such as `%r5`.
    pub name: Box<str>,
    /// Its type.
    pub ty: Type,
}

/// A variable in memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variable {
    /// Its name.
    pub name: Box<str>,
    /// Its state space.
    pub space: Space,
    /// Its address there.
    pub address: u64,
    /// Its size; 0 for dynamic shared memory.
    pub bytes: u64,
}

/// Contiguous bytes of global memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Region {
    /// The address of the first.
    pub base: u64,
    /// The bytes.
    pub bytes: Vec<u8>,
}

/// What a trace has besides its steps.
#[derive(Debug, Default)]
pub(crate) struct Description {
    pub instructions: Vec<Instruction>,
    pub registers: Vec<Register>,
    pub variables: Vec<Variable>,
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub cluster: [u32; 3],
    pub shared_bytes: u32,
    pub local_bytes: u32,
    pub global: Vec<Region>,
}

impl Trace {
    pub(crate) fn new(steps: Vec<Step>, truncated: bool, description: Description) -> Self {
        let mut by_warp: HashMap<WarpId, Vec<usize>> = HashMap::new();
        for (index, step) in steps.iter().enumerate() {
            by_warp.entry(step.warp).or_default().push(index);
        }
        let Description { instructions, registers, variables, grid, block, cluster, shared_bytes, local_bytes, global } =
            description;
        Self {
            steps,
            truncated,
            instructions,
            registers,
            variables,
            grid,
            block,
            cluster,
            shared_bytes,
            local_bytes,
            global,
            by_warp,
        }
    }

    /// Threads of a block.
    #[must_use]
    pub fn threads(&self) -> u32 {
        self.block.iter().product()
    }

    /// The warps that have steps, by block and index.
    #[must_use]
    pub fn warps(&self) -> Vec<WarpId> {
        let mut warps: Vec<_> = self.by_warp.keys().copied().collect();
        warps.sort_unstable_by_key(|WarpId { block: [x, y, z], warp }| (*z, *y, *x, *warp));
        warps
    }

    /// The indices of a warp's steps, in ascending order.
    #[must_use]
    pub fn steps_of(&self, warp: WarpId) -> &[usize] {
        self.by_warp.get(&warp).map_or(&[], Vec::as_slice)
    }

    /// The warp's first step from `position` on.
    #[must_use]
    pub fn next_of(&self, warp: WarpId, position: usize) -> Option<usize> {
        let steps = self.steps_of(warp);
        steps.get(steps.partition_point(|step| *step < position)).copied()
    }

    /// The warp's last step before `position`.
    #[must_use]
    pub fn previous_of(&self, warp: WarpId, position: usize) -> Option<usize> {
        let steps = self.steps_of(warp);
        steps.partition_point(|step| *step < position).checked_sub(1).map(|index| steps[index])
    }

    /// The index of the register of that name; of several, the first: see [`Trace::registers`].
    #[must_use]
    pub fn register_named(&self, name: &str) -> Option<u32> {
        self.registers.iter().position(|register| &*register.name == name).map(|index| index as u32)
    }

    /// The last write before step `position` to any of `bytes` bytes of global memory, and its step.
    #[must_use]
    pub fn last_global_write(&self, position: usize, address: u64, bytes: u32) -> Option<(usize, &Access)> {
        self.last_write(position, |access| access.space == Space::Global && access.touches(address, bytes))
    }

    /// The last write before step `position` to any of `bytes` bytes of a block's shared memory, and its step.
    #[must_use]
    pub fn last_shared_write(
        &self,
        position: usize,
        block: BlockIndex,
        offset: u64,
        bytes: u32,
    ) -> Option<(usize, &Access)> {
        let is_it = |access: &Access| access.space == Space::Shared && access.block == block;
        self.last_write(position, |access| is_it(access) && access.touches(offset, bytes))
    }

    fn last_write(&self, position: usize, is_it: impl Fn(&Access) -> bool) -> Option<(usize, &Access)> {
        let before = self.steps.iter().enumerate().take(position).rev();
        before.into_iter().find_map(|(index, step)| {
            let access = step.accesses.iter().rev().find(|access| access.writes() && is_it(access))?;
            Some((index, access))
        })
    }
}

impl Access {
    /// Whether one of its places has one of `bytes` bytes from `address` on; of which space and block is for the caller to compare.
    #[must_use]
    pub fn touches(&self, address: u64, bytes: u32) -> bool {
        let end = address.saturating_add(bytes.into());
        let touches = |place: &Place| place.address < end && address < place.address.saturating_add(self.bytes.into());
        self.places.iter().any(touches)
    }
}
