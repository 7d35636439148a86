//! From the syntax tree to what an executor runs.

mod compute;
mod layout;
mod opcode;
mod operands;

pub(crate) use compute::Outcome;

/// Why an instruction cannot be lowered; the line and the instruction are added where they are known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unsupported {
    pub reason: String,
}

impl Unsupported {
    pub(crate) fn new(reason: impl Into<String>) -> Self {
        Self { reason: reason.into() }
    }
}
