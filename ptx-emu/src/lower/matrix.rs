//! `ldmatrix`, `stmatrix` and `movmatrix`. PTX ISA, "Warp-level Matrix Load Instruction", "Warp-level Matrix Store Instruction" and
//! "Warp-level Matrix Transpose Instruction".

use super::Unsupported;
use super::access::take_space;
use super::opcode::Opcode;
use super::operands::Operands;
use crate::program::{Action, Fragments, Matrices, Transpose};
use crate::syntax::Operand;
use crate::types::{Space, Type};

pub(super) fn lower(op: &Opcode<'_>, o: &Operands<'_>) -> Result<Option<Action>, Unsupported> {
    if op.name() == "movmatrix" {
        return transpose(op, o).map(Some);
    }
    let is_store = op.name() == "stmatrix";
    if !is_store && op.name() != "ldmatrix" {
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
        return Err(Unsupported::new("matrices are in shared memory"));
    }
    o.expect(2)?;
    let operands = match o.get(usize::from(is_store))? {
        Operand::Vector(operands) => operands.as_slice(),
        operand => std::slice::from_ref(operand),
    };
    if operands.len() != count {
        return Err(Unsupported::new(format!("{count} registers are expected, {} are there", operands.len())));
    }
    let registers = operands.iter().map(|operand| match is_store {
        true => o.src_of(operand, Type::B32),
        false => o.dst_of(operand, Type::B32),
    });
    let registers = registers.collect::<Result<_, _>>()?;
    let address = o.address(usize::from(!is_store))?.0;
    Ok(Some(Action::Matrices(Box::new(Matrices { is_store, space, address, registers, transposed }))))
}

/// `movmatrix.sync.aligned.m8n8.trans.b16 d, a`
fn transpose(op: &Opcode<'_>, o: &Operands<'_>) -> Result<Action, Unsupported> {
    if !["sync", "aligned", "m8n8", "trans"].into_iter().all(|part| op.take(part)) || op.ty(0)? != Type::B16 {
        return Err(Unsupported::new("only .sync.aligned.m8n8.trans.b16 is known"));
    }
    o.expect(2)?;
    let (to, from) = (o.dst(0, Type::B32)?, o.src(1, Type::B32)?);
    Ok(Action::Fragments(Box::new(Fragments::Transpose(Transpose { from, to }))))
}
