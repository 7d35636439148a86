//! Asynchronous copies: `cp.async`, `cp.async.bulk`, `cp.async.bulk.tensor`; `tensormap`.

use super::memory::{Access, AddressExpr};
use crate::lanes::{Condition, Slot};
use crate::memory::MapField;
use crate::types::{Scope, Space, Type};

/// `cp.async` and its relatives.
pub(crate) enum Async {
    Copy(Copy),
    /// `cp.async.commit_group`.
    Commit,
    /// `cp.async.wait_group`: all groups but the last that many; `None` for `cp.async.wait_all`.
    Wait(Option<u32>),
    Bulk(Bulk),
    Tensor(Tensor),
    /// `cp.async.bulk.commit_group` and `cp.async.bulk.wait_group`.
    CommitBulk,
    WaitBulk(u32),
    Map(MapEdit),
}

/// What changes a tensor map in memory. Accesses are to one of its words.
pub(crate) enum MapEdit {
    /// `tensormap.replace`: a value of the type.
    Replace { map: Access, field: MapField, value: Slot, ty: Type },
    /// `tensormap.cp_fenceproxy`: from shared memory, by a warp together.
    Copy { to: Access, from: Access, scope: Scope },
}

/// A copy of up to 16 bytes per lane from global to shared memory.
pub(crate) struct Copy {
    pub to: AddressExpr,
    pub from: AddressExpr,
    /// Bytes written.
    pub bytes: u32,
    pub source: CopySource,
    /// `.cg`: caches in L2 only.
    pub bypasses_l1: bool,
}

/// Bytes read; the rest is zero-filled.
#[derive(Debug, Clone, Copy)]
pub(crate) enum CopySource {
    All,
    /// That many, at most all.
    Bytes(Slot),
    /// All, or none if the predicate is true (`ignore-src`).
    Unless(Condition),
}

/// A bulk copy between global and shared memory.
pub(crate) struct Bulk {
    pub shared: AddressExpr,
    pub global: AddressExpr,
    pub bytes: Slot,
    pub end: BulkEnd,
    /// To global memory: what becomes of its elements, if they are not replaced.
    pub reduce: Option<Reduce>,
}

/// The new value of an element from the old one and that in shared memory.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reduce {
    pub apply: fn(u64, u64, u64) -> u64,
    /// Bytes of an element.
    pub width: u32,
}

/// A tensor (TMA) copy of a box.
pub(crate) struct Tensor {
    pub shared: AddressExpr,
    /// Address of the tensor map.
    pub map: AddressExpr,
    pub space: Space,
    /// Coordinates of the box, the contiguous dimension first.
    pub start: Box<[Slot]>,
    pub end: BulkEnd,
}

/// Direction and completion mechanism of a bulk copy.
pub(crate) enum BulkEnd {
    /// To shared memory: completes on an mbarrier. `blocks`: multicast to the same offset in these blocks of the
    /// cluster.
    Barrier { barrier: AddressExpr, blocks: Option<Slot> },
    /// To global memory: completes with the thread's bulk group.
    Group,
}
