//! Parses PTX text to a [`Module`]: names resolved to their declarations, instructions as written.

mod ast;
mod body;
mod constants;
mod cursor;
mod declarations;
mod functions;
mod globals;
mod initial;
mod lexer;
mod operands;
mod parser;
mod scope;
mod source;

pub use ast::{
    Address, AddressBase, Body, Function, FunctionKind, Guard, Initial, Instruction, LabelId, LaunchBounds, Module,
    Operand, Param, Register, RegisterId, Statement, Symbol, Variable, VariableId,
};
pub use source::{Frame, SourceMap};

/// A syntax error.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {message}")]
pub struct SyntaxError {
    /// Counted from 1.
    pub line: u32,
    /// What is wrong, and with what.
    pub message: String,
}

impl SyntaxError {
    fn new(line: u32, message: impl Into<String>) -> Self {
        Self { line, message: message.into() }
    }
}

/// Reads a translation unit.
///
/// # Errors
/// Where the text is no PTX, or has something that the emulator does not know: the first such place.
pub fn parse(text: &str) -> Result<Module, SyntaxError> {
    parser::parse(text)
}

/// Like [`parse`], from bytes that may end with the NUL that the CUDA driver wants.
///
/// # Errors
/// Those of [`parse`], and where the bytes are not UTF-8.
pub fn parse_bytes(bytes: &[u8]) -> Result<Module, SyntaxError> {
    let text = str::from_utf8(bytes).map_err(|error| {
        let before = &bytes[..error.valid_up_to()];
        let line = before.iter().filter(|byte| **byte == b'\n').count() as u32 + 1;
        SyntaxError::new(line, "the text is not UTF-8")
    })?;
    parse(text.trim_end_matches('\0'))
}
