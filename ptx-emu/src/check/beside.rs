//! What goes on beside a thread: copies that it has begun, and barriers in shared memory that count them.

use super::clocks::Since;
use super::{Beside, BlockChecks, Discovery, GlobalRaces, Observed, release, word_name, words};
use crate::registers::Mask;

/// What the clocks know the end of a barrier's phase by, beside its word.
const PHASE: u64 = 1 << 62;

impl BlockChecks {
    /// A warp begins an access that goes on beside what it does.
    pub(crate) fn begin(&mut self, warp: usize) -> Option<Since> {
        self.cluster.clocks.as_mut().map(|clocks| clocks.begin(warp))
    }

    /// A plain access to shared memory that began earlier comes to its end.
    pub(crate) fn shared_since(&mut self, access: &Observed<'_>, since: Option<&Since>, how: Beside) -> Vec<Discovery> {
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
        how: Beside,
    ) -> Vec<Discovery> {
        let mut found = Vec::new();
        if let (Some(clocks), Some(global), Some(all), Some(since)) =
            (&mut self.cluster.clocks, &mut self.cluster.global, all, since)
        {
            clocks.as_of(access.warp, since, how, |clocks| global.access(all, clocks, access, &mut found));
        }
        found
    }

    /// What a warp had a tensor core do has ended now: at which time of the warp's.
    pub(crate) fn ended(&mut self, warp: usize) -> u32 {
        let Some(clocks) = &mut self.cluster.clocks else { return 0 };
        let time = clocks.time(warp);
        clocks.tick(warp);
        time
    }

    /// A warp learns what another had done until a time of that one's.
    pub(crate) fn learn(&mut self, warp: usize, other: usize, time: u32) {
        if let Some(clocks) = &mut self.cluster.clocks {
            clocks.learn(warp, other, time);
        }
    }

    /// Lanes order their accesses with those of the copy engine and of the tensor cores: `fence.proxy.async`.
    pub(crate) fn fence_proxy(&mut self, warp: usize, lanes: Mask) {
        if let Some(clocks) = &mut self.cluster.clocks {
            clocks.fence(warp, lanes);
        }
    }

    /// An access to barriers in shared memory. Who arrives lets those know who will see the phase's end.
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
        if access.kind.is_strong() {
            release(clocks, access, area);
        }
        found
    }

    /// What a warp began has come to an end that the barrier at that address counts.
    pub(crate) fn phase_reached(&mut self, barrier: u64, warp: usize, since: Option<&Since>) {
        if let (Some(clocks), Some(since)) = (&mut self.cluster.clocks, since) {
            clocks.release_since(word_name(barrier, self.memory.area()), warp, since);
        }
    }

    /// A phase has ended of the barrier at that address.
    pub(crate) fn phase_done(&mut self, barrier: u64) {
        if let Some(clocks) = &mut self.cluster.clocks {
            let word = word_name(barrier, self.memory.area());
            clocks.publish(word, word | PHASE);
        }
    }

    /// Lanes see that the last phase of their barriers has ended.
    pub(crate) fn phase_seen(&mut self, access: &Observed<'_>) {
        if let Some(clocks) = &mut self.cluster.clocks {
            let area = self.memory.area();
            words(access, area).for_each(|(word, lanes)| clocks.acquire(word | PHASE, access.warp, lanes));
        }
    }
}
