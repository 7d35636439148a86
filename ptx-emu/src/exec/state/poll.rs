//! Detects warps that poll memory. Their instructions are not counted, other warps run first, and if all warps poll or
//! wait, the launch is deadlocked.

use crate::lanes::{Mask, Registers, Row};
use crate::program::Pc;

/// Outcome of one time slice of each warp.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Round {
    /// All warps wait at barriers or for lanes of the same warp.
    Nothing,
    /// Some warps poll memory that no thread writes: shared memory only, or global memory too.
    Idle {
        of_global: bool,
    },
    Progress,
}

/// Polling state of a warp: strong accesses repeated without any side effect.
#[derive(Debug, Default)]
pub(crate) struct Poll {
    /// The instruction after the access.
    pub resume: Option<Pc>,
    pub visits: u64,
    /// Executions of other strong accesses since.
    pub strays: u64,
    /// A snapshot of its registers at one of the visits.
    pub snapshot: Snapshot,
    /// The snapshot matched at a later visit.
    pub is_idle: bool,
    pub of_global: bool,
    /// Incremented when the warp may have done anything but poll.
    pub stamp: u64,
}

#[derive(Debug, Default)]
pub(crate) struct Snapshot {
    pub rows: Vec<Row>,
    pub predicates: Vec<Mask>,
    pub carry: Mask,
    pub lanes: Mask,
}

impl Poll {
    /// Whether the warp polls, and a stamp that changes when it stops.
    pub(crate) fn waits(&self) -> (bool, u64) {
        (self.is_idle, self.stamp)
    }

    /// The instruction shown in messages: the access itself if the warp polls there.
    pub(crate) fn instruction(&self, pc: Pc) -> Pc {
        if self.is_idle && self.resume == Some(pc) { pc - 1 } else { pc }
    }

    pub(crate) fn of_global(&self) -> bool {
        self.of_global
    }

    /// The warp has done something that others may see.
    pub(crate) fn end(&mut self) {
        (self.resume, self.is_idle, self.of_global) = (None, false, false);
        self.stamp += 1;
    }

    /// A strong access without effect. Returns whether the warp polls.
    pub(crate) fn visit(&mut self, resume: Pc, lanes: Mask, of_global: bool, registers: &Registers) -> bool {
        self.of_global |= of_global;
        if self.resume != Some(resume) {
            self.strays += 1;
            if self.resume.is_some() && self.strays <= self.visits + 1 {
                return false;
            }
            self.end();
            (self.resume, self.visits, self.strays, self.of_global) = (Some(resume), 0, 0, of_global);
        }
        self.visits += 1;
        self.strays = 0;
        if self.visits > 2 && self.snapshot.matches(registers, lanes) {
            self.is_idle = true;
            return true;
        }
        if self.is_idle {
            // Memory has changed: a new cycle begins.
            self.visits = 2;
        }
        // Finds cycles of any length: R. P. Brent, "An improved Monte Carlo factorization algorithm".
        if self.visits >= 2 && self.visits.is_power_of_two() {
            self.snapshot.rows.clone_from(&registers.rows);
            self.snapshot.predicates.clone_from(&registers.predicates);
            (self.snapshot.carry, self.snapshot.lanes) = (registers.carry, lanes);
        }
        self.is_idle = false;
        self.stamp += 1;
        false
    }
}

impl Snapshot {
    pub(crate) fn matches(&self, registers: &Registers, lanes: Mask) -> bool {
        (self.carry, self.lanes) == (registers.carry, lanes)
            && self.predicates == registers.predicates
            && self.rows == registers.rows
    }
}
