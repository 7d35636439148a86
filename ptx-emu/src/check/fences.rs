//! Which strong accesses synchronise: releases, acquisitions, and fences with relaxed accesses. PTX ISA, "Memory
//! Consistency Model: Release and Acquire Patterns".
//!
//! A relaxed write releases what had been done before the last fence. What a relaxed read observes is acquired by the next
//! fence. The fence may be another thread's, if a barrier orders it before the write or after the read: fences of the kind
//! `.sc`, as `membar` and `__threadfence` are, have one order. Only threads within the scope of both sides synchronise.

use super::clocks::{Clocks, join};
use super::events::{EventId, Events};
use super::{Observed, words};
use crate::lanes::Mask;
use crate::types::Scope;

/// Flag in the clocks' key of what is released to the threads of the own block only, and the position of that block.
const NARROW: u64 = 1 << 61;
const BLOCK_SHIFT: u32 = 56;

/// Fences and relaxed reads of a warp that are kept at most.
const MAX_KEPT: usize = 32;

/// Fences and relaxed reads, by warp.
#[derive(Debug, Default)]
pub(super) struct Fences(Vec<WarpFences>);

#[derive(Debug, Default)]
struct WarpFences {
    released: Vec<Released>,
    observed: Vec<Observation>,
}

/// A fence of some lanes, at the warp's time.
#[derive(Debug)]
struct Released {
    time: u32,
    lanes: Mask,
    scope: Scope,
    /// `fence.mbarrier_init`, which orders nothing but the arrival at the cluster barrier.
    is_for_mbarriers: bool,
    clock: Box<[u32]>,
    event: Option<EventId>,
}

/// Relaxed reads of some lanes, at the warp's time.
#[derive(Debug, Default)]
struct Observation {
    time: u32,
    lanes: Mask,
    /// The joined clocks that they observed within the block, and within the cluster.
    narrow: Box<[u32]>,
    wide: Box<[u32]>,
    /// The last event of other clusters, and what succeeds all of them.
    last: Option<EventId>,
    event: Option<EventId>,
}

impl WarpFences {
    /// The observation of reads at that time, which these lanes join.
    fn observation(&mut self, time: u32, lanes: Mask) -> &mut Observation {
        if self.observed.last().is_none_or(|last| last.time != time) {
            if self.observed.len() == MAX_KEPT {
                self.observed.remove(0);
            }
            self.observed.push(Observation { time, ..Observation::default() });
        }
        let index = self.observed.len() - 1;
        self.observed[index].lanes |= lanes;
        &mut self.observed[index]
    }
}

impl Fences {
    pub(super) fn new(warps: usize) -> Self {
        Self((0..warps).map(|_| WarpFences::default()).collect())
    }

    /// Starts a cluster.
    pub(super) fn start(&mut self) {
        for warp in &mut self.0 {
            warp.released.clear();
            warp.observed.clear();
        }
    }

    /// A strong read of words in that area: acquires, or observes.
    pub(super) fn read(&mut self, clocks: &mut Clocks, access: &Observed<'_>, area: u64) {
        let (warp, scope) = (access.warp, access.semantics.scope);
        for (word, lanes) in words(access, area) {
            let [narrow, wide] = keys(word, clocks.block_of(warp));
            let wide = (scope > Scope::Block).then_some(wide);
            if access.semantics.acquires {
                clocks.acquire(narrow, warp, lanes);
                wide.into_iter().for_each(|key| clocks.acquire(key, warp, lanes));
                continue;
            }
            if let Some(clock) = clocks.of_word(narrow) {
                add(&mut self.0[warp].observation(clocks.time(warp), lanes).narrow, clock);
            }
            if let Some(clock) = wide.and_then(|key| clocks.of_word(key)) {
                add(&mut self.0[warp].observation(clocks.time(warp), lanes).wide, clock);
            }
        }
    }

    /// A strong write of words in that area: releases what its semantics say, or what fences before it do.
    pub(super) fn write(&mut self, clocks: &mut Clocks, access: &Observed<'_>, area: u64) {
        let (warp, semantics) = (access.warp, access.semantics);
        let release = |clocks: &mut Clocks, word, scope: Scope, clock: &[u32]| {
            let [narrow, wide] = keys(word, clocks.block_of(warp));
            clocks.release_clock(narrow, clock);
            if scope > Scope::Block {
                clocks.release_clock(wide, clock);
            }
        };
        if semantics.releases {
            let clock = clocks.snapshot(warp);
            words(access, area).for_each(|(word, _)| release(clocks, word, semantics.scope, &clock));
            clocks.tick(warp);
            return;
        }
        for (other, of) in self.0.iter().enumerate() {
            for released in of.released.iter().filter(|released| !released.is_for_mbarriers) {
                let by = ordered(clocks, warp, access.mask, (other, released.lanes, released.time));
                let words = words(access, area).filter(|(_, lanes)| lanes & by != 0);
                words.for_each(|(word, _)| release(clocks, word, semantics.scope.min(released.scope), &released.clock));
            }
        }
    }

    /// A fence of these lanes: acquires what was observed before it, in that scope. Returns the events.
    pub(super) fn acquire(&self, clocks: &mut Clocks, warp: usize, lanes: Mask, scope: Scope) -> Vec<EventId> {
        let mut events = vec![];
        for (other, of) in self.0.iter().enumerate() {
            for seen in &of.observed {
                if ordered(clocks, warp, lanes, (other, seen.lanes, seen.time)) == 0 {
                    continue;
                }
                clocks.acquire_clock(&seen.narrow, warp, lanes);
                if scope > Scope::Block {
                    clocks.acquire_clock(&seen.wide, warp, lanes);
                }
                events.extend(seen.event.filter(|_| scope == Scope::Device));
            }
        }
        events
    }

    /// After [`Self::acquire`]: what the lanes have done until now can be released, and with it the event, if other
    /// clusters are to know. `scope` is `None` for `fence.mbarrier_init`.
    pub(super) fn release(
        &mut self,
        clocks: &mut Clocks,
        (warp, lanes): (usize, Mask),
        scope: Option<Scope>,
        event: Option<EventId>,
    ) {
        let (time, clock, is_for_mbarriers) = (clocks.time(warp), clocks.snapshot(warp), scope.is_none());
        let scope = scope.unwrap_or(Scope::Cluster);
        let all = &mut self.0[warp].released;
        if all.len() == MAX_KEPT {
            all.remove(0);
        }
        all.push(Released { time, lanes, scope, is_for_mbarriers, clock, event });
        clocks.tick(warp);
    }

    /// What a relaxed arrival of the warp at the cluster barrier releases.
    pub(super) fn for_cluster_barrier(&self, warp: usize) -> impl Iterator<Item = &[u32]> {
        self.0[warp].released.iter().filter(|old| old.scope > Scope::Block).map(|old| &*old.clock)
    }

    /// The events that relaxed writes of the warp's lanes release, each with those lanes.
    pub(super) fn events(&self, clocks: &Clocks, warp: usize, lanes: Mask) -> Vec<(Mask, EventId)> {
        let all = self.0.iter().enumerate().flat_map(|(other, of)| of.released.iter().map(move |old| (other, old)));
        let by = |other, old: &Released| ordered(clocks, warp, lanes, (other, old.lanes, old.time));
        all.filter_map(|(other, old)| Some((by(other, old), old.event?))).filter(|(lanes, _)| *lanes != 0).collect()
    }

    /// A relaxed read of the warp observes an event.
    pub(super) fn observe(&mut self, events: &Events, (warp, time): (usize, u32), lanes: Mask, event: EventId) {
        let of = self.0[warp].observation(time, lanes);
        if of.last.replace(event) != Some(event) {
            of.event = events.join(event, of.event).or(of.event);
        }
    }

    /// The events that relaxed reads of the cluster have observed.
    pub(super) fn all_observed(&self) -> impl Iterator<Item = EventId> {
        self.0.iter().flat_map(|warp| &warp.observed).filter_map(|seen| seen.event)
    }

    /// Whether some relaxed read of the cluster has observed a release of the access of `warp` at that time.
    pub(super) fn has_observed(&self, warp: usize, time: u32) -> bool {
        let has = |clock: &[u32]| clock.get(warp).is_some_and(|known| time <= *known);
        self.0.iter().flat_map(|warp| &warp.observed).any(|seen| has(&seen.narrow) || has(&seen.wide))
    }
}

/// Those of the lanes of a warp that follow a fence or read of `others` of the warp `other`, at that time of it.
fn ordered(clocks: &Clocks, warp: usize, lanes: Mask, (other, others, time): (usize, Mask, u32)) -> Mask {
    match other {
        _ if time <= clocks.seen(warp)[other] => lanes,
        _ if other == warp => lanes & others,
        _ => 0,
    }
}

/// The clocks' keys of a word, for releases to the own block and to the cluster.
fn keys(word: u64, block: usize) -> [u64; 2] {
    [word | NARROW | (block as u64) << BLOCK_SHIFT, word]
}

/// Joins a clock to one that may still be empty.
fn add(to: &mut Box<[u32]>, clock: &[u32]) {
    if to.is_empty() {
        *to = clock.into();
    } else {
        join(to, clock);
    }
}
