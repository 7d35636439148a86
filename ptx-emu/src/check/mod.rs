//! Checkers: observers of a cluster's accesses and barriers, each of which can be switched off.

mod beside;
mod clocks;
mod cluster;
mod events;
mod global;
mod race;
#[cfg(test)]
mod tests;
mod written;

pub(crate) use clocks::Since;
use clocks::{BLOCK_BARRIERS, Clocks};
use global::ClusterRaces;
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
    /// Accesses to shared memory that nothing puts in an order, among the threads of a cluster.
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
    /// Its number in the cluster, one block after the other.
    pub warp: usize,
    pub mask: Mask,
    /// Where each lane of the mask accesses.
    pub addresses: &'a [u64; LANES],
    /// Bytes that each lane accesses.
    pub bytes: u32,
}

/// How an access is made that goes on beside the thread that began it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Beside {
    /// As the thread's own.
    Generic,
    /// Through the asynchronous proxy, by the copy engine or a tensor core; a barrier may have `told` others of its end.
    Engine { told: bool },
}

/// Bytes of one lane beyond which an access is one of a copy engine.
const MAX_BYTES: u32 = 32;

impl Observed<'_> {
    /// The place that a lane accesses, and its bytes; of a copy in bulk, the piece of it that something at an address is in.
    fn around(&self, place: u64, lane: usize) -> (u64, u32) {
        const PIECE: u32 = 16;
        match self.bytes {
            ..=MAX_BYTES => (self.addresses[lane], self.bytes),
            _ => (place - place % u64::from(PIECE), PIECE),
        }
    }
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
    /// A race with the access of a thread, by its number in its cluster, at `Discovery::other`.
    Race {
        space: Space,
        address: u64,
        bytes: u32,
        thread: usize,
        /// Its cluster, by number, where it is another.
        cluster: Option<u32>,
        kind: AccessKind,
    },
    /// No `fence.proxy.async` after the write by a thread, by its number in its cluster, at `Discovery::other`.
    NoFence { address: u64, bytes: u32, thread: usize },
}

/// What the checkers know of the blocks of a cluster together.
#[derive(Debug, Default)]
pub(crate) struct ClusterChecks {
    clocks: Option<Clocks>,
    global: Option<ClusterRaces>,
}

/// What they know of a block's shared memory.
#[derive(Debug, Default)]
pub(crate) struct SharedChecks {
    rank: usize,
    races: Option<Races>,
    written: Option<Written>,
}

/// The checkers of one block after the other. While it runs, it has what they know of its cluster, and of the shared memory
/// that is accessed.
#[derive(Debug, Default)]
pub(crate) struct BlockChecks {
    pub cluster: ClusterChecks,
    pub memory: SharedChecks,
    local: Option<Written>,
    /// Bytes from one thread's local memory to the next one's.
    local_stride: u64,
    /// The block's rank in its cluster, and the number of its first warp.
    rank: usize,
    first: usize,
}

impl ClusterChecks {
    /// For clusters of so many blocks, and blocks of so many warps.
    pub(crate) fn new(checks: Checks, blocks: usize, warps: usize) -> Self {
        Self {
            clocks: (checks.races || checks.global_races).then(|| Clocks::new(blocks * warps, blocks)),
            global: checks.global_races.then(|| ClusterRaces::new(blocks * warps)),
        }
    }

    /// Begins the cluster of that number. Returns whether what was noted of shared memory must be forgotten.
    pub(crate) fn start(&mut self, cluster: u32) -> bool {
        if let Some(global) = &mut self.global {
            global.start(cluster);
        }
        self.clocks.as_mut().is_some_and(Clocks::start)
    }
}

impl SharedChecks {
    /// For so many bytes of the block of that rank, in clusters of so many blocks, and blocks of so many warps.
    pub(crate) fn new(checks: Checks, granule: u32, bytes: usize, rank: usize, [blocks, warps]: [usize; 2]) -> Self {
        let own = rank * warps..(rank + 1) * warps;
        Self {
            rank,
            races: checks.races.then(|| Races::new(own, blocks * warps, bytes, granule)),
            written: checks.uninitialized.then(|| Written::new(bytes)),
        }
    }

    /// Begins a block; `forget` where times begin anew.
    pub(crate) fn start(&mut self, forget: bool) {
        if let Some(races) = &mut self.races {
            races.start(forget);
        }
        if let Some(written) = &mut self.written {
            written.start();
        }
    }

    /// The rank of the block whose memory it is.
    pub(crate) fn rank(&self) -> usize {
        self.rank
    }

    /// What the clocks know this shared memory by.
    fn area(&self) -> u64 {
        1 << 63 | (self.rank as u64) << 48
    }
}

impl BlockChecks {
    /// For blocks of so many warps and of that rank in their cluster.
    pub(crate) fn new(checks: Checks, program: &Program, warps: usize, rank: usize) -> Self {
        let local_stride = u64::from(program.local_bytes).next_multiple_of(4);
        let local_bytes = local_stride as usize * warps * LANES;
        let local = checks.uninitialized.then(|| Written::new(local_bytes));
        Self { local, local_stride, rank, first: rank * warps, ..Self::default() }
    }

    /// Begins a block.
    pub(crate) fn start(&mut self) {
        if let Some(local) = &mut self.local {
            local.start();
        }
    }

    /// An access to shared memory, by offsets into it, which are inside.
    pub(crate) fn shared(&mut self, access: &Observed<'_>) -> Vec<Discovery> {
        let mut found = Vec::new();
        let area = self.memory.area();
        if let Some(written) = &mut self.memory.written {
            found.extend(written.access(access, "shared", access.addresses));
        }
        let Some(clocks) = &mut self.cluster.clocks else { return found };
        if access.kind.is_strong() {
            acquire(clocks, access, area);
        }
        if let Some(races) = &mut self.memory.races {
            races.access(clocks, access, &mut found);
        }
        if access.kind.is_strong() {
            release(clocks, access, area);
        }
        found
    }

    /// An access to local memory, by offsets into each thread's, which are inside.
    pub(crate) fn local(&mut self, access: &Observed<'_>) -> Option<Discovery> {
        let first = ((access.warp - self.first) * LANES) as u64;
        let places = std::array::from_fn(|lane| (first + lane as u64) * self.local_stride + access.addresses[lane]);
        self.local.as_mut()?.access(access, "local", &places)
    }

    /// An access to global memory that is about to be made.
    pub(crate) fn global(&mut self, all: Option<&GlobalRaces>, access: &Observed<'_>) -> Vec<Discovery> {
        let mut found = Vec::new();
        let Some(clocks) = &mut self.cluster.clocks else { return found };
        if access.kind.is_strong() {
            acquire(clocks, access, GLOBAL);
        }
        if let (Some(global), Some(all)) = (&mut self.cluster.global, all) {
            global.access(all, clocks, access, &mut found);
        }
        if access.kind.is_strong() {
            release(clocks, access, GLOBAL);
        }
        found
    }

    /// A strong access to global memory has been made: its warp knows what others had done that it now may see.
    pub(crate) fn global_done(&mut self, all: &GlobalRaces, access: &Observed<'_>) {
        let ClusterChecks { clocks, global } = &mut self.cluster;
        if let (Some(global), Some(clocks), true, true) = (global, clocks, access.kind.is_strong(), access.kind.reads())
        {
            global.acquire(all, clocks, access);
        }
    }

    /// A warp has arrived at a barrier of the block.
    pub(crate) fn arrive(&mut self, barrier: usize, warp: usize) {
        if let Some(clocks) = &mut self.cluster.clocks {
            clocks.arrive(self.rank * BLOCK_BARRIERS + barrier, warp);
        }
    }

    /// A barrier has opened for those of the block's warps that wait at it.
    pub(crate) fn open(&mut self, barrier: usize, waiters: u32) {
        if let Some(clocks) = &mut self.cluster.clocks {
            clocks.open(self.rank * BLOCK_BARRIERS + barrier, waiters, self.first);
        }
    }

    /// Lanes of a warp have met, of those that are `live`.
    pub(crate) fn warp_met(&mut self, warp: usize, members: Mask, live: Mask) {
        if let Some(clocks) = &mut self.cluster.clocks {
            clocks.warp_met(warp, members, live);
        }
    }
}

/// As [`SharedChecks::area`], of global memory.
const GLOBAL: u64 = 0;

/// What the clocks know a word by.
fn word_name(address: u64, area: u64) -> u64 {
    (address / 4) | area
}

/// The words of a strong access, each once where lanes side by side share it, with the lanes.
fn words<'a>(access: &'a Observed<'_>, area: u64) -> impl Iterator<Item = (u64, Mask)> + 'a {
    let mut rest = access.mask;
    std::iter::from_fn(move || {
        let word = |lane: usize| word_name(access.addresses[lane], area);
        let first = (rest != 0).then(|| word(rest.trailing_zeros() as usize))?;
        let same = lanes_of(rest).take_while(|&lane| word(lane) == first).fold(0, |mask, lane| mask | 1 << lane);
        rest &= !same;
        Some((first, same))
    })
}

fn acquire(clocks: &mut Clocks, access: &Observed<'_>, area: u64) {
    if access.kind.reads() {
        words(access, area).for_each(|(word, lanes)| clocks.acquire(word, access.warp, lanes));
    }
}

fn release(clocks: &mut Clocks, access: &Observed<'_>, area: u64) {
    if access.kind.writes() {
        words(access, area).for_each(|(word, _)| clocks.release(word, access.warp));
        clocks.tick(access.warp);
    }
}
