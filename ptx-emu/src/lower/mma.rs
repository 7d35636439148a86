//! `mma`. PTX ISA, "Warp-level Matrix Multiply-Accumulate Instructions: mma".

use super::Unsupported;
use super::opcode::Opcode;
use super::operands::Operands;
use super::wgmma::vector;
use crate::ops::tensor_core::Format;
use crate::program::{Action, WarpMma};
use crate::types::Type;

/// `mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {d}, {a}, {b}, {c}`
pub(super) fn lower(op: &Opcode<'_>, o: &Operands<'_>) -> Result<Option<Action>, Unsupported> {
    if op.name() != "mma" {
        return Ok(None);
    }
    let format = match op.types() {
        [Type::F32, Type::F16, Type::F16, Type::F32] => Format::F16,
        [Type::F32, Type::Bf16, Type::Bf16, Type::F32] => Format::Bf16,
        _ => return Err(Unsupported::new("only .f32 from .f16 and .bf16 is known")),
    };
    if !["sync", "aligned", "m16n8k16", "row", "col"].into_iter().all(|part| op.take(part)) {
        return Err(Unsupported::new("only .sync.aligned.m16n8k16.row.col is known"));
    }
    o.expect(4)?;
    let [d, a, b, c] = [vector(o, 0, 4)?, vector(o, 1, 4)?, vector(o, 2, 2)?, vector(o, 3, 4)?];
    Ok(Some(Action::WarpMma(Box::new(WarpMma { format, d, a, b, c }))))
}
