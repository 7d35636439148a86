//! PTX text becomes a [`Module`]: names resolved to their declarations, instructions still as written.

mod ast;

pub use ast::{
    Address, AddressBase, Body, Function, FunctionKind, Guard, Initial, Instruction, LabelId, LaunchBounds, Module,
    Operand, Param, Register, RegisterId, Statement, Symbol, Variable, VariableId,
};

/// Why a text is no PTX that can be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {message}")]
pub struct SyntaxError {
    /// Counted from 1.
    pub line: u32,
    /// What is wrong, and with what.
    pub message: String,
}
