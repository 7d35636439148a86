//! Initialised mbarriers that the async proxy does not know of yet: TMA completes on them only after a fence.

use std::collections::HashMap;

use super::{BlockChecks, Discovery, Observed, What, word_name};
use crate::finding::{FindingKind, Rank};
use crate::lanes::{LANES, Mask, lanes_of};
use crate::program::Pc;

/// By the clocks' key: initialised mbarriers that no fence follows.
#[derive(Debug, Default)]
pub(super) struct Inits(HashMap<u64, Init>);

/// An `mbarrier.init` at its warp's time.
#[derive(Debug)]
struct Init {
    warp: usize,
    lane: usize,
    time: u32,
    pc: Pc,
}

impl Inits {
    pub(super) fn start(&mut self) {
        self.0.clear();
    }
}

impl BlockChecks {
    /// Lanes initialise mbarriers.
    pub(crate) fn mbarriers_initialised(&mut self, access: &Observed<'_>) {
        let Some(clocks) = &self.cluster.clocks else { return };
        let (warp, time, pc) = (access.warp, clocks.time(access.warp), access.pc);
        for lane in lanes_of(access.mask) {
            let key = word_name(access.addresses[lane], self.memory.area());
            self.cluster.inits.0.insert(key, Init { warp, lane, time, pc });
        }
    }

    /// `fence.mbarrier_init` or `fence.proxy.async` of these lanes, after what they did and what they know of others.
    pub(super) fn fence_inits(&mut self, warp: usize, lanes: Mask) {
        if let Some(clocks) = self.cluster.clocks.as_ref().filter(|_| !self.cluster.inits.0.is_empty()) {
            let seen = clocks.seen(warp);
            let is_own = |init: &Init| init.warp == warp && lanes >> init.lane & 1 != 0;
            self.cluster.inits.0.retain(|_, init| !is_own(init) && init.time > seen[init.warp]);
        }
    }

    /// A bulk copy of that lane is to complete on the mbarrier at that address.
    pub(crate) fn completes_on(&mut self, barrier: u64, lane: usize) -> Option<Discovery> {
        let init = self.cluster.inits.0.remove(&word_name(barrier, self.memory.area()))?;
        let what = What::NoInitFence { address: barrier, thread: init.warp * LANES + init.lane };
        Some(Discovery { kind: FindingKind::Race, rank: Rank::Warning, lane, other: Some(init.pc), what })
    }
}
