//! Comparison operators and where their outcome goes. PTX ISA, "Comparison and Selection Instructions".

use std::cmp::Ordering;

use super::logic::boolean;
use super::{Opcode, Operands, Unsupported};
use crate::Type;
use crate::lanes::lanes_of;
use crate::registers::{Condition, LANES, Mask, PredSlot, Registers, Slot};
use crate::syntax::Operand;

/// What is compared, apart from the order of the operands and a negation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Relation {
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
pub(super) struct Comparison {
    pub relation: Relation,
    pub swap: bool,
    pub negate: bool,
}

impl Relation {
    /// Whether it holds.
    pub(super) fn holds(self, a: f64, b: f64) -> bool {
        match self {
            Self::Equal => a == b,
            Self::Less => a < b,
            Self::LessOrEqual => a <= b,
            Self::Differs => a.partial_cmp(&b).is_some_and(Ordering::is_ne),
            Self::Numbers => !a.is_nan() && !b.is_nan(),
        }
    }
}

impl Comparison {
    /// Operands in the order in which they are compared.
    pub(super) fn order<T>(self, (a, b): (T, T)) -> (T, T) {
        if self.swap { (b, a) } else { (a, b) }
    }

    pub(super) fn take(op: &Opcode<'_>, ty: Type) -> Result<Self, Unsupported> {
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
        Ok(Self { relation, swap, negate })
    }
}

/// A predicate and how it joins an outcome.
type Combination = Option<(fn(Mask, Mask) -> Mask, Condition)>;

/// Where the outcome of a comparison goes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Outcome {
    negate: bool,
    combine: Combination,
    to: Destination,
}

#[derive(Debug, Clone, Copy)]
enum Destination {
    Predicates(Option<PredSlot>, Option<PredSlot>),
    /// This value where it holds, 0 where not; of a pair, in its half.
    Row(Slot, u32),
}

impl Outcome {
    /// The outcome of `setp`.
    pub(super) fn predicates(op: &Opcode<'_>, o: &Operands<'_>, comparison: Comparison) -> Result<Self, Unsupported> {
        let combine = combination(op, o)?;
        let to = match o.get(0)? {
            Operand::Pair(p, q) => Destination::Predicates(o.pred_dst_of(p)?, o.pred_dst_of(q)?),
            _ => Destination::Predicates(o.pred_dst(0)?, None),
        };
        Ok(Self { negate: comparison.negate, combine, to })
    }

    /// The outcome of `set`, which leaves `value` in a register of this type.
    pub(super) fn value(
        op: &Opcode<'_>,
        o: &Operands<'_>,
        comparison: Comparison,
        (ty, value): (Type, u32),
    ) -> Result<Self, Unsupported> {
        let combine = combination(op, o)?;
        Ok(Self { negate: comparison.negate, combine, to: Destination::Row(o.dst(0, ty)?, value) })
    }

    fn combined(self, registers: &Registers, holds: Mask) -> Mask {
        match self.combine {
            Some((f, condition)) => f(holds, registers.test(condition)),
            None => holds,
        }
    }

    /// Stores the outcome of a comparison of single numbers.
    pub(crate) fn store(self, registers: &mut Registers, holds: Mask, mask: Mask) {
        let holds = if self.negate { !holds } else { holds };
        let (p, q) = (self.combined(registers, holds), self.combined(registers, !holds));
        self.write(registers, (p, q), 0, mask);
    }

    /// Stores the outcomes of a comparison of pairs, the lower half's first.
    pub(super) fn store_pair(self, registers: &mut Registers, [low, high]: [Mask; 2], mask: Mask) {
        let (low, high) = if self.negate { (!low, !high) } else { (low, high) };
        let (p, q) = (self.combined(registers, low), self.combined(registers, high));
        self.write(registers, (p, q), 16, mask);
    }

    fn write(self, registers: &mut Registers, (p, q): (Mask, Mask), half: u32, mask: Mask) {
        match self.to {
            Destination::Predicates(p_slot, q_slot) => {
                for (slot, value) in [(p_slot, p), (q_slot, q)] {
                    if let Some(slot) = slot {
                        registers.set_predicate(slot, value, mask);
                    }
                }
            }
            Destination::Row(slot, value) => {
                let mut result = [0; LANES];
                for lane in lanes_of(p) {
                    result[lane] = value;
                }
                if half != 0 {
                    for lane in lanes_of(q) {
                        result[lane] |= value << half;
                    }
                }
                registers.write(slot, &result, mask);
            }
        }
    }
}

/// `.and`, `.or` or `.xor` with the predicate that is then the last operand.
fn combination(op: &Opcode<'_>, o: &Operands<'_>) -> Result<Combination, Unsupported> {
    match op.take_first(&["and", "or", "xor"]).and_then(boolean) {
        Some(f) => {
            o.expect(4)?;
            Ok(Some((f, o.pred(3)?)))
        }
        None => {
            o.expect(3)?;
            Ok(None)
        }
    }
}
