//! Instructions that know nothing but registers: arithmetic, logic, comparisons, conversions, moves, and what lanes tell
//! each other. One file per family; each turns an opcode into a function of one lane.

mod integer;

use super::Unsupported;
use super::opcode::Opcode;
use super::operands::Operands;
use crate::lanes::Compute;

/// What the instruction does; `None` where it is none of this kind.
pub(crate) fn lower(op: &Opcode<'_>, o: &Operands<'_>) -> Result<Option<Compute>, Unsupported> {
    let compute = match op.name() {
        "add" | "sub" => integer::add_sub(op, o)?,
        _ => return Ok(None),
    };
    op.finish()?;
    Ok(Some(compute))
}
