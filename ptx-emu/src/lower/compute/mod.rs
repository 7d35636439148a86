//! Instructions on registers only: arithmetic, logic, comparisons, conversions, moves and warp-level operations. One
//! file per family; each turns an opcode into a function of one lane.

mod approximate;
mod bits;
mod carry;
mod compare;
mod comparison;
mod convert;
mod extreme;
mod float;
mod half;
mod integer;
mod logic;
mod moves;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_breadth;
#[cfg(test)]
mod tests_fuzz;
#[cfg(test)]
mod tests_warp;
mod video;
mod warp;

pub(super) use float::required_rounding;
pub(super) use warp::shuffle_source;

use super::Unsupported;
use super::opcode::Opcode;
use super::operands::Operands;
use crate::lanes::{Compute, Slot};
use crate::program::Special;
use crate::syntax::Operand;
use crate::types::Type;

/// The instruction; `None` if it is of another kind.
pub(crate) fn lower(op: &Opcode<'_>, o: &Operands<'_>) -> Result<Option<Compute>, Unsupported> {
    refuse_counters(op, o)?;
    let compute = match op.name() {
        "setp" => compare::setp(op, o)?,
        "set" => compare::set(op, o)?,
        "slct" => compare::slct(op, o)?,
        "selp" => compare::selp(op, o)?,
        "mov" => moves::lower(op, o)?,
        "cvt" => convert::lower(op, o)?,
        "and" | "or" | "xor" | "not" | "cnot" | "shl" | "shr" => logic::lower(op, o)?,
        "addc" | "subc" | "madc" => carry::lower(op, o)?,
        "popc" | "clz" | "brev" | "bfind" | "bfe" | "bfi" | "bmsk" | "szext" | "fns" | "prmt" | "lop3" | "shf"
        | "dp4a" | "dp2a" | "mul24" | "mad24" => bits::lower(op, o)?,
        "rcp" | "sqrt" | "rsqrt" | "ex2" | "lg2" | "sin" | "cos" | "tanh" => approximate::lower(op, o)?,
        "shfl" | "vote" | "match" | "redux" | "elect" | "activemask" => warp::lower(op, o)?,
        "copysign" | "testp" => extreme::lower(op, o)?,
        "add" | "sub" | "mul" | "mad" | "fma" | "min" | "max" | "neg" | "abs" | "div" | "rem" | "sad" => {
            arithmetic(op, o)?
        }
        name if name.starts_with('v') && op.types().len() == 3 => video::lower(op, o)?,
        _ => return Ok(None),
    };
    op.finish()?;
    Ok(Some(compute))
}

/// Only `mov` reads a register such as `%clock` at run time; elsewhere its value would be that before the kernel.
fn refuse_counters(op: &Opcode<'_>, o: &Operands<'_>) -> Result<(), Unsupported> {
    let is_counter = |operand: &Operand| match operand {
        Operand::Special(name) => Special::from_name(name).is_some_and(Special::is_counter),
        _ => false,
    };
    for index in 0..o.count() {
        let nested = match o.get(index)? {
            Operand::Vector(parts) => parts.iter().any(is_counter),
            operand => op.name() != "mov" && is_counter(operand),
        };
        if nested {
            return Err(Unsupported::new("a counter such as %clock is read with a mov of its own"));
        }
    }
    Ok(())
}

/// Arithmetic on integers and floating-point numbers.
fn arithmetic(op: &Opcode<'_>, o: &Operands<'_>) -> Result<Compute, Unsupported> {
    match (op.ty(0)?, op.name()) {
        (Type::F16 | Type::F16x2 | Type::Bf16 | Type::Bf16x2, _) => half::lower(op, o),
        (Type::F32 | Type::F64, "div") => approximate::lower(op, o),
        (Type::F32 | Type::F64, "min" | "max" | "neg" | "abs") => extreme::lower(op, o),
        (Type::F32 | Type::F64 | Type::F32x2, _) => float::lower(op, o),
        (_, "add" | "sub" | "mad") if op.take("cc") => carry::lower(op, o),
        _ => integer::lower(op, o),
    }
}

/// The type of an opcode that has exactly one.
fn single_type(op: &Opcode<'_>) -> Result<Type, Unsupported> {
    match op.types() {
        [ty] => Ok(*ty),
        [] => Err(Unsupported::new("a type is missing")),
        _ => Err(Unsupported::new("one type is expected, several are there")),
    }
}

/// The types of an opcode that has exactly two.
fn two_types(op: &Opcode<'_>) -> Result<(Type, Type), Unsupported> {
    match op.types() {
        [first, second] => Ok((*first, *second)),
        types => Err(Unsupported::new(format!("two types are expected, {} are there", types.len()))),
    }
}

/// The instruction exists, but not for this type.
fn no_such_type(op: &Opcode<'_>, ty: Type) -> Unsupported {
    Unsupported::new(format!("{} is not known for {ty}", op.name()))
}

/// d, a
fn d_a(o: &Operands<'_>, d: Type, a: Type) -> Result<(Slot, Slot), Unsupported> {
    o.expect(2)?;
    Ok((o.dst(0, d)?, o.src(1, a)?))
}

/// d, (a, b)
fn d_ab(o: &Operands<'_>, d: Type, [a, b]: [Type; 2]) -> Result<(Slot, (Slot, Slot)), Unsupported> {
    o.expect(3)?;
    Ok((o.dst(0, d)?, (o.src(1, a)?, o.src(2, b)?)))
}

/// d, (a, b, c)
fn d_abc(o: &Operands<'_>, d: Type, [a, b, c]: [Type; 3]) -> Result<(Slot, (Slot, Slot, Slot)), Unsupported> {
    o.expect(4)?;
    Ok((o.dst(0, d)?, (o.src(1, a)?, o.src(2, b)?, o.src(3, c)?)))
}
