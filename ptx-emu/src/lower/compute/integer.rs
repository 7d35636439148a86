//! Integer arithmetic. PTX ISA, "Integer Arithmetic Instructions".

use super::{Compute, Opcode, Operands, Unsupported};
use crate::Type;
use crate::lanes::binary;

pub(super) fn add_sub(op: &Opcode<'_>, o: &Operands<'_>) -> Result<Compute, Unsupported> {
    let ty = op.ty(0)?;
    o.expect(3)?;
    let (d, a, b) = (o.dst(0, ty)?, o.src(1, ty)?, o.src(2, ty)?);
    Ok(match (op.name(), ty) {
        ("add", Type::U32 | Type::S32) => binary(d, (a, b), u32::wrapping_add),
        ("sub", Type::U32 | Type::S32) => binary(d, (a, b), u32::wrapping_sub),
        _ => return Err(Unsupported::new(format!("the type {ty} is not known here"))),
    })
}
