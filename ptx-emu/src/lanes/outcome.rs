//! The result of a comparison: `setp`, `set`.

use super::lanes_of;
use super::registers::{Condition, LANES, Mask, PredSlot, Registers, Slot};

/// A predicate, and how it combines with the result.
pub(crate) type Combination = Option<(fn(Mask, Mask) -> Mask, Condition)>;

/// How the result of a comparison is combined and stored.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Outcome {
    pub negate: bool,
    pub combine: Combination,
    pub to: Destination,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Destination {
    Predicates(Option<PredSlot>, Option<PredSlot>),
    /// This value where it is true, else 0; for pairs, by half.
    Row(Slot, u32),
}

impl Outcome {
    fn combined(self, registers: &Registers, holds: Mask) -> Mask {
        match self.combine {
            Some((f, condition)) => f(holds, registers.test(condition)),
            None => holds,
        }
    }

    /// Stores the result of a scalar comparison.
    pub(crate) fn store(self, registers: &mut Registers, holds: Mask, mask: Mask) {
        let holds = if self.negate { !holds } else { holds };
        let (p, q) = (self.combined(registers, holds), self.combined(registers, !holds));
        self.write(registers, (p, q), 0, mask);
    }

    /// Stores the results of a packed comparison, the lower half first.
    pub(crate) fn store_pair(self, registers: &mut Registers, [low, high]: [Mask; 2], mask: Mask) {
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
