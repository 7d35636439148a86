//! Reads of local memory that was never written.

use super::{BlockChecks, Discovery, Observed};
use crate::lanes::LANES;

impl BlockChecks {
    /// An access to local memory, in bounds; addresses are within each thread's.
    pub(crate) fn local(&mut self, access: &Observed<'_>) -> Option<Discovery> {
        let first = ((access.warp - self.first) * LANES) as u64;
        let offsets = std::array::from_fn(|lane| (first + lane as u64) * self.local_stride + access.addresses[lane]);
        self.local.as_mut()?.access(access, "local", &offsets)
    }

    /// A lane's local memory begins a new life there, as the frame of a function.
    pub(crate) fn local_begins(&mut self, warp: usize, lane: usize, address: u32, bytes: u32) {
        let start = self.local_offset(warp, lane, address);
        if let Some(local) = &mut self.local {
            local.forget(start..start + bytes as usize);
        }
    }

    /// Bytes move within a lane's local memory.
    pub(crate) fn local_moves(&mut self, warp: usize, lane: usize, (from, to): (u32, u32), bytes: u32) {
        let [from, to] = [from, to].map(|address| self.local_offset(warp, lane, address));
        if let Some(local) = &mut self.local {
            local.copy(from..from + bytes as usize, to);
        }
    }

    fn local_offset(&self, warp: usize, lane: usize, address: u32) -> usize {
        ((warp - self.first) * LANES + lane) * self.local_stride as usize + address as usize
    }
}
