//! Matrices that a warp loads together: `ldmatrix`. PTX ISA, "Warp-level Matrix Load Instruction".

use super::Unsupported;
use super::access::take_space;
use super::opcode::Opcode;
use super::operands::Operands;
use crate::program::{Action, LoadMatrix};
use crate::syntax::Operand;
use crate::{Space, Type};

pub(super) fn lower(op: &Opcode<'_>, o: &Operands<'_>) -> Result<Option<Action>, Unsupported> {
    if op.name() != "ldmatrix" {
        return Ok(None);
    }
    let is_known = op.take("sync") && op.take("aligned") && op.take("m8n8") && op.ty(0)? == Type::B16;
    if !is_known {
        return Err(Unsupported::new("only matrices of 8 x 8 elements of 16 bits are known"));
    }
    let count = match op.take_first(&["x1", "x2", "x4"]) {
        Some("x1") => 1,
        Some("x2") => 2,
        Some(_) => 4,
        None => return Err(Unsupported::new("x1, x2 or x4?")),
    };
    let transposed = op.take("trans");
    let space = take_space(op);
    if !matches!(space, Space::Shared | Space::Generic) {
        return Err(Unsupported::new("matrices are loaded from shared memory"));
    }
    o.expect(2)?;
    let operands = match o.get(0)? {
        Operand::Vector(operands) => operands.as_slice(),
        operand => std::slice::from_ref(operand),
    };
    if operands.len() != count {
        return Err(Unsupported::new(format!("{count} registers are expected, {} are there", operands.len())));
    }
    let registers = operands.iter().map(|operand| o.dst_of(operand, Type::B32)).collect::<Result<_, _>>()?;
    let address = o.address(1)?.0;
    Ok(Some(Action::LoadMatrix(Box::new(LoadMatrix { space, address, registers, transposed }))))
}
