//! Places of variables: in shared memory, in a thread's local memory, and in the frames of functions.

use std::collections::HashSet;

use super::flatten::Flat;
use super::{LowerError, names};
use crate::syntax::{Module, Variable};
use crate::types::Space;

/// Memory that a block's variables, or a thread's, may take.
const MAX_STATIC_SHARED_BYTES: u64 = 256 << 10;
const MAX_LOCAL_BYTES: u64 = 512 << 10;

/// Local memory of a thread for the frames of the functions that it is in, in bytes.
pub(super) const STACK_BYTES: u32 = 32 << 10;

/// Special registers with the places of what the driver reserves of a block's shared memory, in which cooperative groups of
/// several warps synchronise; and its bytes.
pub(super) const RESERVED: &str = "reserved_smem_offset_";
pub(super) const RESERVED_BYTES: u64 = 1 << 10;

/// Alignment of a stack.
const STACK_ALIGN: u32 = 128;

/// Addresses of the variables of a block or a thread.
#[derive(Default)]
pub(super) struct Variables {
    /// By `VariableId`.
    pub addresses: Vec<u64>,
    pub spaces: Vec<Space>,
    /// `.shared` variables of the module.
    pub module: Vec<(String, (Space, u64))>,
    pub shared_bytes: u32,
    pub dynamic_shared_offset: u32,
    /// The kernel's own local memory.
    pub local_bytes: u32,
    /// Bytes and alignment of each function's frame.
    pub frames: Vec<(u32, u32)>,
    has_stack: bool,
    /// What the driver reserves of shared memory, and initialises.
    pub reserved: std::ops::Range<usize>,
}

impl Variables {
    pub(super) fn new(
        module: &Module,
        Flat { body, functions }: &Flat,
        names: &HashSet<&str>,
    ) -> Result<Self, LowerError> {
        let mut variables = Self::default();
        let (mut shared, mut local) = (0u64, 0u64);
        let is_static = |variable: &Variable| variable.space == Space::Shared && variable.bytes > 0;
        let mut frames: Vec<(u64, u32)> = functions.iter().map(|_| (0, 16)).collect();
        for (id, variable) in body.variables.iter().enumerate() {
            let next = functions.partition_point(|function| function.variables.end <= id);
            let frame = functions.get(next).filter(|function| function.variables.contains(&id)).map(|_| next);
            let end = match (variable.space, frame) {
                (Space::Shared, _) if is_static(variable) => &mut shared,
                (Space::Local, None) => &mut local,
                (Space::Local, Some(frame)) => {
                    let (end, align) = &mut frames[frame];
                    *align = variable.align.max(*align);
                    end
                }
                (Space::Shared, _) => {
                    variables.push(Space::Shared, u64::MAX);
                    continue;
                }
                (space, _) => {
                    return Err(LowerError::of_variable(variable, format!("a .{space} variable in a body")));
                }
            };
            let address = allocate(end, variable);
            variables.push(variable.space, address);
        }
        // Variables that only other kernels name are not part of this one.
        let is_here = |variable: &&Variable| variable.space == Space::Shared && names.contains(variable.name.as_str());
        let of_module = || module.variables.iter().filter(is_here);
        for variable in of_module().filter(|variable| is_static(variable)) {
            let address = allocate(&mut shared, variable);
            variables.module.push((variable.name.clone(), (Space::Shared, address)));
        }
        if names::reads_special(body, RESERVED) {
            let start = shared.next_multiple_of(RESERVED_BYTES);
            shared = start + RESERVED_BYTES;
            variables.reserved = start as usize..shared as usize;
            let at = |offset: u64| (Space::Shared, start + offset);
            let places = [("begin", 0), ("0", 0), ("1", RESERVED_BYTES / 2), ("end", RESERVED_BYTES)];
            variables.module.extend(places.map(|(name, offset)| (format!("{RESERVED}{name}"), at(offset))));
        }
        let dynamic = || of_module().chain(&body.variables).filter(|v| v.space == Space::Shared && v.bytes == 0);
        let align = dynamic().map(|variable| variable.align).max().unwrap_or(16).max(16);
        let start = shared.next_multiple_of(align.into());
        for variable in of_module().filter(|variable| variable.bytes == 0) {
            variables.module.push((variable.name.clone(), (Space::Shared, start)));
        }
        variables.addresses.iter_mut().filter(|address| **address == u64::MAX).for_each(|address| *address = start);
        let frame = frames.iter().map(|(bytes, _)| *bytes).max().unwrap_or_default();
        if shared > MAX_STATIC_SHARED_BYTES || local.max(frame) > MAX_LOCAL_BYTES {
            let local = local.max(frame);
            let reason = format!("{shared} bytes of shared and {local} of local memory are more than there are");
            return Err(LowerError { line: 0, instruction: "variables".into(), reason });
        }
        (variables.shared_bytes, variables.dynamic_shared_offset) = (shared as u32, start as u32);
        variables.local_bytes = local as u32;
        variables.has_stack = !functions.is_empty() || names::has_opcode(body, "alloca");
        variables.frames = frames.into_iter().map(|(bytes, align)| (bytes as u32, align)).collect();
        Ok(variables)
    }

    /// Where the stack begins, if a thread has one, and the bytes of its local memory with that.
    pub(super) fn stack(&self) -> (u32, u32) {
        let start = self.local_bytes.next_multiple_of(STACK_ALIGN);
        if self.has_stack { (start, start + STACK_BYTES) } else { (self.local_bytes, self.local_bytes) }
    }

    fn push(&mut self, space: Space, address: u64) {
        self.addresses.push(address);
        self.spaces.push(space);
    }
}

fn allocate(end: &mut u64, variable: &Variable) -> u64 {
    let address = end.next_multiple_of(variable.align.max(1).into());
    *end = address.saturating_add(variable.bytes).min(1 << 40);
    address
}
