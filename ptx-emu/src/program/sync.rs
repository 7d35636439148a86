//! Barriers of a block and of a cluster, and mbarriers.

use super::memory::AddressExpr;
use crate::lanes::{Condition, PredSlot, Slot};
use crate::types::Space;

/// `bar` and `barrier`.
pub(crate) struct Barrier {
    pub kind: BarrierKind,
    /// Barrier id.
    pub id: Slot,
    /// Threads expected; all if `None`.
    pub threads: Option<Slot>,
    /// `.aligned`: all lanes of the warp execute it together.
    pub aligned: bool,
}

/// The operation of a barrier.
pub(crate) enum BarrierKind {
    Sync,
    Arrive,
    /// `.red`: reduces a predicate over the threads.
    Reduce {
        operation: Reduction,
        source: Condition,
        to: Reduced,
    },
}

/// The reduction of `barrier.red`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reduction {
    Count,
    And,
    Or,
}

/// The result of `barrier.red`.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Reduced {
    Register(Slot),
    Predicate(PredSlot),
}

/// `barrier.cluster.arrive` or `.wait`.
pub(crate) struct ClusterBarrier {
    pub waits: bool,
    /// `.relaxed`: an arrival that releases nothing.
    pub is_relaxed: bool,
    /// All lanes of a warp must run it together.
    pub aligned: bool,
}

/// An mbarrier operation.
pub(crate) struct Mbarrier {
    pub space: Space,
    pub address: AddressExpr,
    pub kind: MbarrierKind,
}

/// The operation of an mbarrier.
pub(crate) enum MbarrierKind {
    Init(Slot),
    Invalidate,
    /// `expect_tx` and `complete_tx`.
    Expect(Slot),
    Complete(Slot),
    /// `arrive`, `count` times (default 1), with `expect_tx` bytes. `state`: register for the previous state.
    Arrive {
        state: Option<Slot>,
        count: Option<Slot>,
        bytes: Option<Slot>,
        drop: bool,
        must_not_complete: bool,
    },
    /// `cp.async.mbarrier.arrive`; without `.noinc` it adds to the pending count.
    ArriveAfterCopies {
        increments: bool,
    },
    /// `test_wait`, `try_wait`.
    Test {
        to: Option<PredSlot>,
        phase: Phase,
    },
}

/// A phase of an mbarrier, by state or by parity.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Phase {
    Of(Slot),
    Parity(Slot),
}
