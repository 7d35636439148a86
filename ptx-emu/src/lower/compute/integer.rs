//! Integer arithmetic. PTX ISA, "Integer Arithmetic Instructions".

use super::{Compute, Opcode, Operands, Unsupported, d_a, d_ab, d_abc, no_such_type, single_type};
use crate::lanes::{binary, binary_slow, ternary, ternary_slow, unary};
use crate::ops::integer::Int;
use crate::types::Type;

/// The expression with `T` as the Rust type of an integer type; signs that do not matter go to the unsigned type.
macro_rules! with_type {
    ($op:ident, $ty:expr, $T:ident: [$($variant:ident $rust:ty,)*] => $compute:expr) => {
        match $ty {
            $(Type::$variant => { type $T = $rust; $compute })*
            ty => return Err(no_such_type($op, ty)),
        }
    };
    ($op:ident, $ty:expr, signed $T:ident => $compute:expr) => {
        with_type!($op, $ty, $T: [S16 i16, S32 i32, S64 i64,] => $compute)
    };
    ($op:ident, $ty:expr, any $T:ident => $compute:expr) => {
        with_type!($op, $ty, $T: [U16 u16, U32 u32, U64 u64, S16 i16, S32 i32, S64 i64,] => $compute)
    };
    ($op:ident, $ty:expr, unsigned $T:ident => $compute:expr) => {
        match $ty {
            Type::U16 | Type::S16 => { type $T = u16; $compute }
            Type::U32 | Type::S32 => { type $T = u32; $compute }
            Type::U64 | Type::S64 => { type $T = u64; $compute }
            ty => return Err(no_such_type($op, ty)),
        }
    };
}

pub(super) fn lower(op: &Opcode<'_>, o: &Operands<'_>) -> Result<Compute, Unsupported> {
    match op.name() {
        "add" | "sub" => add_sub(op, o),
        "mul" => mul(op, o),
        "mad" => mad(op, o),
        "div" | "rem" | "sad" => div_rem_sad(op, o),
        "min" | "max" => min_max(op, o),
        "neg" | "abs" => neg_abs(op, o),
        name => Err(Unsupported::new(format!("{name} is not known for integers"))),
    }
}

fn add_sub(op: &Opcode<'_>, o: &Operands<'_>) -> Result<Compute, Unsupported> {
    let ty = single_type(op)?;
    let (d, ab) = d_ab(o, ty, [ty, ty])?;
    Ok(match (op.name(), ty) {
        ("add", Type::S32) if op.take("sat") => binary(d, ab, i32::saturating_add),
        ("sub", Type::S32) if op.take("sat") => binary(d, ab, i32::saturating_sub),
        ("add", Type::U16x2 | Type::S16x2) => {
            binary(d, ab, |a: [u16; 2], b: [u16; 2]| [a[0].wrapping_add(b[0]), a[1].wrapping_add(b[1])])
        }
        ("add", ty) => with_type!(op, ty, unsigned T => binary(d, ab, T::wrapping_add)),
        (_, ty) => with_type!(op, ty, unsigned T => binary(d, ab, T::wrapping_sub)),
    })
}

/// The type of a full product.
fn wide(op: &Opcode<'_>, ty: Type) -> Result<Type, Unsupported> {
    match ty {
        Type::U16 => Ok(Type::U32),
        Type::S16 => Ok(Type::S32),
        Type::U32 => Ok(Type::U64),
        Type::S32 => Ok(Type::S64),
        ty => Err(no_such_type(op, ty)),
    }
}

/// `.lo`, `.hi` or `.wide`.
fn part<'a>(op: &Opcode<'a>) -> Result<&'a str, Unsupported> {
    op.take_first(&["lo", "hi", "wide"])
        .ok_or_else(|| Unsupported::new("which half of the product is missing: .lo, .hi or .wide"))
}

fn mul(op: &Opcode<'_>, o: &Operands<'_>) -> Result<Compute, Unsupported> {
    let ty = single_type(op)?;
    Ok(match part(op)? {
        "lo" => {
            let (d, ab) = d_ab(o, ty, [ty, ty])?;
            with_type!(op, ty, unsigned T => binary(d, ab, T::wrapping_mul))
        }
        "hi" => {
            let (d, ab) = d_ab(o, ty, [ty, ty])?;
            with_type!(op, ty, any T => binary(d, ab, T::mul_hi))
        }
        _ => {
            let (d, ab) = d_ab(o, wide(op, ty)?, [ty, ty])?;
            match ty {
                Type::U16 => binary(d, ab, |a: u16, b: u16| u32::from(a) * u32::from(b)),
                Type::S16 => binary(d, ab, |a: i16, b: i16| i32::from(a) * i32::from(b)),
                Type::U32 => binary(d, ab, |a: u32, b: u32| u64::from(a) * u64::from(b)),
                _ => binary(d, ab, |a: i32, b: i32| i64::from(a) * i64::from(b)),
            }
        }
    })
}

fn mad(op: &Opcode<'_>, o: &Operands<'_>) -> Result<Compute, Unsupported> {
    let ty = single_type(op)?;
    Ok(match part(op)? {
        "lo" => {
            let (d, abc) = d_abc(o, ty, [ty; 3])?;
            with_type!(op, ty, unsigned T => ternary(d, abc, |a: T, b: T, c: T| a.wrapping_mul(b).wrapping_add(c)))
        }
        "hi" => {
            let (d, abc) = d_abc(o, ty, [ty; 3])?;
            if ty == Type::S32 && op.take("sat") {
                return Ok(ternary(d, abc, |a: i32, b: i32, c: i32| a.mul_hi(b).saturating_add(c)));
            }
            with_type!(op, ty, any T => ternary_slow(d, abc, |a: T, b: T, c: T| a.mul_hi(b).wrapping_add(c)))
        }
        _ => {
            let double = wide(op, ty)?;
            let (d, abc) = d_abc(o, double, [ty, ty, double])?;
            match ty {
                Type::U16 => ternary(d, abc, |a: u16, b: u16, c: u32| (u32::from(a) * u32::from(b)).wrapping_add(c)),
                Type::S16 => ternary(d, abc, |a: i16, b: i16, c: i32| (i32::from(a) * i32::from(b)).wrapping_add(c)),
                Type::U32 => ternary(d, abc, |a: u32, b: u32, c: u64| (u64::from(a) * u64::from(b)).wrapping_add(c)),
                _ => ternary(d, abc, |a: i32, b: i32, c: i64| (i64::from(a) * i64::from(b)).wrapping_add(c)),
            }
        }
    })
}

fn div_rem_sad(op: &Opcode<'_>, o: &Operands<'_>) -> Result<Compute, Unsupported> {
    let ty = single_type(op)?;
    if op.name() == "sad" {
        let (d, abc) = d_abc(o, ty, [ty; 3])?;
        return Ok(with_type!(op, ty, any T => ternary_slow(d, abc, T::sad)));
    }
    let (d, ab) = d_ab(o, ty, [ty, ty])?;
    Ok(match op.name() {
        "div" => with_type!(op, ty, any T => binary_slow(d, ab, T::div)),
        _ => with_type!(op, ty, any T => binary_slow(d, ab, T::rem)),
    })
}

fn min_max(op: &Opcode<'_>, o: &Operands<'_>) -> Result<Compute, Unsupported> {
    let ty = single_type(op)?;
    let (d, ab) = d_ab(o, ty, [ty, ty])?;
    let is_min = op.name() == "min";
    let relu = matches!(ty, Type::S32 | Type::S16x2) && op.take("relu");
    Ok(match (ty, is_min) {
        (Type::S32, true) if relu => binary(d, ab, |a: i32, b: i32| a.min(b).max(0)),
        (Type::S32, false) if relu => binary(d, ab, |a: i32, b: i32| a.max(b).max(0)),
        (Type::U16x2, true) => binary_slow(d, ab, |a: [u16; 2], b: [u16; 2]| [a[0].min(b[0]), a[1].min(b[1])]),
        (Type::U16x2, false) => binary_slow(d, ab, |a: [u16; 2], b: [u16; 2]| [a[0].max(b[0]), a[1].max(b[1])]),
        (Type::S16x2, _) => binary_slow(d, ab, move |a: [i16; 2], b: [i16; 2]| {
            let least = if relu { 0 } else { i16::MIN };
            let one = |a: i16, b: i16| if is_min { a.min(b) } else { a.max(b) }.max(least);
            [one(a[0], b[0]), one(a[1], b[1])]
        }),
        (ty, true) => with_type!(op, ty, any T => binary(d, ab, |a: T, b: T| a.min(b))),
        (ty, false) => with_type!(op, ty, any T => binary(d, ab, |a: T, b: T| a.max(b))),
    })
}

fn neg_abs(op: &Opcode<'_>, o: &Operands<'_>) -> Result<Compute, Unsupported> {
    let ty = single_type(op)?;
    let (d, a) = d_a(o, ty, ty)?;
    Ok(match op.name() {
        "neg" => with_type!(op, ty, signed T => unary(d, a, T::wrapping_neg)),
        _ => with_type!(op, ty, signed T => unary(d, a, T::wrapping_abs)),
    })
}
