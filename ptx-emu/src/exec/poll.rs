//! Warps that wait for memory to change. What they do meanwhile comes to nothing: it is not counted, others go first, and
//! where all wait, nobody can go on.

use super::warp::{Split, Wait, Warp};
use crate::program::Pc;
use crate::registers::{Mask, Registers, Row};

/// Instructions for which lanes go first that others of their warp wait beside.
pub(super) const FAVOUR: u64 = 1 << 10;

/// What a round of turns has come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Round {
    /// Everybody waits at barriers, or for lanes of the same warp.
    Nothing,
    /// Besides, some read again and again what nobody writes: in shared memory only, or in global memory too.
    Idle {
        of_global: bool,
    },
    Progress,
}

/// What is known of a warp that comes to the same strong access again, and has done nothing but read since.
#[derive(Debug, Default)]
pub(super) struct Poll {
    /// What comes behind the access.
    place: Option<Pc>,
    visits: u64,
    /// Visits to other strong accesses since.
    strays: u64,
    /// What its registers held at one of the visits, and its lanes that came.
    noted: Noted,
    /// It has come again, and they held the same.
    is_idle: bool,
    of_global: bool,
    /// Changes whenever something else than waiting may have happened.
    stamp: u64,
}

#[derive(Debug, Default)]
struct Noted {
    rows: Vec<Row>,
    predicates: Vec<Mask>,
    carry: Mask,
    lanes: Mask,
}

impl Poll {
    /// Whether the warp waits; and a number that is another one when it has not waited all the time since.
    pub(super) fn waits(&self) -> (bool, u64) {
        (self.is_idle, self.stamp)
    }

    /// Where a warp is that comes to a place, for messages: at the access by which it waits, if it goes on behind that.
    pub(super) fn place(&self, pc: Pc) -> Pc {
        if self.is_idle && self.place == Some(pc) { pc - 1 } else { pc }
    }

    pub(super) fn of_global(&self) -> bool {
        self.of_global
    }

    /// The warp does what others may see.
    pub(super) fn end(&mut self) {
        (self.place, self.is_idle, self.of_global) = (None, false, false);
        self.stamp += 1;
    }

    /// The warp has made a strong access, and changed nothing. Whether it does so again and again, and nothing changes.
    pub(super) fn visit(&mut self, place: Pc, lanes: Mask, of_global: bool, registers: &Registers) -> bool {
        self.of_global |= of_global;
        if self.place != Some(place) {
            self.strays += 1;
            if self.place.is_some() && self.strays <= self.visits + 1 {
                return false;
            }
            self.end();
            (self.place, self.visits, self.strays, self.of_global) = (Some(place), 0, 0, of_global);
        }
        self.visits += 1;
        self.strays = 0;
        if self.visits > 2 && self.noted.is(registers, lanes) {
            self.is_idle = true;
            return true;
        }
        // However long the loop is that comes back to the same: R. P. Brent, "An improved Monte Carlo factorization algorithm".
        if self.visits >= 2 && self.visits.is_power_of_two() {
            self.noted.rows.clone_from(&registers.rows);
            self.noted.predicates.clone_from(&registers.predicates);
            (self.noted.carry, self.noted.lanes) = (registers.carry, lanes);
        }
        self.is_idle = false;
        self.stamp += 1;
        false
    }
}

impl Noted {
    fn is(&self, registers: &Registers, lanes: Mask) -> bool {
        (self.carry, self.lanes) == (registers.carry, lanes)
            && self.predicates == registers.predicates
            && self.rows == registers.rows
    }
}

impl Warp {
    /// The warp has read at a place what others may write. Whether it does nothing else.
    pub(super) fn polls(&mut self, place: Pc, lanes: Mask, of_global: bool) -> bool {
        lanes != 0 && self.poll.visit(place, lanes, of_global, &self.registers)
    }

    /// Lets other lanes go first than those that run. Whether there are any that could.
    pub(super) fn favour_others(&mut self) -> bool {
        let mut ready: Vec<Split> = self.splits.iter().filter(|split| split.wait == Wait::Nothing).copied().collect();
        if ready.len() < 2 {
            return false;
        }
        // Each has its turn, those that have come farthest first.
        ready.sort_by_key(|split| std::cmp::Reverse(split.pc));
        self.favoured = ready[self.favours % ready.len()].mask;
        self.favour = FAVOUR;
        self.favours += 1;
        true
    }
}
