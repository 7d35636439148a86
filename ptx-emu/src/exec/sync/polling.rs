//! Lanes that spin on memory lose priority to other ready lanes of their warp.

use crate::exec::state::{SPIN_LIMIT, Split, Wait, Warp};
use crate::lanes::Mask;
use crate::program::Pc;

/// The lowest [`SPIN_LIMIT`] after halving.
const MIN_SPIN_LIMIT: u64 = 1 << 8;

/// Instructions for which lanes keep their priority.
pub(crate) const PRIORITY_INSTRUCTIONS: u64 = 1 << 10;

impl Warp {
    /// A strong access of the warp that changed nothing. Returns whether the warp polls.
    pub(crate) fn polls(&mut self, resume: Pc, lanes: Mask, of_global: bool) -> bool {
        lanes != 0 && self.poll.visit(resume, lanes, of_global, &self.registers)
    }

    /// Prioritises other ready lanes. Returns whether there were any.
    pub(crate) fn prioritise_others(&mut self) -> bool {
        let mut ready: Vec<Split> = self.splits.iter().filter(|split| split.wait == Wait::Nothing).copied().collect();
        if ready.len() < 2 {
            return false;
        }
        // Round-robin, the farthest first.
        ready.sort_by_key(|split| std::cmp::Reverse(split.pc));
        self.prioritised = ready[self.priority_changes % ready.len()].mask;
        self.priority_left = PRIORITY_INSTRUCTIONS;
        self.priority_changes += 1;
        true
    }

    /// Lanes have run `instructions` more: see [`SPIN_LIMIT`].
    pub(crate) fn demote_spinning(&mut self, instructions: u64) {
        if self.splits.len() == 1 {
            (self.spun, self.spin_limit, self.priority_left) = (0, SPIN_LIMIT, 0);
            return;
        }
        if self.priority_left > 0 {
            self.priority_left = self.priority_left.saturating_sub(instructions);
            return;
        }
        self.spun += instructions;
        if self.spun < self.spin_limit {
            return;
        }
        if self.prioritise_others() {
            self.spin_limit = (self.spin_limit / 2).max(MIN_SPIN_LIMIT);
        }
        self.spun = 0;
    }
}
