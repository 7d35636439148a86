//! Checkers: observers of a block's accesses and barriers, each of which can be switched off.

mod race;
mod written;

use race::Races;
use written::Written;

use crate::finding::FindingKind;
use crate::program::{Pc, Program};
use crate::registers::{LANES, Mask};

/// Which checkers watch a launch. Deadlocks, run-away loops and `trap` always end it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Checks {
    /// Accesses out of bounds, to freed memory, or misaligned. Without it such loads give 0 and such stores do nothing.
    pub memory: bool,
    /// Reads of shared or local memory that nobody wrote.
    pub uninitialized: bool,
    /// Accesses that nothing puts in an order, to shared memory and to global memory.
    pub races: bool,
    /// Barriers that part of a warp or of a block does not reach.
    pub barriers: bool,
}

impl Checks {
    /// Every checker.
    pub const ALL: Self = Self { memory: true, uninitialized: true, races: true, barriers: true };
    /// None of them.
    pub const NONE: Self = Self { memory: false, uninitialized: false, races: false, barriers: false };
}

/// What an access does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AccessKind {
    Read,
    Write,
    /// Atomic, or a strong access: it does not race with others of its kind.
    Atomic,
}

/// One access of a warp's lanes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Observed<'a> {
    pub kind: AccessKind,
    pub pc: Pc,
    pub warp: usize,
    pub mask: Mask,
    /// Where each lane of the mask accesses.
    pub addresses: &'a [u64; LANES],
    /// Bytes that each lane accesses.
    pub bytes: u32,
}

/// Something that a checker found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Discovery {
    pub kind: FindingKind,
    /// The lane that did it.
    pub lane: usize,
    /// The other place, where there is one: discoveries of the same two places are one finding.
    pub other: Option<Pc>,
    pub what: What,
}

/// What was found, in terms that the block puts into words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum What {
    /// A finished sentence.
    Text(String),
    /// A race at this address with the access of a thread of the block, by its number, at `Discovery::other`.
    Race { address: u64, bytes: u32, thread: usize, kind: AccessKind },
}

/// The checkers of one block.
#[derive(Debug, Default)]
pub(crate) struct BlockChecks {
    races: Option<Races>,
    shared: Option<Written>,
    local: Option<Written>,
}

impl BlockChecks {
    /// For a block of so many warps and bytes of shared memory.
    pub(crate) fn new(checks: Checks, program: &Program, warps: usize, shared_bytes: usize) -> Self {
        let local_bytes = program.local_bytes as usize * warps * LANES;
        Self {
            races: checks.races.then(|| Races::new(warps, shared_bytes, program.has_narrow_shared)),
            shared: checks.uninitialized.then(|| Written::new(shared_bytes)),
            local: checks.uninitialized.then(|| Written::new(local_bytes)),
        }
    }

    /// An access to shared memory, by offsets into it, which are inside.
    pub(crate) fn shared(&mut self, access: &Observed<'_>) -> Vec<Discovery> {
        let mut found = Vec::new();
        if let Some(written) = &mut self.shared {
            found.extend(written.access(access, "shared"));
        }
        if let Some(races) = &mut self.races {
            races.access(access, &mut found);
        }
        found
    }

    /// An access to local memory, by offsets into that of the whole block, which are inside.
    pub(crate) fn local(&mut self, access: &Observed<'_>) -> Option<Discovery> {
        self.local.as_mut()?.access(access, "local")
    }

    /// These warps have met at a barrier.
    pub(crate) fn met(&mut self, warps: u32) {
        if let Some(races) = &mut self.races {
            races.met(warps);
        }
    }

    /// Lanes of a warp have met.
    pub(crate) fn warp_met(&mut self, warp: usize) {
        if let Some(races) = &mut self.races {
            races.warp_met(warp);
        }
    }
}
