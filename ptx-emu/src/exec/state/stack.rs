//! The calls that a thread is in.

use crate::lanes::Registers;
use crate::program::{Function, Pc, Saved};

/// Bytes that a call takes on the stack beside its frame: where it returns to.
const RETURN_BYTES: usize = 16;

/// A thread's stack: its frames lie in local memory, what a callee must not destroy lies here.
#[derive(Debug, Default, Clone)]
pub(crate) struct Stack {
    pub calls: Vec<Called>,
    /// Registers of the callers, by words.
    saved: Vec<u32>,
    /// Where the function's frame begins, and where the next one may, in local memory.
    pub base: u32,
    pub top: u32,
}

/// One call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Called {
    /// The instruction, and which of [`Program::functions`](crate::program::Program::functions) it called.
    pub pc: Pc,
    pub function: usize,
    /// Those of the caller's frame.
    base: u32,
    top: u32,
}

impl Stack {
    /// No calls, on a stack that begins at that address.
    pub(crate) fn start(&mut self, stack: u32) {
        self.calls.clear();
        self.saved.clear();
        (self.base, self.top) = (stack, stack);
    }

    /// Bytes in use, on a stack that begins at that address.
    pub(crate) fn bytes(&self, start: u32) -> usize {
        (self.top - start) as usize + 4 * self.saved.len() + RETURN_BYTES * self.calls.len()
    }

    /// A call: saves the lane's registers, and makes room for the frame.
    pub(crate) fn push(
        &mut self,
        (pc, index): (Pc, usize),
        function: &Function,
        saved: &Saved,
        registers: &Registers,
        lane: usize,
    ) {
        self.calls.push(Called { pc, function: index, base: self.base, top: self.top });
        for &(slot, rows) in &saved.rows {
            self.saved.extend(registers.words(slot, rows, lane));
        }
        self.saved.extend(saved.predicates.iter().map(|slot| registers.predicates[slot.0 as usize] >> lane & 1));
        self.base = self.top.next_multiple_of(function.align);
        self.top = self.base + function.frame_bytes;
    }

    /// The return from the last call, which saved these registers.
    pub(crate) fn pop(&mut self, saved: &Saved, registers: &mut Registers, lane: usize) {
        let Some(Called { base, top, .. }) = self.calls.pop() else { return };
        for slot in saved.predicates.iter().rev() {
            registers.set_predicate(*slot, self.saved.pop().unwrap_or_default() << lane, 1 << lane);
        }
        for &(slot, rows) in saved.rows.iter().rev() {
            let words = self.saved.split_off(self.saved.len() - rows as usize);
            registers.set_words(slot, &words, lane);
        }
        (self.base, self.top) = (base, top);
    }
}
