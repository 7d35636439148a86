//! MMAs that a warp has issued and not waited for: `wgmma`.

use crate::check::Since;
use crate::program::Pc;

/// The MMAs of a warp.
#[derive(Debug, Default)]
pub(crate) struct MmaQueue {
    pub pending: Vec<PendingMma>,
    /// MMAs issued; the maximum once the warp has exited.
    pub issued: u64,
    /// MMAs issued at each `wgmma.commit_group`.
    pub committed: Vec<u64>,
    /// The warp's time at which MMAs last retired.
    pub retired: u32,
}

impl MmaQueue {
    /// Groups committed.
    pub(crate) fn groups(&self) -> u32 {
        self.committed.len() as u32
    }

    /// MMAs of all groups but the last `keep`.
    pub(crate) fn due(&self, keep: u32) -> u64 {
        let groups = self.committed.len().saturating_sub(keep as usize);
        groups.checked_sub(1).map_or(0, |last| self.committed[last])
    }
}

/// An MMA in flight.
#[derive(Debug)]
pub(crate) struct PendingMma {
    pub pc: Pc,
    /// Addresses that it reads in shared memory, and bytes at each.
    pub addresses: Vec<u64>,
    pub bytes: u32,
    /// Its index among the warp's MMAs.
    pub index: u64,
    pub since: Option<Since>,
}
