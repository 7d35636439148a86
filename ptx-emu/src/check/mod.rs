//! Checkers: observers of a block's accesses and barriers, each of which can be switched off.

mod beside;
mod clocks;
mod cluster;
mod events;
mod global;
mod race;
#[cfg(test)]
mod tests;
mod written;

use clocks::Clocks;
pub(crate) use clocks::Since;
pub(crate) use cluster::ClusterEvent;
use global::BlockRaces;
pub(crate) use global::GlobalRaces;
use race::Races;
use written::Written;

use crate::Space;
use crate::finding::FindingKind;
use crate::lanes::lanes_of;
use crate::program::{Pc, Program};
use crate::registers::{LANES, Mask};

/// Which checkers watch a launch. Deadlocks, run-away loops and `trap` always end it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Checks {
    /// Accesses out of bounds, to freed memory, or misaligned. Without it such loads give 0 and such stores do nothing.
    pub memory: bool,
    /// Reads of shared or local memory that nobody wrote.
    pub uninitialized: bool,
    /// Accesses of a block to its own shared memory that nothing puts in an order; those of other blocks are not looked at.
    pub races: bool,
    /// Accesses to global memory that nothing puts in an order, among the threads of the blocks that run. It remembers
    /// who accessed what: some 50 bytes for each word that is touched.
    pub global_races: bool,
    /// Barriers that part of a warp or of a block does not reach.
    pub barriers: bool,
}

impl Checks {
    /// Every checker.
    pub const ALL: Self = Self { memory: true, uninitialized: true, races: true, global_races: true, barriers: true };
    /// None of them.
    pub const NONE: Self =
        Self { memory: false, uninitialized: false, races: false, global_races: false, barriers: false };
}

/// What an access does. Strong accesses do not race with each other, and order what is done before and after them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AccessKind {
    Read,
    Write,
    StrongRead,
    StrongWrite,
    /// Reads and writes at once.
    Atomic,
}

impl AccessKind {
    pub(crate) const fn is_strong(self) -> bool {
        matches!(self, Self::StrongRead | Self::StrongWrite | Self::Atomic)
    }

    pub(crate) const fn reads(self) -> bool {
        matches!(self, Self::Read | Self::StrongRead | Self::Atomic)
    }

    pub(crate) const fn writes(self) -> bool {
        matches!(self, Self::Write | Self::StrongWrite | Self::Atomic)
    }
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
    /// A race with the access of a thread, by its number in its block, at `Discovery::other`.
    Race {
        space: Space,
        address: u64,
        bytes: u32,
        thread: usize,
        /// Its block, by number, where it is another.
        block: Option<u32>,
        kind: AccessKind,
    },
}

/// The checkers of one block after the other.
#[derive(Debug, Default)]
pub(crate) struct BlockChecks {
    clocks: Option<Clocks>,
    races: Option<Races>,
    global: Option<BlockRaces>,
    shared: Option<Written>,
    local: Option<Written>,
    /// Bytes from one thread's local memory to the next one's.
    local_stride: u64,
}

impl BlockChecks {
    /// For blocks of so many warps and bytes of shared memory.
    pub(crate) fn new(checks: Checks, program: &Program, warps: usize, shared_bytes: usize) -> Self {
        let local_stride = u64::from(program.local_bytes).next_multiple_of(4);
        let local_bytes = local_stride as usize * warps * LANES;
        Self {
            clocks: (checks.races || checks.global_races).then(|| Clocks::new(warps)),
            races: checks.races.then(|| Races::new(warps, shared_bytes, program.shared_granule)),
            global: checks.global_races.then(BlockRaces::new),
            shared: checks.uninitialized.then(|| Written::new(shared_bytes)),
            local: checks.uninitialized.then(|| Written::new(local_bytes)),
            local_stride,
        }
    }

    /// Begins the block of that number.
    pub(crate) fn start(&mut self, block: u32) {
        let forget = self.clocks.as_mut().is_some_and(Clocks::start);
        if let Some(races) = &mut self.races {
            races.start(forget);
        }
        if let Some(global) = &mut self.global {
            global.start(block);
        }
        [&mut self.shared, &mut self.local].into_iter().flatten().for_each(Written::start);
    }

    /// An access to shared memory, by offsets into it, which are inside.
    pub(crate) fn shared(&mut self, access: &Observed<'_>) -> Vec<Discovery> {
        let mut found = Vec::new();
        if let Some(written) = &mut self.shared {
            found.extend(written.access(access, "shared", access.addresses));
        }
        let Some(clocks) = &mut self.clocks else { return found };
        if access.kind.is_strong() {
            acquire(clocks, access, Space::Shared);
        }
        if let Some(races) = &mut self.races {
            races.access(clocks, access, &mut found);
        }
        if access.kind.is_strong() {
            release(clocks, access, Space::Shared);
        }
        found
    }

    /// An access to local memory, by offsets into each thread's, which are inside.
    pub(crate) fn local(&mut self, access: &Observed<'_>) -> Option<Discovery> {
        let first = (access.warp * LANES) as u64;
        let places = std::array::from_fn(|lane| (first + lane as u64) * self.local_stride + access.addresses[lane]);
        self.local.as_mut()?.access(access, "local", &places)
    }

    /// An access to global memory that is about to be made.
    pub(crate) fn global(&mut self, all: Option<&GlobalRaces>, access: &Observed<'_>) -> Vec<Discovery> {
        let mut found = Vec::new();
        let Some(clocks) = &mut self.clocks else { return found };
        if access.kind.is_strong() {
            acquire(clocks, access, Space::Global);
        }
        if let (Some(global), Some(all)) = (&mut self.global, all) {
            global.access(all, clocks, access, &mut found);
        }
        if access.kind.is_strong() {
            release(clocks, access, Space::Global);
        }
        found
    }

    /// A strong access to global memory has been made: the block knows what others had done that it now may see.
    pub(crate) fn global_done(&mut self, all: &GlobalRaces, access: &Observed<'_>) {
        if let Some(global) = self.global.as_mut().filter(|_| access.kind.is_strong() && access.kind.reads()) {
            global.acquire(all, access);
        }
    }

    /// A warp has arrived at a barrier.
    pub(crate) fn arrive(&mut self, barrier: usize, warp: usize) {
        if let Some(clocks) = &mut self.clocks {
            clocks.arrive(barrier, warp);
        }
    }

    /// A barrier has opened for the warps that wait at it.
    pub(crate) fn open(&mut self, barrier: usize, waiters: u32) {
        if let Some(clocks) = &mut self.clocks {
            clocks.open(barrier, waiters);
        }
    }

    /// Lanes of a warp have met, of those that are `live`.
    pub(crate) fn warp_met(&mut self, warp: usize, members: Mask, live: Mask) {
        if let Some(clocks) = &mut self.clocks {
            clocks.warp_met(warp, members, live);
        }
    }
}

/// What the clocks know a word of shared or global memory by.
fn word_name(address: u64, space: Space) -> u64 {
    (address / 4) | if space == Space::Shared { 1 << 63 } else { 0 }
}

/// The words of a strong access, each once where lanes side by side share it, with the lanes.
fn words<'a>(access: &'a Observed<'_>, space: Space) -> impl Iterator<Item = (u64, Mask)> + 'a {
    let mut rest = access.mask;
    std::iter::from_fn(move || {
        let word = |lane: usize| word_name(access.addresses[lane], space);
        let first = (rest != 0).then(|| word(rest.trailing_zeros() as usize))?;
        let same = lanes_of(rest).take_while(|&lane| word(lane) == first).fold(0, |mask, lane| mask | 1 << lane);
        rest &= !same;
        Some((first, same))
    })
}

fn acquire(clocks: &mut Clocks, access: &Observed<'_>, space: Space) {
    if access.kind.reads() {
        words(access, space).for_each(|(word, lanes)| clocks.acquire(word, access.warp, lanes));
    }
}

fn release(clocks: &mut Clocks, access: &Observed<'_>, space: Space) {
    if access.kind.writes() {
        words(access, space).for_each(|(word, _)| clocks.release(word, access.warp));
        clocks.tick(access.warp);
    }
}
