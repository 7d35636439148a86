//! How much memory a part of the syntax tree takes, in units of about a small operand: what inlining multiplies.

use crate::syntax::{AddressBase, Body, Operand, Statement, Symbol};

/// Bytes of a name that count as one.
const NAME_BYTES: usize = 32;

/// The size of what a body declares.
pub(super) fn of_declarations(body: &Body) -> usize {
    let registers = body.registers.iter().map(|register| of_name(&register.name));
    let variables = body.variables.iter().map(|variable| of_name(&variable.name) + variable.initial.len());
    registers.chain(variables).chain(body.labels.iter().map(|label| of_name(label))).sum()
}

/// The size of a statement.
pub(super) fn of_statement(statement: &Statement) -> usize {
    match statement {
        Statement::Label(_) => 1,
        Statement::BranchTargets { targets, .. } => 1 + targets.len(),
        Statement::Instruction(instruction) => {
            let opcode: usize = instruction.opcode.iter().map(|part| of_name(part)).sum();
            opcode + of_operands(&instruction.operands)
        }
    }
}

fn of_operands(operands: &[Operand]) -> usize {
    operands.iter().map(of_operand).sum()
}

fn of_operand(operand: &Operand) -> usize {
    match operand {
        Operand::Vector(operands) | Operand::List(operands) => 1 + of_operands(operands),
        Operand::Pair(one, other) => 1 + of_operand(one) + of_operand(other),
        Operand::Symbol { symbol, .. } => of_symbol(symbol),
        Operand::Address(address) => {
            let base = if let AddressBase::Symbol(symbol) = &address.base { of_symbol(symbol) } else { 1 };
            base + of_operands(&address.coordinates)
        }
        _ => 1,
    }
}

fn of_symbol(symbol: &Symbol) -> usize {
    if let Symbol::Module(name) = symbol { of_name(name) } else { 1 }
}

fn of_name(name: &str) -> usize {
    1 + name.len() / NAME_BYTES
}
