//! Comparison operators and their results. PTX ISA, "Comparison and Selection Instructions".

use std::cmp::Ordering;

use super::logic::boolean;
use super::{Opcode, Operands, Unsupported};
use crate::lanes::{Combination, Destination, Outcome};
use crate::syntax::Operand;
use crate::types::Type;

/// A relation, apart from operand order and negation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Relation {
    Equal,
    Less,
    LessOrEqual,
    /// Ordered and not equal.
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
            // An unordered comparison is the negation of an ordered one.
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

/// The result of `setp`.
pub(super) fn to_predicates(op: &Opcode<'_>, o: &Operands<'_>, comparison: Comparison) -> Result<Outcome, Unsupported> {
    let combine = combination(op, o)?;
    let to = match o.get(0)? {
        Operand::Pair(p, q) => Destination::Predicates(o.pred_dst_of(p)?, o.pred_dst_of(q)?),
        _ => Destination::Predicates(o.pred_dst(0)?, None),
    };
    Ok(Outcome { negate: comparison.negate, combine, to })
}

/// The result of `set`, which writes `value` to a register of this type.
pub(super) fn to_register(
    op: &Opcode<'_>,
    o: &Operands<'_>,
    comparison: Comparison,
    (ty, value): (Type, u32),
) -> Result<Outcome, Unsupported> {
    let combine = combination(op, o)?;
    Ok(Outcome { negate: comparison.negate, combine, to: Destination::Row(o.dst(0, ty)?, value) })
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
