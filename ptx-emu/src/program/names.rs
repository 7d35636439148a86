//! What the instructions of a program are called in its text, for traces.

use crate::lanes::{PredSlot, Slot};
use crate::types::{Space, Type};

/// Registers and variables by name, and each instruction's use of them.
#[derive(Debug, Default)]
pub(crate) struct Names {
    pub registers: Vec<NamedRegister>,
    pub variables: Vec<NamedVariable>,
    /// The registers that instructions read and write, one instruction after the other.
    pub operands: Vec<u32>,
    /// By instruction, where its reads and its writes end there.
    pub ends: Vec<(u32, u32)>,
}

/// A register, and where its value is while it is live.
#[derive(Debug)]
pub(crate) struct NamedRegister {
    pub name: Box<str>,
    pub ty: Type,
    pub home: Home,
}

/// Where a register's value is.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Home {
    /// First row, and rows.
    Rows(Slot, u32),
    Predicate(PredSlot),
}

/// A variable in memory.
#[derive(Debug)]
pub(crate) struct NamedVariable {
    pub name: Box<str>,
    pub space: Space,
    pub address: u64,
    pub bytes: u64,
}

impl Names {
    /// The registers that an instruction reads.
    pub(crate) fn reads(&self, pc: usize) -> &[u32] {
        let from = pc.checked_sub(1).and_then(|before| self.ends.get(before)).map_or(0, |(_, writes)| *writes);
        self.ends.get(pc).map_or(&[], |(reads, _)| &self.operands[from as usize..*reads as usize])
    }

    /// Those that it writes.
    pub(crate) fn writes(&self, pc: usize) -> &[u32] {
        self.ends.get(pc).map_or(&[], |(reads, writes)| &self.operands[*reads as usize..*writes as usize])
    }
}
