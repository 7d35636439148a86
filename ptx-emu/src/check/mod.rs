//! Checkers: observers of the accesses and barriers of a cluster. Each can be disabled.

mod areas;
mod async_accesses;
mod clocks;
mod cluster;
mod events;
mod fences;
mod global;
mod inits;
mod local;
mod race;
#[cfg(test)]
mod tests;
mod written;

use std::ops::Range;

use areas::{GLOBAL, word_name, words};
pub(crate) use clocks::Since;
use clocks::{BLOCK_BARRIERS, Clocks};
use fences::Fences;
use global::ClusterRaces;
pub(crate) use global::GlobalRaces;
use inits::Inits;
use race::Races;
use written::Written;

use crate::finding::{FindingKind, Rank};
use crate::lanes::{LANES, Mask};
use crate::program::{Pc, Program};
use crate::types::{Scope, Semantics, Space};

/// Which checkers are enabled. Deadlocks, runaway loops and `trap` always end a launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Checks {
    /// Accesses out of bounds, to freed memory, or misaligned. If disabled, such loads return 0 and such stores do
    /// nothing.
    pub memory: bool,
    /// Reads of shared or local memory that was never written, and loads of global memory that
    /// [`GlobalMemory::forbid_loads`](crate::GlobalMemory::forbid_loads) names.
    pub uninitialized: bool,
    /// Races in shared memory, among the threads of a cluster.
    pub races: bool,
    /// Races in global memory, among the threads of the blocks that run. Takes about 50 bytes per word touched.
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

/// The kind of an access. Strong accesses do not race with each other within their scope.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AccessKind {
    Read,
    Write,
    StrongRead,
    StrongWrite,
    /// A read-modify-write.
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
    /// Its index in the cluster, block by block.
    pub warp: usize,
    pub mask: Mask,
    /// Address in each lane of the mask.
    pub addresses: &'a [u64; LANES],
    /// Bytes per lane.
    pub bytes: u32,
    pub semantics: Semantics,
}

/// The proxy of an asynchronous access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Proxy {
    /// Generic, as the thread's own accesses.
    Generic,
    /// Async, as TMA and tensor cores; `signalled` if an mbarrier tells others of its completion.
    Async { signalled: bool },
}

/// Bytes per lane above which an access is a bulk copy.
const MAX_BYTES: u32 = 32;

impl<'a> Observed<'a> {
    /// A weak access.
    pub(crate) fn weak(
        kind: AccessKind,
        pc: Pc,
        (warp, mask): (usize, Mask),
        addresses: &'a [u64; LANES],
        bytes: u32,
    ) -> Self {
        Self { kind, pc, warp, mask, addresses, bytes, semantics: Semantics::DEFAULT }
    }

    /// Address and bytes of a lane's access; of a bulk copy, the chunk that contains `address`.
    fn around(&self, address: u64, lane: usize) -> (u64, u32) {
        const CHUNK_BYTES: u32 = 16;
        match self.bytes {
            ..=MAX_BYTES => (self.addresses[lane], self.bytes),
            _ => (address - address % u64::from(CHUNK_BYTES), CHUNK_BYTES),
        }
    }
}

/// What a checker found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Discovery {
    pub kind: FindingKind,
    pub rank: Rank,
    /// The lane at fault.
    pub lane: usize,
    /// The other instruction, if any: discoveries of the same two instructions are one finding.
    pub other: Option<Pc>,
    pub what: What,
}

/// The details, from which the block makes a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum What {
    /// The message itself.
    Text(String),
    /// A race with the access of a thread, by its index in its cluster, at `Discovery::other`.
    Race {
        space: Space,
        address: u64,
        bytes: u32,
        thread: usize,
        /// Its time.
        time: u32,
        /// The other thread's cluster, if another.
        cluster: Option<u32>,
        kind: AccessKind,
        /// A relaxed read has observed its release.
        is_observed: bool,
    },
    /// A non-coherent read of what a thread, by its index in its cluster, wrote at `Discovery::other`.
    NonCoherent { address: u64, bytes: u32, thread: usize, cluster: Option<u32> },
    /// A bulk copy on an mbarrier that a thread, by its index in its cluster, initialised at `Discovery::other`, without a
    /// fence.
    NoInitFence { address: u64, thread: usize },
    /// A missing `fence.proxy.async` after the write of a thread, by its index in its cluster, at `Discovery::other`.
    NoFence { address: u64, bytes: u32, thread: usize },
}

/// Checker state of a cluster.
#[derive(Debug, Default)]
pub(crate) struct ClusterChecks {
    clocks: Option<Clocks>,
    fences: Fences,
    inits: Inits,
    global: Option<ClusterRaces>,
}

/// Checker state of a block's shared memory.
#[derive(Debug, Default)]
pub(crate) struct SharedChecks {
    rank: usize,
    races: Option<Races>,
    written: Option<Written>,
    /// Bytes that are written before the block begins.
    initialised: Range<usize>,
}

/// The checkers of a block, reused for the next. While the block runs, they hold the state of its cluster and of the
/// shared memory that is accessed.
#[derive(Debug, Default)]
pub(crate) struct BlockChecks {
    pub cluster: ClusterChecks,
    pub memory: SharedChecks,
    local: Option<Written>,
    /// Stride of local memory between threads, in bytes.
    local_stride: u64,
    /// The block's rank in its cluster, and the index of its first warp.
    rank: usize,
    first: usize,
}

impl ClusterChecks {
    /// For clusters of `blocks` blocks of `warps` warps.
    pub(crate) fn new(checks: Checks, blocks: usize, warps: usize) -> Self {
        Self {
            clocks: (checks.races || checks.global_races).then(|| Clocks::new(blocks * warps, blocks)),
            fences: Fences::new(blocks * warps),
            inits: Inits::default(),
            global: checks.global_races.then(|| ClusterRaces::new(blocks * warps)),
        }
    }

    /// Starts a cluster. Returns whether the records of shared memory must be cleared.
    pub(crate) fn start(&mut self, cluster: u32) -> bool {
        if let Some(global) = &mut self.global {
            global.start(cluster);
        }
        self.fences.start();
        self.inits.start();
        self.clocks.as_mut().is_some_and(Clocks::start)
    }
}

impl SharedChecks {
    /// For the shared memory of the block of that rank, in clusters of `blocks` blocks of `warps` warps.
    pub(crate) fn new(checks: Checks, granule: u32, bytes: usize, rank: usize, blocks: usize, warps: usize) -> Self {
        let own = rank * warps..(rank + 1) * warps;
        Self {
            rank,
            races: checks.races.then(|| Races::new(own, blocks * warps, bytes, granule)),
            written: checks.uninitialized.then(|| Written::new(bytes)),
            initialised: 0..0,
        }
    }

    /// With bytes that are written before a block begins.
    pub(crate) fn with_initialised(self, initialised: Range<usize>) -> Self {
        Self { initialised, ..self }
    }

    /// Starts a block; `forget` if times restart.
    pub(crate) fn start(&mut self, forget: bool) {
        if let Some(races) = &mut self.races {
            races.start(forget);
        }
        if let Some(written) = &mut self.written {
            written.start();
            written.write(self.initialised.clone());
        }
    }

    /// The rank of the block that owns the memory.
    pub(crate) fn rank(&self) -> usize {
        self.rank
    }

    /// The clocks' key of this shared memory.
    fn area(&self) -> u64 {
        1 << 63 | (self.rank as u64) << 48
    }
}

impl BlockChecks {
    /// For blocks of `warps` warps and that rank.
    pub(crate) fn new(checks: Checks, program: &Program, warps: usize, rank: usize) -> Self {
        let local_stride = u64::from(program.local_bytes).next_multiple_of(4);
        let local_bytes = local_stride as usize * warps * LANES;
        let local = checks.uninitialized.then(|| Written::new(local_bytes));
        Self { local, local_stride, rank, first: rank * warps, ..Self::default() }
    }

    /// Starts a block.
    pub(crate) fn start(&mut self) {
        if let Some(local) = &mut self.local {
            local.start();
        }
    }

    /// An access to shared memory, in bounds.
    pub(crate) fn shared(&mut self, access: &Observed<'_>) -> Vec<Discovery> {
        let mut found = Vec::new();
        let area = self.memory.area();
        if let Some(written) = &mut self.memory.written {
            found.extend(written.access(access, "shared", access.addresses));
        }
        let ClusterChecks { clocks: Some(clocks), fences, .. } = &mut self.cluster else { return found };
        if access.kind.is_strong() && access.kind.reads() {
            fences.read(clocks, access, area);
        }
        if let Some(races) = &mut self.memory.races {
            races.access(clocks, access, &mut found);
        }
        if access.kind.is_strong() && access.kind.writes() {
            fences.write(clocks, access, area);
        }
        found.iter_mut().for_each(|discovery| discovery.consider(fences));
        found
    }

    /// An access to global memory, before it is made.
    pub(crate) fn global(&mut self, all: Option<&GlobalRaces>, access: &Observed<'_>) -> Vec<Discovery> {
        let mut found = Vec::new();
        let ClusterChecks { clocks: Some(clocks), fences, global, .. } = &mut self.cluster else { return found };
        if access.kind.is_strong() && access.kind.reads() {
            fences.read(clocks, access, GLOBAL);
        }
        if let (Some(global), Some(all)) = (global, all) {
            global.access(all, (clocks, fences), access, &mut found);
        }
        if access.kind.is_strong() && access.kind.writes() {
            fences.write(clocks, access, GLOBAL);
        }
        found
    }

    /// After a strong access to global memory: its warp acquires what it may have observed.
    pub(crate) fn global_done(&mut self, all: &GlobalRaces, access: &Observed<'_>) {
        let ClusterChecks { clocks, fences, global, .. } = &mut self.cluster;
        if let (Some(global), Some(clocks), true, true) = (global, clocks, access.kind.is_strong(), access.kind.reads())
        {
            global.observe(all, clocks, fences, access);
        }
    }

    /// A fence of these lanes.
    pub(crate) fn fence(&mut self, all: Option<&GlobalRaces>, warp: usize, lanes: Mask, scope: Scope) {
        let ClusterChecks { clocks: Some(clocks), fences, global, .. } = &mut self.cluster else { return };
        let observed = fences.acquire(clocks, warp, lanes, scope);
        let event = match (global, all) {
            (Some(global), Some(all)) if scope == Scope::Device => global.fence(all, clocks, warp, &observed),
            _ => None,
        };
        fences.release(clocks, (warp, lanes), Some(scope), event);
    }

    /// `fence.mbarrier_init` of these lanes.
    pub(crate) fn fence_mbarriers(&mut self, warp: usize, lanes: Mask) {
        if let Some(clocks) = &mut self.cluster.clocks {
            self.cluster.fences.release(clocks, (warp, lanes), None, None);
        }
        self.fence_inits(warp, lanes);
    }

    /// A warp arrives at a barrier of the block.
    pub(crate) fn arrive(&mut self, barrier: usize, warp: usize) {
        if let Some(clocks) = &mut self.cluster.clocks {
            clocks.arrive(self.rank * BLOCK_BARRIERS + barrier, warp);
        }
    }

    /// A barrier completes for the waiting warps of the block; `for_all` if it expects all threads.
    pub(crate) fn open(&mut self, barrier: usize, waiters: u32, for_all: bool) {
        if let Some(clocks) = &mut self.cluster.clocks {
            clocks.complete(self.rank * BLOCK_BARRIERS + barrier, waiters, self.first, for_all);
        }
    }

    /// Threads of a warp exit, in that phase of the cluster barrier.
    pub(crate) fn exit(&mut self, warp: usize, phase: u64) {
        if let Some(clocks) = &mut self.cluster.clocks {
            clocks.exit(warp, phase);
        }
    }

    /// The warp's time, where order is checked.
    pub(crate) fn time(&self, warp: usize) -> Option<u32> {
        self.cluster.clocks.as_ref().map(|clocks| clocks.time(warp))
    }

    /// Whether what a warp did at that time happened before the end of the block of that rank.
    pub(crate) fn is_known_at_end(&self, rank: usize, warp: usize, time: u32) -> bool {
        self.cluster.clocks.as_ref().is_none_or(|clocks| clocks.has_exited_with(rank, warp, time))
    }

    /// The lanes `members` of the warp have synchronised, of those that are `live`.
    pub(crate) fn warp_synced(&mut self, warp: usize, members: Mask, live: Mask) {
        if let Some(clocks) = &mut self.cluster.clocks {
            clocks.warp_synced(warp, members, live);
        }
    }
}

impl Discovery {
    /// Takes a race for less than an error where the other access was released, and that was observed, but by a relaxed
    /// read that no fence follows.
    fn consider(&mut self, fences: &Fences) {
        if let What::Race { thread, time, cluster: None, ref mut is_observed, .. } = self.what
            && fences.has_observed(thread / LANES, time)
        {
            (self.rank, *is_observed) = (Rank::Warning, true);
        }
    }
}
