//! Comparisons and selections. PTX ISA, "Comparison and Selection Instructions".

use super::comparison::{self, Comparison, Relation};
use super::{Compute, Opcode, Operands, Unsupported, d_abc, no_such_type, single_type, two_types};
use crate::lanes::{LANES, Lane, Outcome, Slot, compare, lanes_of, predicate, select, ternary};
use crate::ops::float::flush;
use crate::ops::half::Half;
use crate::ops::round::{BF16, F16};
use crate::syntax::Operand;
use crate::types::Type;

pub(super) fn setp(op: &Opcode<'_>, o: &Operands<'_>) -> Result<Compute, Unsupported> {
    let ty = single_type(op)?;
    let comparison = Comparison::take(op, ty)?;
    let outcome = comparison::to_predicates(op, o, comparison)?;
    if matches!(ty, Type::F16x2 | Type::Bf16x2) && !matches!(o.get(0)?, Operand::Pair(..)) {
        return Err(Unsupported::new(format!("setp{ty} has two results, p|q")));
    }
    compared(op, o, ty, comparison, outcome)
}

pub(super) fn set(op: &Opcode<'_>, o: &Operands<'_>) -> Result<Compute, Unsupported> {
    let (to, from) = two_types(op)?;
    let comparison = Comparison::take(op, from)?;
    let pair = matches!(from, Type::F16x2 | Type::Bf16x2);
    let value = match to {
        Type::U32 | Type::S32 if pair => 0xffff,
        Type::F16x2 | Type::Bf16x2 if !pair => return Err(Unsupported::new(format!("set{to} compares pairs"))),
        Type::U16 | Type::S16 if !pair => 0xffff,
        Type::U32 | Type::S32 => u32::MAX,
        Type::F32 if !pair => 0x3f80_0000,
        Type::F16 if !pair => 0x3c00,
        Type::Bf16 if !pair => 0x3f80,
        Type::F16x2 => 0x3c00,
        Type::Bf16x2 => 0x3f80,
        _ => return Err(Unsupported::new(format!("set does not give {to} for {from}"))),
    };
    let outcome = comparison::to_register(op, o, comparison, (to, value))?;
    compared(op, o, from, comparison, outcome)
}

fn compared(
    op: &Opcode<'_>,
    o: &Operands<'_>,
    ty: Type,
    comparison: Comparison,
    outcome: Outcome,
) -> Result<Compute, Unsupported> {
    let ab = comparison.order((o.src(1, ty)?, o.src(2, ty)?));
    let relation = comparison.relation;
    Ok(match ty {
        Type::F32 if op.take("ftz") => flushed(ab, relation, outcome),
        Type::F32 => numbers::<f32>(ab, relation, outcome),
        Type::F64 => numbers::<f64>(ab, relation, outcome),
        Type::U16 | Type::B16 => ordered::<u16>(ab, relation, outcome),
        Type::S16 => ordered::<i16>(ab, relation, outcome),
        Type::U32 | Type::B32 => ordered::<u32>(ab, relation, outcome),
        Type::S32 => ordered::<i32>(ab, relation, outcome),
        Type::U64 | Type::B64 => ordered::<u64>(ab, relation, outcome),
        Type::S64 => ordered::<i64>(ab, relation, outcome),
        Type::F16 | Type::F16x2 => halves(ab, relation, outcome, (ty, op.take("ftz"))),
        Type::Bf16 | Type::Bf16x2 => halves(ab, relation, outcome, (ty, false)),
        ty => return Err(no_such_type(op, ty)),
    })
}

type Slots = (Slot, Slot);

fn ordered<T: Lane + PartialOrd>(ab: Slots, relation: Relation, outcome: Outcome) -> Compute {
    match relation {
        Relation::Equal => compare(ab, |a: T, b: T| a == b, outcome),
        Relation::Less => compare(ab, |a: T, b: T| a < b, outcome),
        _ => compare(ab, |a: T, b: T| a <= b, outcome),
    }
}

fn numbers<T: Lane + PartialOrd>(ab: Slots, relation: Relation, outcome: Outcome) -> Compute {
    match relation {
        Relation::Differs => compare(ab, |a: T, b: T| (a < b) | (a > b), outcome),
        Relation::Numbers => compare(ab, |a: T, b: T| a.partial_cmp(&b).is_some(), outcome),
        _ => ordered::<T>(ab, relation, outcome),
    }
}

fn flushed(ab: Slots, relation: Relation, outcome: Outcome) -> Compute {
    match relation {
        Relation::Equal => compare(ab, |a, b| flush(a) == flush(b), outcome),
        Relation::Less => compare(ab, |a, b| flush(a) < flush(b), outcome),
        Relation::LessOrEqual => compare(ab, |a, b| flush(a) <= flush(b), outcome),
        Relation::Differs => compare(ab, |a, b| (flush(a) < flush(b)) | (flush(a) > flush(b)), outcome),
        Relation::Numbers => compare(ab, |a: f32, b: f32| !a.is_nan() & !b.is_nan(), outcome),
    }
}

fn halves((a, b): Slots, relation: Relation, outcome: Outcome, (ty, ftz): (Type, bool)) -> Compute {
    let brain = matches!(ty, Type::Bf16 | Type::Bf16x2);
    let half = Half { format: if brain { &BF16 } else { &F16 }, ftz, sat: false, relu: false };
    let pair = ty.bits() == 32;
    Box::new(move |registers, mask| {
        let (a, b): ([u32; LANES], [u32; LANES]) = (registers.read(a), registers.read(b));
        let mut holds = [0; 2];
        for lane in lanes_of(mask) {
            for (shift, holds) in [0, 16].into_iter().zip(&mut holds) {
                let number = |x: u32| half.input((x >> shift) as u16);
                *holds |= u32::from(relation.holds(number(a[lane]), number(b[lane]))) << lane;
            }
        }
        if pair {
            outcome.store_pair(registers, holds, mask);
        } else {
            outcome.store(registers, holds[0], mask);
        }
    })
}

pub(super) fn slct(op: &Opcode<'_>, o: &Operands<'_>) -> Result<Compute, Unsupported> {
    let (ty, by) = two_types(op)?;
    if !matches!(ty.bits(), 16 | 32 | 64) || !matches!(by, Type::S32 | Type::F32) {
        return Err(Unsupported::new(format!("slct is not known for {ty}{by}")));
    }
    let (d, abc) = d_abc(o, ty, [ty, ty, by])?;
    Ok(match (by, ty.bits()) {
        (Type::S32, 64) => ternary(d, abc, |a: u64, b: u64, c: i32| if c >= 0 { a } else { b }),
        (Type::S32, _) => ternary(d, abc, |a: u32, b: u32, c: i32| if c >= 0 { a } else { b }),
        // With `.ftz`, a subnormal number counts as a zero.
        (_, 64) if op.take("ftz") => ternary(d, abc, |a: u64, b: u64, c| if flush(c) >= 0.0 { a } else { b }),
        (_, 64) => ternary(d, abc, |a: u64, b: u64, c: f32| if c >= 0.0 { a } else { b }),
        (_, _) if op.take("ftz") => ternary(d, abc, |a: u32, b: u32, c| if flush(c) >= 0.0 { a } else { b }),
        (_, _) => ternary(d, abc, |a: u32, b: u32, c: f32| if c >= 0.0 { a } else { b }),
    })
}

pub(super) fn selp(op: &Opcode<'_>, o: &Operands<'_>) -> Result<Compute, Unsupported> {
    let ty = single_type(op)?;
    o.expect(4)?;
    let p = o.pred(3)?;
    if ty == Type::Pred {
        let (d, a, b) = (super::logic::pred_result(o)?, o.pred(1)?, o.pred(2)?);
        return Ok(predicate(d, move |registers, _| {
            let p = registers.test(p);
            registers.test(a) & p | registers.test(b) & !p
        }));
    }
    let (d, ab) = (o.dst(0, ty)?, (o.src(1, ty)?, o.src(2, ty)?));
    Ok(match ty.bits() {
        16 | 32 => select::<u32>(d, ab, p),
        64 => select::<u64>(d, ab, p),
        _ => return Err(no_such_type(op, ty)),
    })
}
