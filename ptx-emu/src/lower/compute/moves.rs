//! Moves, with packing and unpacking. PTX ISA, "mov".

use super::{Compute, Opcode, Operands, Unsupported, d_a, no_such_type, single_type};
use crate::lanes::{LANES, Lane, Slot, binary, lanes_where, predicate, unary};
use crate::program::Special;
use crate::syntax::Operand;
use crate::types::Type;

pub(super) fn lower(op: &Opcode<'_>, o: &Operands<'_>) -> Result<Compute, Unsupported> {
    let ty = single_type(op)?;
    o.expect(2)?;
    match (o.get(0)?, o.get(1)?) {
        _ if ty == Type::Pred => {
            let p = super::logic::pred_result(o)?;
            if matches!(o.get(1)?, Operand::Special(_)) {
                let a = o.src(1, Type::B32)?;
                return Ok(predicate(p, move |registers, _| {
                    let values: [u32; LANES] = registers.read(a);
                    lanes_where(|lane| values[lane] != 0)
                }));
            }
            let a = o.pred(1)?;
            Ok(predicate(p, move |registers, _| registers.test(a)))
        }
        (Operand::Vector(parts), _) => unpack(op, o, ty, parts),
        (_, Operand::Vector(parts)) => pack(op, o, ty, parts),
        (_, Operand::Special(name)) if Special::from_name(name).is_some_and(Special::is_counter) => {
            counter(op, o, ty, name)
        }
        _ => {
            let (d, a) = d_a(o, ty, ty)?;
            Ok(match ty.bits() {
                16 | 32 => unary(d, a, |a: u32| a),
                64 => unary(d, a, |a: u64| a),
                128 => unary(d, a, |a: u128| a),
                _ => return Err(no_such_type(op, ty)),
            })
        }
    }
}

/// The value of a counter such as `%clock` at run time.
fn counter(op: &Opcode<'_>, o: &Operands<'_>, ty: Type, name: &str) -> Result<Compute, Unsupported> {
    let d = o.dst(0, ty)?;
    let shift =
        if matches!(Special::from_name(name), Some(Special::ClockHi | Special::GlobalTimerHi)) { 32 } else { 0 };
    match ty.bits() {
        32 => Ok(Box::new(move |registers, mask| {
            let value = (registers.clock >> shift) as u32;
            registers.write(d, &[value; LANES], mask);
        })),
        64 => Ok(Box::new(move |registers, mask| {
            let value = registers.clock >> shift;
            registers.write(d, &[value; LANES], mask);
        })),
        _ => Err(no_such_type(op, ty)),
    }
}

/// The element type of a vector of `count`.
fn part_type(ty: Type, parts: usize) -> Result<Type, Unsupported> {
    match (ty.bits(), parts) {
        (128, 2) => Ok(Type::B64),
        (128, 4) | (64, 2) => Ok(Type::B32),
        (64, 4) | (32, 2) => Ok(Type::B16),
        (32, 4) | (16, 2) => Ok(Type::B8),
        _ => Err(Unsupported::new(format!("{ty} does not come in {parts} parts"))),
    }
}

/// Fails if an element is a register of another width.
fn same_widths(o: &Operands<'_>, part: Type, parts: &[Operand]) -> Result<(), Unsupported> {
    match parts.iter().filter_map(|operand| o.register_bits(operand)).find(|bits| *bits != part.bits()) {
        Some(bits) => Err(Unsupported::new(format!("a register of {bits} bits stands for a part of {}", part.bits()))),
        None => Ok(()),
    }
}

/// Rows to pack or unpack.
trait Bits: Lane + TryFrom<u128> + Into<u128> {}
impl<T: Lane + TryFrom<u128> + Into<u128>> Bits for T {}

fn unpack(op: &Opcode<'_>, o: &Operands<'_>, ty: Type, parts: &[Operand]) -> Result<Compute, Unsupported> {
    let part = part_type(ty, parts.len())?;
    same_widths(o, part, parts)?;
    let a = o.src(1, ty)?;
    let parts = parts.iter().map(|part_of| o.dst_of(part_of, part)).collect::<Result<Vec<_>, _>>()?;
    let bits = part.bits();
    Ok(match (ty.bits(), bits) {
        (32, 16) => halves(unary(parts[0], a, |a: u32| a & 0xffff), unary(parts[1], a, |a: u32| a >> 16)),
        (64, 32) => halves(unary(parts[0], a, |a: u64| a as u32), unary(parts[1], a, |a: u64| (a >> 32) as u32)),
        (16 | 32, _) => split::<u32, u32>(a, parts, bits),
        (64, _) => split::<u64, u32>(a, parts, bits),
        (128, 32) => split::<u128, u32>(a, parts, bits),
        (128, _) => split::<u128, u64>(a, parts, bits),
        _ => return Err(no_such_type(op, ty)),
    })
}

/// In order: the elements are narrower than the source, so none of them is the source.
fn halves(low: Compute, high: Compute) -> Compute {
    Box::new(move |registers, mask| {
        low(registers, mask);
        high(registers, mask);
    })
}

fn split<A: Bits, P: Bits>(a: Slot, parts: Vec<Slot>, bits: u32) -> Compute {
    Box::new(move |registers, mask| {
        let a: [A; LANES] = registers.read(a);
        for (index, part) in (0..).zip(&parts) {
            let values = a.map(|a| {
                let part: u128 = a.into() >> (index * bits) & ((1 << bits) - 1);
                P::try_from(part).unwrap_or_default()
            });
            registers.write(*part, &values, mask);
        }
    })
}

fn pack(op: &Opcode<'_>, o: &Operands<'_>, ty: Type, parts: &[Operand]) -> Result<Compute, Unsupported> {
    let part = part_type(ty, parts.len())?;
    same_widths(o, part, parts)?;
    let d = o.dst(0, ty)?;
    let parts = parts.iter().map(|part_of| o.src_of(part_of, part)).collect::<Result<Vec<_>, _>>()?;
    let bits = part.bits();
    Ok(match (ty.bits(), bits) {
        (32, 16) => binary(d, (parts[0], parts[1]), |a: u32, b: u32| a & 0xffff | b << 16),
        (64, 32) => binary(d, (parts[0], parts[1]), |a: u32, b: u32| u64::from(a) | u64::from(b) << 32),
        (16 | 32, _) => join::<u32, u32>(d, parts, bits),
        (64, _) => join::<u64, u32>(d, parts, bits),
        (128, 32) => join::<u128, u32>(d, parts, bits),
        (128, _) => join::<u128, u64>(d, parts, bits),
        _ => return Err(no_such_type(op, ty)),
    })
}

fn join<D: Bits, P: Bits>(d: Slot, parts: Vec<Slot>, bits: u32) -> Compute {
    Box::new(move |registers, mask| {
        let mut values = [0u128; LANES];
        for (index, part) in (0..).zip(&parts) {
            let part: [P; LANES] = registers.read(*part);
            for (value, part) in values.iter_mut().zip(part) {
                *value |= (part.into() & ((1 << bits) - 1)) << (index * bits);
            }
        }
        registers.write(d, &values.map(|value| D::try_from(value).unwrap_or_default()), mask);
    })
}
