//! Calls of functions that are not inlined: those that call themselves, or that pointers lead to.

use super::Pc;
use super::memory::AddressExpr;
use crate::lanes::{PredSlot, Slot};

/// A function.
pub(crate) struct Function {
    pub name: String,
    /// Its index among the module's functions, which its address tells.
    pub index: usize,
    pub entry: Pc,
    /// Bytes of its frame in local memory, and their alignment.
    pub frame_bytes: u32,
    pub align: u32,
    /// Offset in the frame and bytes of each parameter and of each result.
    pub params: Box<[(u32, u32)]>,
    pub returns: Box<[(u32, u32)]>,
}

/// A call.
pub(crate) struct Call {
    pub target: Target,
    pub params: Box<[Passed]>,
    pub returns: Box<[Passed]>,
    pub saved: Saved,
}

/// What is called.
pub(crate) enum Target {
    /// One of [`Program::functions`](super::Program::functions).
    Function(usize),
    /// The function at the address in each lane.
    Pointer(Slot),
}

/// A variable of the caller, in local memory, that holds a parameter or takes a result.
pub(crate) struct Passed {
    pub address: AddressExpr,
    pub bytes: u32,
}

/// The registers that the caller uses after the call: first row and rows. The callee may have others in their place.
#[derive(Default)]
pub(crate) struct Saved {
    pub rows: Box<[(Slot, u32)]>,
    pub predicates: Box<[PredSlot]>,
}

impl Saved {
    /// Bytes that they take for a lane.
    pub(crate) fn bytes(&self) -> usize {
        let words: u32 = self.rows.iter().map(|(_, rows)| rows).sum();
        4 * (words as usize + self.predicates.len())
    }
}
