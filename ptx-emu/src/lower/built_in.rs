//! Functions that the device has and no module defines: calls of them become instructions of our own.

use super::Unsupported;
use super::calls::address_of;
use super::flatten::Flattener;
use crate::syntax::{Instruction, Operand, Register, RegisterId};
use crate::types::Type;

/// Those behind CUDA's `assert` and `printf`.
pub(super) const ASSERTFAIL: &str = "__assertfail";
pub(super) const VPRINTF: &str = "vprintf";

/// Those of the heap.
pub(super) const MALLOC: &str = "malloc";
pub(super) const FREE: &str = "free";

impl Flattener<'_> {
    /// Whether `name` is one of them; its call is then in the body.
    pub(super) fn built_in(
        &mut self,
        call: &Instruction,
        name: &str,
        returns: &[Operand],
        params: &[Operand],
    ) -> Result<bool, Unsupported> {
        if self.calls.functions.get(name).is_some_and(|function| function.body.is_some()) {
            return Ok(false);
        }
        match (name, params, returns) {
            (ASSERTFAIL, [message, file, line, function, _], []) => {
                let texts = [message, file, function].map(|text| self.value(call, text, Type::U64));
                let line = self.value(call, line, Type::U32);
                self.push(call.line, call.guard, &[ASSERTFAIL], [&texts[..], &[line]].concat());
            }
            (VPRINTF, [format, arguments], [count]) => {
                let operands = [format, arguments].map(|address| self.value(call, address, Type::U64));
                self.push(call.line, call.guard, &[VPRINTF], operands.into());
                self.give_back(call, count, Type::B32, Operand::Integer(0));
            }
            (MALLOC, [bytes], [address]) => {
                let (bytes, result) = (self.value(call, bytes, Type::U64), self.new_register(Type::U64));
                self.push(call.line, call.guard, &[MALLOC], vec![result.clone(), bytes]);
                self.give_back(call, address, Type::U64, result);
            }
            (FREE, [address], []) => {
                let address = self.value(call, address, Type::U64);
                self.push(call.line, call.guard, &[FREE], vec![address]);
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// The value of an argument.
    fn value(&mut self, call: &Instruction, argument: &Operand, ty: Type) -> Operand {
        let Operand::Symbol { symbol, offset } = argument else { return argument.clone() };
        let register = self.new_register(ty);
        let operands = vec![register.clone(), address_of(symbol, *offset)];
        self.push(call.line, call.guard, &["ld", "param", ty.name()], operands);
        register
    }

    /// Moves a result to where the call wants it.
    fn give_back(&mut self, call: &Instruction, to: &Operand, ty: Type, result: Operand) {
        match to {
            Operand::Symbol { symbol, offset } => {
                let operands = vec![address_of(symbol, *offset), result];
                self.push(call.line, call.guard, &["st", "param", ty.name()], operands);
            }
            register => self.push(call.line, call.guard, &["mov", ty.name()], vec![register.clone(), result]),
        }
    }

    fn new_register(&mut self, ty: Type) -> Operand {
        self.out.body.registers.push(Register { name: "result".into(), ty });
        Operand::Register(RegisterId(self.out.body.registers.len() as u32 - 1))
    }
}
