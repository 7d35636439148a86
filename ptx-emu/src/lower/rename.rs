//! Renames what an inlined body names: its registers, variables and labels get numbers of the body that it goes into.

use crate::syntax::{
    Address, AddressBase, Guard, Instruction, LabelId, Operand, RegisterId, Symbol, Variable, VariableId,
};
use crate::types::Space;

/// How one inlined body is renamed: offsets of its indices, and what replaces its parameters.
#[derive(Default)]
pub(super) struct Frame<'f> {
    pub(super) registers: u32,
    pub(super) variables: u32,
    pub(super) labels: u32,
    /// The caller's arguments; `None` in the kernel itself.
    pub(super) params: Option<&'f [Operand]>,
    pub(super) returns: &'f [Operand],
    /// Target of `ret`; `None` in the kernel itself.
    pub(super) end: Option<LabelId>,
}

impl Frame<'_> {
    pub(super) fn register(&self, id: RegisterId) -> RegisterId {
        RegisterId(self.registers + id.0)
    }

    pub(super) fn label(&self, id: LabelId) -> LabelId {
        LabelId(self.labels + id.0)
    }

    pub(super) fn instruction(&self, instruction: &Instruction) -> Instruction {
        Instruction {
            guard: instruction.guard.map(|guard| Guard { register: self.register(guard.register), ..guard }),
            opcode: instruction.opcode.clone(),
            operands: instruction.operands.iter().map(|operand| self.operand(operand)).collect(),
            line: instruction.line,
        }
    }

    /// `ret`: to the end of the inlined body, or out of the kernel.
    pub(super) fn ret(&self, instruction: Instruction) -> Instruction {
        match self.end {
            None => Instruction { opcode: vec!["exit".into()], ..instruction },
            Some(end) => Instruction { opcode: vec!["bra".into()], operands: vec![Operand::Label(end)], ..instruction },
        }
    }

    fn operand(&self, operand: &Operand) -> Operand {
        let all = |operands: &[Operand]| operands.iter().map(|operand| self.operand(operand)).collect();
        match operand {
            Operand::Register(id) => Operand::Register(self.register(*id)),
            Operand::Not(id) => Operand::Not(self.register(*id)),
            Operand::Label(id) => Operand::Label(self.label(*id)),
            Operand::Vector(operands) => Operand::Vector(all(operands)),
            Operand::List(operands) => Operand::List(all(operands)),
            Operand::Pair(a, b) => Operand::Pair(Box::new(self.operand(a)), Box::new(self.operand(b))),
            Operand::Symbol { symbol, offset } => {
                let (symbol, more) = self.symbol(symbol);
                Operand::Symbol { symbol, offset: offset + more }
            }
            Operand::Address(address) => {
                let (base, more) = match &address.base {
                    AddressBase::Register(id) => (AddressBase::Register(self.register(*id)), 0),
                    AddressBase::Immediate => (AddressBase::Immediate, 0),
                    AddressBase::Symbol(symbol) => {
                        let (symbol, more) = self.symbol(symbol);
                        (AddressBase::Symbol(symbol), more)
                    }
                };
                let coordinates = all(&address.coordinates);
                Operand::Address(Address { base, offset: address.offset + more, coordinates })
            }
            Operand::Special(_) | Operand::Integer(_) | Operand::Single(_) | Operand::Double(_) | Operand::Sink => {
                operand.clone()
            }
        }
    }

    /// The symbol in the flattened body, and an offset in bytes.
    fn symbol(&self, symbol: &Symbol) -> (Symbol, i64) {
        let passed = match (symbol, self.params) {
            (Symbol::Local(id), _) => return (Symbol::Local(VariableId(self.variables + id.0)), 0),
            (Symbol::Param(index), Some(params)) => params.get(*index),
            (Symbol::Return(index), Some(_)) => self.returns.get(*index),
            _ => None,
        };
        match passed {
            Some(Operand::Symbol { symbol, offset }) => (symbol.clone(), *offset),
            _ => (symbol.clone(), 0),
        }
    }
}

/// Variables that carry parameters of calls belong to the thread, as local ones do.
pub(super) fn local_param(variable: Variable) -> Variable {
    let space = if variable.space == Space::Param { Space::Local } else { variable.space };
    Variable { space, ..variable }
}
