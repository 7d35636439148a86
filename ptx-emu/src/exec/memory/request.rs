//! An access of a warp, with its addresses.

use crate::check::{AccessKind, Observed};
use crate::exec::state::Warp;
use crate::lanes::{LANES, Mask};
use crate::program::Pc;
use crate::types::{Semantics, Space};

/// An access of a warp's lanes.
pub(crate) struct Request {
    pub pc: Pc,
    pub kind: AccessKind,
    pub space: Space,
    pub mask: Mask,
    /// Addresses in the state space; in local memory, within the thread's.
    pub addresses: [u64; LANES],
    pub bytes: u32,
    /// Required alignment.
    pub alignment: u32,
    pub semantics: Semantics,
    /// Rank of the block whose shared memory it is, if another block's.
    pub remote: Option<usize>,
}

impl Request {
    /// The access as the checkers see it.
    pub(crate) fn observed(&self, warp: &Warp, mask: Mask) -> Observed<'_> {
        let Self { pc, kind, ref addresses, bytes, semantics, .. } = *self;
        Observed { kind, pc, warp: warp.number, mask, addresses, bytes, semantics }
    }
}
