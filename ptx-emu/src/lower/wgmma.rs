//! `wgmma`. PTX ISA, "Asynchronous Warpgroup Level Matrix Instructions".

use super::Unsupported;
use super::mma::{accumulator, integer8, metadata, no_such_types, take_shape};
use super::opcode::Opcode;
use super::operands::Operands;
use crate::lanes::Slot;
use crate::ops::tensor_core::Format;
use crate::ops::warp_mma::BitProduct;
use crate::program::sparse::Groups;
use crate::program::{Accumulator, Action, Arithmetic, Mma, MmaOperand, MmaShape, Wgmma};
use crate::syntax::Operand;
use crate::types::Type;

/// Rows of an MMA, and bits of a row of A.
const ROWS: usize = 64;
const BITS_OF_A_ROW: usize = 256;

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

/// `wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {d}, a or {a}, b, scale-d, scale-a, scale-b{, trans-a}{, trans-b}`; behind `b`
/// the metadata and their selector if A is sparse; integers have no scale-a and scale-b.
fn multiply(op: &Opcode<'_>, o: &Operands<'_>) -> Result<Mma, Unsupported> {
    let is_sparse = op.take("sp");
    let arithmetic = arithmetic(op)?;
    let bits = arithmetic.element_bits();
    let shape = shape(op, MmaShape { m: ROWS, n: 0, k: BITS_OF_A_ROW / bits * if is_sparse { 2 } else { 1 } })?;
    let is_f16 = matches!(arithmetic, Arithmetic::Fused { d: Accumulator::F16, .. });
    let d = vector(o, 0, shape.n / if is_f16 { 4 } else { 2 })?;
    let from_registers = matches!(o.get(1)?, Operand::Vector(_));
    let has_scales = matches!(arithmetic, Arithmetic::Fused { .. });
    // Only 16-bit matrices in shared memory have a transpose operand.
    let sides = if bits == 16 { 2 - usize::from(from_registers) } else { 0 };
    let scale_d = if is_sparse { 5 } else { 3 };
    let scales = scale_d + 1;
    let first_side = scales + if has_scales { 2 } else { 0 };
    o.expect(first_side + sides)?;
    let is_transposed = |index: usize| match o.integer(index)? {
        0 => Ok(false),
        1 => Ok(true),
        other => Err(Unsupported::new(format!("{other} as a transpose operand; it is 0 or 1"))),
    };
    let a = if from_registers {
        MmaOperand::Registers(vector(o, 1, 4)?)
    } else {
        let is_transposed = if sides > 0 { is_transposed(first_side)? } else { false };
        MmaOperand::Shared { descriptor: o.src(1, Type::B64)?, is_transposed }
    };
    let b_is_transposed = if sides > 0 { is_transposed(first_side + sides - 1)? } else { false };
    let negates = |index: usize| match o.integer(index)? {
        1 => Ok(false),
        u64::MAX => Ok(true),
        other => Err(Unsupported::new(format!("a scale of {}; it is 1 or -1", other.cast_signed()))),
    };
    let sparse = if is_sparse { Some(metadata(o, 3, Groups::new(bits, shape.k), true)?) } else { None };
    Ok(Mma {
        arithmetic,
        sparse,
        shape,
        d,
        a,
        b: o.src(2, Type::B64)?,
        b_is_transposed,
        accumulate: o.pred(scale_d)?,
        negate: has_scales && negates(scales)? != negates(scales + 1)?,
    })
}

fn arithmetic(op: &Opcode<'_>) -> Result<Arithmetic, Unsupported> {
    if op.take_first(&["b1"]).is_some() && op.take("b1") {
        return match (op.types(), op.take("and") && op.take("popc")) {
            ([Type::S32], true) => Ok(Arithmetic::Bits(BitProduct::And)),
            _ => Err(Unsupported::new("of .b1, only .s32.b1.b1.and.popc is known")),
        };
    }
    let saturates = op.take("satfinite");
    let unknown = || no_such_types(op);
    let [d, a, b] = *op.types() else { return Err(unknown()) };
    if let ([Some(a), Some(b)], Type::S32) = ([a, b].map(integer8), d) {
        return Ok(Arithmetic::Integer { a, b, saturates });
    }
    if saturates {
        return Err(Unsupported::new(".satfinite is known for integers only"));
    }
    let d = accumulator(d).ok_or_else(unknown)?;
    let formats = match ([a, b], d) {
        ([Type::F16, Type::F16], _) => [Format::F16; 2],
        ([Type::Bf16, Type::Bf16], Accumulator::F32) => [Format::Bf16; 2],
        ([Type::Tf32, Type::Tf32], Accumulator::F32) => [Format::Tf32; 2],
        (types, _) => {
            let [a, b] = types.map(|ty| match ty {
                Type::E4m3 => Some(Format::E4m3),
                Type::E5m2 => Some(Format::E5m2),
                _ => None,
            });
            [a.ok_or_else(unknown)?, b.ok_or_else(unknown)?]
        }
    };
    Ok(Arithmetic::Fused { formats, depth: formats[0].depth(), c: d, d })
}

/// The shape m64nNk with N where `shape` has the rest.
fn shape(op: &Opcode<'_>, shape: MmaShape) -> Result<MmaShape, Unsupported> {
    let named = take_shape(op)?;
    let MmaShape { m, k, .. } = shape;
    if (named.m, named.k) == (m, k) && (8..=256).contains(&named.n) && named.n.is_multiple_of(8) {
        return Ok(named);
    }
    Err(Unsupported::new(format!("the shape is m{m}n8k{k} to m{m}n256k{k}")))
}

/// The registers of a vector of `count`.
fn vector(o: &Operands<'_>, index: usize, count: usize) -> Result<Box<[Slot]>, Unsupported> {
    match o.get(index)? {
        Operand::Vector(operands) if operands.len() == count => {
            operands.iter().map(|operand| o.src_of(operand, Type::B32)).collect()
        }
        _ => Err(Unsupported::new(format!("{count} registers are expected"))),
    }
}
