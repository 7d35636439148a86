//! `wgmma`. PTX ISA, "Asynchronous Warpgroup Level Matrix Instructions".

use super::Unsupported;
use super::opcode::Opcode;
use super::operands::Operands;
use crate::lanes::Slot;
use crate::ops::tensor_core::Format;
use crate::program::{Action, Mma, MmaOperand, Wgmma};
use crate::syntax::Operand;
use crate::types::Type;

pub(super) fn lower(op: &Opcode<'_>, o: &Operands<'_>) -> Result<Option<Action>, Unsupported> {
    if op.name() != "wgmma" {
        return Ok(None);
    }
    let parts = ["fence", "commit_group", "wait_group", "mma_async"];
    let name =
        op.take_first(&parts).ok_or_else(|| Unsupported::new("fence, commit_group, wait_group or mma_async?"))?;
    if !op.take("sync") || !op.take("aligned") {
        return Err(Unsupported::new(".sync.aligned is missing"));
    }
    let action = match name {
        "fence" => {
            o.expect(0)?;
            Wgmma::Fence
        }
        "commit_group" => {
            o.expect(0)?;
            Wgmma::Commit
        }
        "wait_group" => {
            o.expect(1)?;
            Wgmma::Wait(u32::try_from(o.integer(0)?).unwrap_or(u32::MAX))
        }
        _ => Wgmma::Mma(multiply(op, o)?),
    };
    Ok(Some(Action::Wgmma(Box::new(action))))
}

/// `wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {d}, a or {a}, b, scale-d, scale-a, scale-b{, trans-a}{, trans-b}`
fn multiply(op: &Opcode<'_>, o: &Operands<'_>) -> Result<Mma, Unsupported> {
    let format = match op.types() {
        [Type::F32, Type::F16, Type::F16] => Format::F16,
        [Type::F32, Type::Bf16, Type::Bf16] => Format::Bf16,
        [Type::F32, Type::Tf32, Type::Tf32] => Format::Tf32,
        _ => return Err(Unsupported::new("only .f32 from .f16, .bf16 and .tf32 is known")),
    };
    let columns = columns(op, format)?;
    let d = vector(o, 0, columns / 2)?;
    let from_registers = matches!(o.get(1)?, Operand::Vector(_));
    let is_narrow = format != Format::Tf32;
    // Only 16-bit matrices in shared memory have a transpose operand.
    let sides = if is_narrow { 2 - usize::from(from_registers) } else { 0 };
    o.expect(6 + sides)?;
    let is_transposed = |index: usize| match o.integer(index)? {
        0 => Ok(false),
        1 => Ok(true),
        other => Err(Unsupported::new(format!("{other} as a transpose operand; it is 0 or 1"))),
    };
    let a = if from_registers {
        MmaOperand::Registers(vector(o, 1, 4)?)
    } else {
        let is_transposed = if is_narrow { is_transposed(6)? } else { false };
        MmaOperand::Shared { descriptor: o.src(1, Type::B64)?, is_transposed }
    };
    let b_is_transposed = if is_narrow { is_transposed(5 + sides)? } else { false };
    let negates = |index: usize| match o.integer(index)? {
        1 => Ok(false),
        u64::MAX => Ok(true),
        other => Err(Unsupported::new(format!("a scale of {}; it is 1 or -1", other.cast_signed()))),
    };
    Ok(Mma {
        format,
        columns,
        d,
        a,
        b: o.src(2, Type::B64)?,
        b_is_transposed,
        accumulate: o.pred(3)?,
        negate: negates(4)? != negates(5)?,
    })
}

/// N of the shape m64nNkK.
fn columns(op: &Opcode<'_>, format: Format) -> Result<u32, Unsupported> {
    let shape = op.take_if(|part| part.starts_with("m64n")).unwrap_or_default();
    let depth = format!("k{}", format.depth());
    let columns = shape.strip_prefix("m64n").and_then(|rest| rest.strip_suffix(&depth)).and_then(|n| n.parse().ok());
    columns
        .filter(|n| (8..=256).contains(n) && n % 8 == 0)
        .ok_or_else(|| Unsupported::new(format!("the shape is m64n8{depth} to m64n256{depth}")))
}

/// The registers of a vector of `count`.
fn vector(o: &Operands<'_>, index: usize, count: u32) -> Result<Box<[Slot]>, Unsupported> {
    match o.get(index)? {
        Operand::Vector(operands) if operands.len() == count as usize => {
            operands.iter().map(|operand| o.src_of(operand, Type::B32)).collect()
        }
        _ => Err(Unsupported::new(format!("{count} registers are expected"))),
    }
}
