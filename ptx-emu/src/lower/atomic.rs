//! Atomic operations: `atom`, and `red`, which has no result. PTX ISA, "Parallel Synchronization and Communication
//! Instructions".

use half::{bf16, f16};
use rustc_apfloat::Round;

use super::Unsupported;
use super::access::{is_cache_hint, take_semantics, take_space};
use super::opcode::Opcode;
use super::operands::Operands;
use crate::ops::extreme::Extreme;
use crate::ops::float;
use crate::ops::round::{self, Format};
use crate::program::{Action, Atomic, AtomicElement};
use crate::syntax::Operand;
use crate::types::Type;

/// The new value from the old one and the operands, as bits.
type Apply = fn(u64, u64, u64) -> u64;

pub(super) fn lower(op: &Opcode<'_>, o: &Operands<'_>) -> Result<Option<Action>, Unsupported> {
    let has_result = match op.name() {
        "atom" => true,
        "red" if !op.take("async") => false,
        _ => return Ok(None),
    };
    let (_, semantics) = take_semantics(op);
    let space = take_space(op);
    while op.take_if(is_cache_hint).is_some() {}
    op.take("noftz");
    let operations = ["and", "or", "xor", "exch", "add", "inc", "dec", "min", "max", "cas"];
    let operation = op.take_first(&operations).ok_or_else(|| Unsupported::new("the operation is not known"))?;
    let ty = op.ty(0)?;
    let apply = apply(operation, ty)
        .ok_or_else(|| Unsupported::new(format!("the operation .{operation} on {ty} is not known")))?;
    let first = usize::from(has_result);
    let (address, of_variable) = o.address(first)?;
    let space = of_variable.unwrap_or(space);
    let count = op.take_first(&["v2", "v4", "v8"]).map_or(1, |vector| vector[1..].parse().unwrap_or(1));
    let operand = |index: usize, element: usize| -> Result<&Operand, Unsupported> {
        match o.get(index)? {
            Operand::Vector(operands) if count > 1 && operands.len() == count => Ok(&operands[element]),
            operand if count == 1 => Ok(operand),
            _ => Err(Unsupported::new(format!("{count} registers are expected"))),
        }
    };
    let mut elements = Vec::new();
    for element in 0..count {
        let result = match has_result.then(|| operand(0, element)).transpose()? {
            None | Some(Operand::Sink) => None,
            Some(operand) => Some(o.dst_of(operand, ty)?),
        };
        let a = o.src_of(operand(first + 1, element)?, ty)?;
        let b = if operation == "cas" { Some(o.src_of(operand(first + 2, element)?, ty)?) } else { None };
        elements.push(AtomicElement { result, a, b });
    }
    Ok(Some(Action::Atomic(Box::new(Atomic {
        space,
        semantics,
        address,
        width: ty.bytes(),
        elements: elements.into(),
        apply,
        apply_shared: apply_shared(operation, ty).unwrap_or(apply),
    }))))
}

/// The operation on a type, but for shared memory's own rules.
pub(super) fn apply(operation: &str, ty: Type) -> Option<Apply> {
    use Type::{B16, B32, B64, B128, Bf16, Bf16x2, F16, F16x2, F32, F64, S32, S64, U32, U64};
    Some(match (operation, ty) {
        ("and", B32 | B64) => |old, a, _| old & a,
        ("or", B32 | B64) => |old, a, _| old | a,
        ("xor", B32 | B64) => |old, a, _| old ^ a,
        ("exch", B32 | B64) => |_, a, _| a,
        ("cas", B16 | B32 | B64) => |old, a, b| if old == a { b } else { old },
        // The executor knows what becomes of more than 64 bits.
        ("exch" | "cas", B128) => |old, _, _| old,
        ("add", U32 | S32) => |old, a, _| (old as u32).wrapping_add(a as u32).into(),
        ("add", U64 | S64) => |old, a, _| old.wrapping_add(a),
        ("add", F32) => |old, a, _| add_f32_flushed(old as u32, a as u32).into(),
        ("add", F64) => |old, a, _| add_f64(old, a),
        ("add", F16) => |old, a, _| add_f16(old as u16, a as u16).into(),
        ("add", Bf16) => |old, a, _| add_bf16(old as u16, a as u16).into(),
        ("add", F16x2) => |old, a, _| halves(old, a, add_f16),
        ("add", Bf16x2) => |old, a, _| halves(old, a, add_bf16),
        ("min", F16) => |old, a, _| extreme(&round::F16, true, old as u16, a as u16).into(),
        ("max", F16) => |old, a, _| extreme(&round::F16, false, old as u16, a as u16).into(),
        ("min", Bf16) => |old, a, _| extreme(&round::BF16, true, old as u16, a as u16).into(),
        ("max", Bf16) => |old, a, _| extreme(&round::BF16, false, old as u16, a as u16).into(),
        ("min", F16x2) => |old, a, _| halves(old, a, |old, a| extreme(&round::F16, true, old, a)),
        ("max", F16x2) => |old, a, _| halves(old, a, |old, a| extreme(&round::F16, false, old, a)),
        ("min", Bf16x2) => |old, a, _| halves(old, a, |old, a| extreme(&round::BF16, true, old, a)),
        ("max", Bf16x2) => |old, a, _| halves(old, a, |old, a| extreme(&round::BF16, false, old, a)),
        ("inc", U32) => |old, a, _| if old >= a { 0 } else { old + 1 },
        ("dec", U32) => |old, a, _| if old == 0 || old > a { a } else { old - 1 },
        ("min", U32 | U64) => |old, a, _| old.min(a),
        ("max", U32 | U64) => |old, a, _| old.max(a),
        ("min", S32) => |old, a, _| (old as i32).min(a as i32) as u32 as u64,
        ("max", S32) => |old, a, _| (old as i32).max(a as i32) as u32 as u64,
        ("min", S64) => |old, a, _| (old as i64).min(a as i64) as u64,
        ("max", S64) => |old, a, _| (old as i64).max(a as i64) as u64,
        _ => return None,
    })
}

/// Rules of shared memory that differ.
fn apply_shared(operation: &str, ty: Type) -> Option<Apply> {
    Some(match (operation, ty) {
        ("add", Type::F32) => |old, a, _| add_f32(old as u32, a as u32).into(),
        // As the instruction `add`, whose NaN is that of its last operand: the old value.
        ("add", Type::F64) => |old, a, _| float::add64(Round::NearestTiesToEven, f(a), f(old)).to_bits(),
        _ => return None,
    })
}

fn f(bits: u64) -> f64 {
    f64::from_bits(bits)
}

/// f32 addition with the hardware's canonical NaN.
fn add_f32(a: u32, b: u32) -> u32 {
    float::canonical(f32::from_bits(a) + f32::from_bits(b)).to_bits()
}

/// As [`add_f32`], in global memory, where subnormals are flushed to zero.
fn add_f32_flushed(a: u32, b: u32) -> u32 {
    let [a, b] = [a, b].map(|bits| float::flush(f32::from_bits(bits)));
    float::canonical(float::flush(a + b)).to_bits()
}

/// f64 addition in global memory, where NaN payloads are kept, the operand's before the old value's.
fn add_f64(old: u64, a: u64) -> u64 {
    match (f(old), f(a)) {
        (_, nan) if nan.is_nan() => a,
        (nan, _) if nan.is_nan() => old,
        (x, y) => float::output64(x + y, []).to_bits(),
    }
}

fn add_f16(a: u16, b: u16) -> u16 {
    let sum = f16::from_f32(f16::from_bits(a).to_f32() + f16::from_bits(b).to_f32());
    if sum.is_nan() { 0x7fff } else { sum.to_bits() }
}

fn add_bf16(a: u16, b: u16) -> u16 {
    let sum = bf16::from_f32(bf16::from_bits(a).to_f32() + bf16::from_bits(b).to_f32());
    if sum.is_nan() { 0x7fff } else { sum.to_bits() }
}

/// The lesser or greater number, as `min` and `max` give it.
fn extreme(format: &Format, is_min: bool, old: u16, a: u16) -> u16 {
    let of = Extreme { is_min, nan: false, abs: false, xorsign: false };
    let [old, a] = [old, a].map(|bits| round::to_f64(format, bits.into()));
    let result = of.of(old, a);
    if result.is_nan() { 0x7fff } else { round::from_f64(format, Round::NearestTiesToEven, result) as u16 }
}

fn halves(a: u64, b: u64, add: fn(u16, u16) -> u16) -> u64 {
    u64::from(add(a as u16, b as u16)) | u64::from(add((a >> 16) as u16, (b >> 16) as u16)) << 16
}
