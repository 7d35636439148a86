//! Arithmetic with a carry flag. PTX ISA, "Extended-Precision Integer Arithmetic Instructions".

use super::{Compute, Opcode, Operands, Unsupported, d_ab, d_abc, no_such_type, single_type};
use crate::lanes::carry;
use crate::ops::integer::Int;
use crate::types::Type;

/// `add`, `sub` and `mad`, whose `.cc` is taken, and `addc`, `subc` and `madc`, whose `.cc` is not.
pub(super) fn lower(op: &Opcode<'_>, o: &Operands<'_>) -> Result<Compute, Unsupported> {
    let ty = single_type(op)?;
    if !matches!(ty, Type::U32 | Type::S32 | Type::U64 | Type::S64) {
        return Err(no_such_type(op, ty));
    }
    let (name, sets) = match op.name() {
        "addc" | "subc" | "madc" => (op.name(), op.take("cc")),
        name => (name, true),
    };
    if let "mad" | "madc" = name {
        return mad(op, o, ty, sets);
    }
    let (d, (a, b)) = d_ab(o, ty, [ty; 2])?;
    let abc = (a, b, a);
    Ok(match (name, ty.bits()) {
        ("add", 32) => carry(d, abc, sets, |a: u32, b, _, _| a.overflowing_add(b)),
        ("add", _) => carry(d, abc, sets, |a: u64, b, _, _| a.overflowing_add(b)),
        ("addc", 32) => carry(d, abc, sets, |a: u32, b, _, k| a.carrying_add(b, k)),
        ("addc", _) => carry(d, abc, sets, |a: u64, b, _, k| a.carrying_add(b, k)),
        ("sub", 32) => carry(d, abc, sets, |a: u32, b, _, _| a.overflowing_sub(b)),
        ("sub", _) => carry(d, abc, sets, |a: u64, b, _, _| a.overflowing_sub(b)),
        (_, 32) => carry(d, abc, sets, |a: u32, b, _, k| a.borrowing_sub(b, k)),
        (_, _) => carry(d, abc, sets, |a: u64, b, _, k| a.borrowing_sub(b, k)),
    })
}

fn mad(op: &Opcode<'_>, o: &Operands<'_>, ty: Type, sets: bool) -> Result<Compute, Unsupported> {
    let high = match op.take_first(&["lo", "hi"]) {
        Some(half) => half == "hi",
        None => return Err(Unsupported::new("which half of the product is missing: .lo or .hi")),
    };
    let (d, abc) = d_abc(o, ty, [ty; 3])?;
    Ok(match (op.name(), high, ty) {
        ("mad", false, Type::U32 | Type::S32) => carry(d, abc, sets, |a, b, c, _| low32(a, b, c, false)),
        ("mad", false, _) => carry(d, abc, sets, |a, b, c, _| low64(a, b, c, false)),
        (_, false, Type::U32 | Type::S32) => carry(d, abc, sets, low32),
        (_, false, _) => carry(d, abc, sets, low64),
        ("mad", true, Type::U32) => carry(d, abc, sets, |a: u32, b, c, _| a.mul_hi(b).overflowing_add(c)),
        ("mad", true, Type::U64) => carry(d, abc, sets, |a: u64, b, c, _| a.mul_hi(b).overflowing_add(c)),
        ("mad", true, Type::S32) => carry(d, abc, sets, |a, b, c, _| high32(a, b, c, false)),
        ("mad", true, _) => carry(d, abc, sets, |a, b, c, _| high64(a, b, c, false)),
        (_, true, Type::U32) => carry(d, abc, sets, |a: u32, b, c, k| a.mul_hi(b).carrying_add(c, k)),
        (_, true, Type::U64) => carry(d, abc, sets, |a: u64, b, c, k| a.mul_hi(b).carrying_add(c, k)),
        (_, true, Type::S32) => carry(d, abc, sets, high32),
        (_, true, _) => carry(d, abc, sets, high64),
    })
}

fn low32(a: u32, b: u32, c: u32, k: bool) -> (u32, bool) {
    a.wrapping_mul(b).carrying_add(c, k)
}

fn low64(a: u64, b: u64, c: u64, k: bool) -> (u64, bool) {
    a.wrapping_mul(b).carrying_add(c, k)
}

fn high32(a: u32, b: u32, c: u32, k: bool) -> (u32, bool) {
    ((a as i32).mul_hi(b as i32) as u32).carrying_add(c, k)
}

fn high64(a: u64, b: u64, c: u64, k: bool) -> (u64, bool) {
    ((a as i64).mul_hi(b as i64) as u64).carrying_add(c, k)
}
