//! Logic and shifts, of bits and of predicates. PTX ISA, "Logic and Shift Instructions".

use super::{Compute, Opcode, Operands, Unsupported, d_a, d_ab, no_such_type, single_type};
use crate::lanes::{Mask, PredSlot, binary, predicate, unary};
use crate::ops::integer::Int;
use crate::types::Type;

pub(super) fn lower(op: &Opcode<'_>, o: &Operands<'_>) -> Result<Compute, Unsupported> {
    let ty = single_type(op)?;
    match op.name() {
        "and" | "or" | "xor" | "not" if ty == Type::Pred => predicates(op, o),
        "and" | "or" | "xor" => bits(op, o, ty),
        "not" | "cnot" => complement(op, o, ty),
        _ => shift(op, o, ty),
    }
}

/// The result predicate, which must not be `_`.
pub(super) fn pred_result(o: &Operands<'_>) -> Result<PredSlot, Unsupported> {
    o.pred_dst(0)?.ok_or_else(|| Unsupported::new("the result must be a predicate"))
}

/// A function of two predicates, all lanes at once.
pub(super) fn boolean(name: &str) -> Option<fn(Mask, Mask) -> Mask> {
    Some(match name {
        "and" => |a, b| a & b,
        "or" => |a, b| a | b,
        "xor" => |a, b| a ^ b,
        _ => return None,
    })
}

fn predicates(op: &Opcode<'_>, o: &Operands<'_>) -> Result<Compute, Unsupported> {
    let Some(f) = boolean(op.name()) else {
        o.expect(2)?;
        let (p, a) = (pred_result(o)?, o.pred(1)?);
        return Ok(predicate(p, move |registers, _| !registers.test(a)));
    };
    o.expect(3)?;
    let (p, a, b) = (pred_result(o)?, o.pred(1)?, o.pred(2)?);
    Ok(predicate(p, move |registers, _| f(registers.test(a), registers.test(b))))
}

fn bits(op: &Opcode<'_>, o: &Operands<'_>, ty: Type) -> Result<Compute, Unsupported> {
    let (d, ab) = d_ab(o, ty, [ty, ty])?;
    Ok(match (op.name(), ty) {
        // Rows are zero-extended, so 16 bits are not a special case.
        ("and", Type::B16 | Type::B32) => binary(d, ab, |a: u32, b: u32| a & b),
        ("or", Type::B16 | Type::B32) => binary(d, ab, |a: u32, b: u32| a | b),
        ("xor", Type::B16 | Type::B32) => binary(d, ab, |a: u32, b: u32| a ^ b),
        ("and", Type::B64) => binary(d, ab, |a: u64, b: u64| a & b),
        ("or", Type::B64) => binary(d, ab, |a: u64, b: u64| a | b),
        ("xor", Type::B64) => binary(d, ab, |a: u64, b: u64| a ^ b),
        (_, ty) => return Err(no_such_type(op, ty)),
    })
}

fn complement(op: &Opcode<'_>, o: &Operands<'_>, ty: Type) -> Result<Compute, Unsupported> {
    let (d, a) = d_a(o, ty, ty)?;
    Ok(match (op.name(), ty) {
        ("not", Type::B16) => unary(d, a, |a: u16| !a),
        ("not", Type::B32) => unary(d, a, |a: u32| !a),
        ("not", Type::B64) => unary(d, a, |a: u64| !a),
        ("cnot", Type::B16) => unary(d, a, |a: u16| u16::from(a == 0)),
        ("cnot", Type::B32) => unary(d, a, |a: u32| u32::from(a == 0)),
        ("cnot", Type::B64) => unary(d, a, |a: u64| u64::from(a == 0)),
        (_, ty) => return Err(no_such_type(op, ty)),
    })
}

fn shift(op: &Opcode<'_>, o: &Operands<'_>, ty: Type) -> Result<Compute, Unsupported> {
    let (d, ab) = d_ab(o, ty, [ty, Type::U32])?;
    Ok(match (op.name(), ty) {
        ("shl", Type::B16) => binary(d, ab, <u16 as Int>::shl),
        ("shl", Type::B32) => binary(d, ab, <u32 as Int>::shl),
        ("shl", Type::B64) => binary(d, ab, <u64 as Int>::shl),
        ("shr", Type::B16 | Type::U16) => binary(d, ab, <u16 as Int>::shr),
        ("shr", Type::B32 | Type::U32) => binary(d, ab, <u32 as Int>::shr),
        ("shr", Type::B64 | Type::U64) => binary(d, ab, <u64 as Int>::shr),
        ("shr", Type::S16) => binary(d, ab, <i16 as Int>::shr),
        ("shr", Type::S32) => binary(d, ab, <i32 as Int>::shr),
        ("shr", Type::S64) => binary(d, ab, <i64 as Int>::shr),
        (_, ty) => return Err(no_such_type(op, ty)),
    })
}
