//! Comparisons and selections. PTX ISA, "Comparison and Selection Instructions".

use super::logic::boolean;
use super::{Compute, Opcode, Operands, Unsupported, no_such_type, single_type};
use crate::Type;
use crate::lanes::{compare, predicate, select};
use crate::ops::float::flush;
use crate::registers::{Condition, Lane, Mask, PredSlot, Registers, Slot};
use crate::syntax::Operand;

/// What is compared, apart from the order of the operands and a negation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Relation {
    Equal,
    Less,
    LessOrEqual,
    /// Less or greater: of numbers, not equal.
    Differs,
    /// Neither is NaN.
    Numbers,
}

/// A comparison operator.
#[derive(Debug, Clone, Copy)]
struct Comparison {
    relation: Relation,
    swap: bool,
    negate: bool,
}

impl Comparison {
    fn take(op: &Opcode<'_>, ty: Type) -> Result<(Self, Type), Unsupported> {
        use Relation::{Differs, Equal, Less, LessOrEqual, Numbers};
        let name = op
            .take_if(|name| {
                matches!(name, "eq" | "ne" | "lt" | "le" | "gt" | "ge" | "lo" | "ls" | "hi" | "hs" | "num" | "nan")
                    || matches!(name, "equ" | "neu" | "ltu" | "leu" | "gtu" | "geu")
            })
            .ok_or_else(|| Unsupported::new("the comparison operator is missing"))?;
        let float = ty.is_float();
        let (relation, swap, negate) = match (name, float) {
            ("eq", _) => (Equal, false, false),
            ("ne", false) => (Equal, false, true),
            ("ne", true) => (Differs, false, false),
            ("lt", _) | ("lo", false) => (Less, false, false),
            ("le", _) | ("ls", false) => (LessOrEqual, false, false),
            ("gt", _) | ("hi", false) => (Less, true, false),
            ("ge", _) | ("hs", false) => (LessOrEqual, true, false),
            // An unordered comparison is the opposite of an ordered one.
            ("equ", true) => (Differs, false, true),
            ("neu", true) => (Equal, false, true),
            ("ltu", true) => (LessOrEqual, true, true),
            ("leu", true) => (Less, true, true),
            ("gtu", true) => (LessOrEqual, false, true),
            ("geu", true) => (Less, false, true),
            ("num", true) => (Numbers, false, false),
            ("nan", true) => (Numbers, false, true),
            _ => return Err(Unsupported::new(format!("{ty} has no comparison .{name}"))),
        };
        if ty.is_bits() && relation != Equal {
            return Err(Unsupported::new(format!("{ty} is only equal or not, .{name} needs an order")));
        }
        if matches!(name, "lo" | "ls" | "hi" | "hs") && ty.is_signed() {
            return Err(Unsupported::new(format!(".{name} is for unsigned numbers")));
        }
        Ok((Self { relation, swap, negate }, ty))
    }
}

/// Where the outcome of a comparison goes.
#[derive(Debug, Clone, Copy)]
struct Outcome {
    negate: bool,
    combine: Option<(fn(Mask, Mask) -> Mask, Condition)>,
    p: Option<PredSlot>,
    q: Option<PredSlot>,
}

impl Outcome {
    fn store(self, registers: &mut Registers, holds: Mask, mask: Mask) {
        let holds = if self.negate { !holds } else { holds };
        let combined = |holds| match self.combine {
            Some((f, condition)) => f(holds, registers.test(condition)),
            None => holds,
        };
        let (p, q) = (combined(holds), combined(!holds));
        for (slot, value) in [(self.p, p), (self.q, q)] {
            if let Some(slot) = slot {
                registers.set_predicate(slot, value, mask);
            }
        }
    }
}

pub(super) fn setp(op: &Opcode<'_>, o: &Operands<'_>) -> Result<Compute, Unsupported> {
    let ty = single_type(op)?;
    let (comparison, ty) = Comparison::take(op, ty)?;
    let combine = op.take_first(&["and", "or", "xor"]).and_then(boolean);
    o.expect(if combine.is_some() { 4 } else { 3 })?;
    let combine = match combine {
        Some(f) => Some((f, o.pred(3)?)),
        None => None,
    };
    let (p, q) = match o.get(0)? {
        Operand::Pair(p, q) => (o.pred_dst_of(p)?, o.pred_dst_of(q)?),
        _ => (o.pred_dst(0)?, None),
    };
    let outcome = Outcome { negate: comparison.negate, combine, p, q };
    let ab = (o.src(1, ty)?, o.src(2, ty)?);
    let ab = if comparison.swap { (ab.1, ab.0) } else { ab };
    let then = move |registers: &mut Registers, holds: Mask, mask: Mask| outcome.store(registers, holds, mask);
    Ok(match ty {
        Type::F32 if op.take("ftz") => flushed(ab, comparison.relation, then),
        Type::F32 => relation::<f32>(ab, comparison.relation, then),
        Type::F64 => relation::<f64>(ab, comparison.relation, then),
        Type::U16 => ordered::<u16>(ab, comparison.relation, then),
        Type::S16 => ordered::<i16>(ab, comparison.relation, then),
        Type::U32 => ordered::<u32>(ab, comparison.relation, then),
        Type::S32 => ordered::<i32>(ab, comparison.relation, then),
        Type::U64 => ordered::<u64>(ab, comparison.relation, then),
        Type::S64 => ordered::<i64>(ab, comparison.relation, then),
        Type::B16 => compare(ab, |a: u16, b: u16| a == b, then),
        Type::B32 => compare(ab, |a: u32, b: u32| a == b, then),
        Type::B64 => compare(ab, |a: u64, b: u64| a == b, then),
        ty => return Err(no_such_type(op, ty)),
    })
}

type Slots = (Slot, Slot);

fn ordered<T: Lane + PartialOrd>(
    ab: Slots,
    relation: Relation,
    then: impl Fn(&mut Registers, Mask, Mask) + Send + Sync + 'static,
) -> Compute {
    match relation {
        Relation::Equal => compare(ab, |a: T, b: T| a == b, then),
        Relation::Less => compare(ab, |a: T, b: T| a < b, then),
        _ => compare(ab, |a: T, b: T| a <= b, then),
    }
}

fn relation<T: Lane + PartialOrd>(
    ab: Slots,
    relation: Relation,
    then: impl Fn(&mut Registers, Mask, Mask) + Send + Sync + 'static,
) -> Compute {
    match relation {
        Relation::Differs => compare(ab, |a: T, b: T| (a < b) | (a > b), then),
        Relation::Numbers => compare(ab, |a: T, b: T| (a == a) & (b == b), then),
        _ => ordered::<T>(ab, relation, then),
    }
}

fn flushed(
    ab: Slots,
    relation: Relation,
    then: impl Fn(&mut Registers, Mask, Mask) + Send + Sync + 'static,
) -> Compute {
    match relation {
        Relation::Equal => compare(ab, |a, b| flush(a) == flush(b), then),
        Relation::Less => compare(ab, |a, b| flush(a) < flush(b), then),
        Relation::LessOrEqual => compare(ab, |a, b| flush(a) <= flush(b), then),
        Relation::Differs => compare(ab, |a, b| (flush(a) < flush(b)) | (flush(a) > flush(b)), then),
        Relation::Numbers => compare(ab, |a: f32, b: f32| !a.is_nan() & !b.is_nan(), then),
    }
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
