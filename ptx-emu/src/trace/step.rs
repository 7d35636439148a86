//! What one instruction of a warp did.

use crate::finding::Finding;
use crate::launch::BlockIndex;
use crate::types::Space;

/// A warp of a launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct WarpId {
    /// x, y, z of its block in the grid.
    pub block: BlockIndex,
    /// Its index in the block.
    pub warp: u32,
}

/// One instruction of one warp, as it was executed. Sets of lanes are bit masks: bit i is lane i.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// The warp.
    pub warp: WarpId,
    /// The line of the PTX, counted from 1: [`Kernel::source`](crate::Kernel::source) says where it comes from.
    pub line: u32,
    /// The index in [`Trace::instructions`](super::Trace::instructions).
    pub instruction: u32,
    /// The lanes at this instruction.
    pub lanes: u32,
    /// Those of them whose guard holds.
    pub active: u32,
    /// Active lanes that have to wait at the instruction, as at a barrier: they execute it again, or go on behind it.
    pub waiting: u32,
    /// Registers that it wrote.
    pub registers: Vec<RegisterWrite>,
    /// Accesses to memory, those of asynchronous copies that complete here included.
    pub accesses: Vec<Access>,
    /// What else happened.
    pub events: Vec<Event>,
}

/// A register that an instruction wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegisterWrite {
    /// The index in [`Trace::registers`](super::Trace::registers).
    pub register: u32,
    /// The lanes that wrote it.
    pub lanes: u32,
    /// Those that wrote it for the first time: it had no value before.
    pub first: u32,
    /// By lane of `lanes`, in ascending order, 32-bit words.
    pub(crate) before: Box<[u32]>,
    pub(crate) after: Box<[u32]>,
}

impl RegisterWrite {
    /// A lane's value before; `None` where the lane did not write, or the register had no value.
    #[must_use]
    pub fn before(&self, lane: u32) -> Option<u128> {
        if lane < 32 && self.first >> lane & 1 != 0 { None } else { self.value(&self.before, lane) }
    }

    /// The value that a lane wrote; `None` where it did not write.
    #[must_use]
    pub fn after(&self, lane: u32) -> Option<u128> {
        self.value(&self.after, lane)
    }

    /// The lanes whose value is another than before.
    #[must_use]
    pub fn changed(&self) -> u32 {
        let is_other = |lane: &u32| self.before(*lane) != self.after(*lane);
        (0..32).filter(is_other).fold(0, |mask, lane| mask | 1 << lane)
    }

    /// Words of a lane.
    pub(crate) fn words(&self) -> usize {
        self.after.len() / (self.lanes.count_ones().max(1) as usize)
    }

    fn value(&self, values: &[u32], lane: u32) -> Option<u128> {
        if lane >= 32 || self.lanes >> lane & 1 == 0 {
            return None;
        }
        let (index, words) = ((self.lanes & ((1 << lane) - 1)).count_ones() as usize, self.words());
        let words = values.get(index * words..)?.get(..words)?;
        Some(words.iter().rev().fold(0, |value, word| value << 32 | u128::from(*word)))
    }
}

/// An access to memory of one or several lanes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Access {
    /// The line of the instruction that it belongs to: of an asynchronous copy, where that was issued.
    pub line: u32,
    /// Whether it is that of an asynchronous copy, which completes here.
    pub is_async: bool,
    /// Whether it reads, writes, or both.
    pub kind: AccessKind,
    /// The state space.
    pub space: Space,
    /// Of shared memory: whose; else the block that accesses.
    pub block: BlockIndex,
    /// Bytes of each place.
    pub bytes: u32,
    /// Where, by lane in ascending order; several places for a lane that copies.
    pub places: Box<[Place]>,
    /// The bytes of all places before; of a read, those that were read.
    pub before: Box<[u8]>,
    /// The bytes of all places after a write; empty for a read. Where several lanes write to one place, what is left there.
    pub after: Box<[u8]>,
}

/// Where a lane accesses memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The lane.
    pub lane: u8,
    /// The address: in shared memory the offset in the block's, in local memory in the thread's.
    pub address: u64,
}

/// The kind of an access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccessKind {
    /// It reads.
    Read,
    /// It writes.
    Write,
    /// It reads and writes at once.
    Atomic,
}

impl Access {
    /// Whether it writes.
    #[must_use]
    pub fn writes(&self) -> bool {
        self.kind != AccessKind::Read
    }

    /// The bytes of a place before: see [`Access::before`].
    #[must_use]
    pub fn before_at(&self, place: usize) -> &[u8] {
        slice(&self.before, place, self.bytes)
    }

    /// The bytes of a place after a write.
    #[must_use]
    pub fn after_at(&self, place: usize) -> &[u8] {
        slice(&self.after, place, self.bytes)
    }
}

fn slice(bytes: &[u8], place: usize, width: u32) -> &[u8] {
    bytes.get(place * width as usize..).and_then(|rest| rest.get(..width as usize)).unwrap_or_default()
}

/// What an instruction did besides registers and memory. Addresses are those in shared memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// Lanes arrived at a barrier of the block; `waits` unless by `bar.arrive`.
    BarrierArrived {
        /// The barrier.
        id: u32,
        /// Threads that have arrived so far.
        arrived: u32,
        /// Threads that it expects.
        expected: u32,
        /// Whether these lanes wait.
        waits: bool,
    },
    /// A barrier of the block completed: who waits there goes on.
    BarrierCompleted {
        /// The barrier.
        id: u32,
    },
    /// Lanes arrived at the cluster barrier.
    ClusterArrived {
        /// Threads that have arrived so far, and all of them.
        arrived: u32,
        /// Threads of the cluster that have not exited.
        expected: u32,
    },
    /// The cluster barrier completed.
    ClusterCompleted,
    /// An mbarrier was initialised.
    MbarrierInit {
        /// Its block.
        block: BlockIndex,
        /// Where it is.
        address: u64,
        /// Arrivals that it expects in a phase.
        count: u32,
    },
    /// Arrivals at an mbarrier, or bytes that it shall expect or that have come.
    MbarrierArrived {
        /// Its block.
        block: BlockIndex,
        /// Where it is.
        address: u64,
        /// Arrivals that are pending still.
        pending: u32,
        /// Bytes that are pending; negative where they came before they were expected.
        bytes: i32,
    },
    /// A phase of an mbarrier completed.
    MbarrierCompleted {
        /// Its block.
        block: BlockIndex,
        /// Where it is.
        address: u64,
        /// The parity of the phase that completed.
        parity: u32,
    },
    /// Lanes asked whether a phase of an mbarrier is complete.
    MbarrierTested {
        /// Its block.
        block: BlockIndex,
        /// Where it is.
        address: u64,
        /// The lanes that asked.
        lanes: u32,
        /// Those for which it is.
        complete: u32,
    },
    /// An asynchronous copy was issued.
    CopyIssued(AsyncCopy),
    /// An asynchronous copy completed.
    CopyCompleted(AsyncCopy),
    /// Lanes exited the kernel.
    Exited {
        /// The lanes.
        lanes: u32,
    },
    /// Lanes that waited at the instruction go on: the step has no other effect than the registers of `barrier.red`.
    Resumed {
        /// The lanes.
        lanes: u32,
    },
    /// A checker found something, or the launch ended with this fault.
    Found(Finding),
}

/// An asynchronous copy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AsyncCopy {
    /// How it copies.
    pub kind: CopyKind,
    /// The line that issued it, and the warp.
    pub line: u32,
    /// The warp that issued it.
    pub warp: WarpId,
    /// The lanes that issued it.
    pub lanes: u32,
    /// Bytes in all.
    pub bytes: u32,
    /// Whose shared memory.
    pub block: BlockIndex,
    /// The first byte in shared memory.
    pub shared: u64,
    /// The first byte in global memory; `None` where all of it is out of bounds and zeros are written.
    pub global: Option<u64>,
    /// The mbarrier that it completes on, if any.
    pub barrier: Option<u64>,
}

/// How a copy copies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CopyKind {
    /// `cp.async`, to shared memory.
    Async,
    /// `cp.async.bulk`, tensors included, to shared memory.
    BulkLoad,
    /// The same to global memory.
    BulkStore,
}
