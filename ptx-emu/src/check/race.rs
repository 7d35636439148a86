//! Races in shared memory: two accesses to the same bytes, one of them a write, that no barrier puts in an order.

use super::{Discovery, Observed};

/// What each warp knows of the others, and who last read and wrote what.
#[derive(Debug)]
pub(super) struct Races {}

impl Races {
    pub(super) fn new(_warps: usize, _bytes: usize, _by_byte: bool) -> Self {
        Self {}
    }

    pub(super) fn access(&mut self, _access: &Observed<'_>, _found: &mut Vec<Discovery>) {}

    pub(super) fn met(&mut self, _warps: u32) {}

    pub(super) fn warp_met(&mut self, _warp: usize) {}
}
