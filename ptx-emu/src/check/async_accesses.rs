//! Asynchronous accesses: copies and MMAs in flight, and the mbarriers that count them.

use super::clocks::Since;
use super::{BlockChecks, ClusterChecks, Discovery, GlobalRaces, Observed, Proxy, word_name, words};
use crate::lanes::Mask;

/// Flag in the clocks' key of a completed mbarrier phase.
const PHASE: u64 = 1 << 62;

impl BlockChecks {
    /// A warp issues an asynchronous access.
    pub(crate) fn begin(&mut self, warp: usize) -> Option<Since> {
        self.cluster.clocks.as_mut().map(|clocks| clocks.begin(warp))
    }

    /// An asynchronous access to shared memory completes.
    pub(crate) fn shared_since(&mut self, access: &Observed<'_>, since: Option<&Since>, how: Proxy) -> Vec<Discovery> {
        let mut found = Vec::new();
        if let Some(written) = &mut self.memory.written {
            found.extend(written.access(access, "shared", access.addresses));
        }
        if let (Some(clocks), Some(races), Some(since)) = (&mut self.cluster.clocks, &mut self.memory.races, since) {
            clocks.as_of(access.warp, since, how, |clocks| races.access(clocks, access, &mut found));
        }
        found
    }

    /// As [`Self::shared_since`], in global memory.
    pub(crate) fn global_since(
        &mut self,
        all: Option<&GlobalRaces>,
        access: &Observed<'_>,
        since: Option<&Since>,
        how: Proxy,
    ) -> Vec<Discovery> {
        let mut found = Vec::new();
        let ClusterChecks { clocks, fences, global, .. } = &mut self.cluster;
        if let (Some(clocks), Some(global), Some(all), Some(since)) = (clocks, global, all, since) {
            clocks.as_of(access.warp, since, how, |clocks| global.access(all, (clocks, fences), access, &mut found));
        }
        found
    }

    /// MMAs of a warp retire. Returns the warp's time.
    pub(crate) fn mmas_retired(&mut self, warp: usize) -> u32 {
        let Some(clocks) = &mut self.cluster.clocks else { return 0 };
        let time = clocks.time(warp);
        clocks.tick(warp);
        time
    }

    /// A warp acquires what another had done until that time of the other's.
    pub(crate) fn learn(&mut self, warp: usize, other: usize, time: u32) {
        if let Some(clocks) = &mut self.cluster.clocks {
            clocks.learn(warp, other, time);
        }
    }

    /// `fence.proxy.async` of these lanes.
    pub(crate) fn fence_proxy(&mut self, warp: usize, lanes: Mask) {
        if let Some(clocks) = &mut self.cluster.clocks {
            clocks.fence(warp, lanes);
        }
        self.fence_inits(warp, lanes);
    }

    /// An mbarrier operation. An arrival releases to those that observe the phase's completion.
    pub(crate) fn mbarrier(&mut self, access: &Observed<'_>) -> Vec<Discovery> {
        let mut found = Vec::new();
        let area = self.memory.area();
        if let Some(written) = self.memory.written.as_mut().filter(|_| access.kind.writes()) {
            found.extend(written.access(access, "shared", access.addresses));
        }
        let Some(clocks) = &mut self.cluster.clocks else { return found };
        if let Some(races) = &mut self.memory.races {
            races.access(clocks, access, &mut found);
        }
        if access.kind.is_strong() && access.kind.writes() {
            words(access, area).for_each(|(word, _)| clocks.release(word, access.warp));
            clocks.tick(access.warp);
        }
        found
    }

    /// A copy completes on the mbarrier at that address.
    pub(crate) fn phase_reached(&mut self, barrier: u64, warp: usize, since: Option<&Since>) {
        if let (Some(clocks), Some(since)) = (&mut self.cluster.clocks, since) {
            clocks.release_since(word_name(barrier, self.memory.area()), warp, since);
        }
    }

    /// A phase of the mbarrier at that address completes.
    pub(crate) fn phase_done(&mut self, barrier: u64) {
        if let Some(clocks) = &mut self.cluster.clocks {
            let word = word_name(barrier, self.memory.area());
            clocks.publish(word, word | PHASE);
        }
    }

    /// Lanes observe that the last phase of their mbarriers is complete.
    pub(crate) fn phase_seen(&mut self, access: &Observed<'_>) {
        if let Some(clocks) = &mut self.cluster.clocks {
            let area = self.memory.area();
            words(access, area).for_each(|(word, lanes)| clocks.acquire(word | PHASE, access.warp, lanes));
        }
    }
}
