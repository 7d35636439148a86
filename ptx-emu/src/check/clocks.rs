//! What each warp of a cluster knows of the others' past: vector clocks.
//!
//! C. Flanagan and S. N. Freund, "FastTrack: efficient and precise dynamic race detection", 2009, with warps in the place
//! of threads. The lanes of a warp have clocks of their own only where some of them meet without the others.

use std::collections::HashMap;

use super::Beside;
use crate::lanes::lanes_of;
use crate::registers::{ALL_LANES, LANES, Mask};

/// Barriers that a block has. Those of all blocks come one block after the other, then that of the cluster, for openings of
/// even and of odd number.
pub(super) const BLOCK_BARRIERS: usize = 16;

/// Times at which the clocks begin anew, far from the end of their range.
const MAX_TIME: u32 = 1 << 31;

/// By lane and by other lane: up to when accesses of the other come before what the lane does now.
type LaneClocks = [[u32; LANES]; LANES];

/// The clocks of one cluster. Its warps are numbered one block after the other.
#[derive(Debug)]
pub(super) struct Clocks {
    warps: usize,
    /// Each warp's own time. It goes on whenever others may learn of what the warp has done.
    time: Vec<u32>,
    /// By warp and by other warp: up to when accesses of the other come before what the warp does now. Of the warp itself:
    /// up to when those of each of its lanes come before what any of them does now.
    seen: Vec<u32>,
    lanes: Vec<Option<Box<LaneClocks>>>,
    /// By barrier and by warp: what those have seen that have arrived since it last opened.
    barriers: Vec<u32>,
    /// What those have seen who wrote to a word by atomic or strong accesses.
    words: HashMap<u64, Box<[u32]>>,
    /// While an access is looked at that began earlier: accesses of the lane itself that came later than this are beside it.
    began: Option<u32>,
    /// The time that such an access is taken to have, where it is not the warp's own.
    stamp: Option<u32>,
    /// Whether it goes through the asynchronous proxy.
    by_engine: bool,
    /// By thread: up to when its accesses are ordered with those that go through the asynchronous proxy.
    fenced: Vec<u32>,
}

/// When an access began, and what its warp had seen by then.
#[derive(Debug, Clone)]
pub(crate) struct Since {
    time: u32,
    seen: Box<[u32]>,
}

impl Clocks {
    pub(super) fn new(warps: usize, blocks: usize) -> Self {
        Self {
            warps,
            time: vec![1; warps],
            seen: vec![0; warps * warps],
            lanes: vec![None; warps],
            barriers: vec![0; (blocks * BLOCK_BARRIERS + 2) * warps],
            words: HashMap::new(),
            began: None,
            stamp: None,
            by_engine: false,
            fenced: vec![0; warps * LANES],
        }
    }

    /// Begins a cluster. Time goes on, so that everything that was noted before is long past. Returns whether it does not:
    /// then what was noted must be forgotten.
    pub(super) fn start(&mut self) -> bool {
        let last = self.time.iter().copied().max().unwrap_or(0);
        let wraps = last >= MAX_TIME;
        let last = if wraps { 0 } else { last };
        self.time.fill(last + 1);
        self.seen.fill(last);
        self.fenced.fill(last);
        self.lanes.fill(None);
        self.barriers.fill(0);
        self.words.clear();
        wraps
    }

    /// The warp's own time, or that of the access that is looked at.
    pub(super) fn time(&self, warp: usize) -> u32 {
        self.stamp.unwrap_or(self.time[warp])
    }

    /// By other warp: up to when its accesses come before what the warp does now.
    pub(super) fn seen(&self, warp: usize) -> &[u32] {
        &self.seen[warp * self.warps..][..self.warps]
    }

    /// Everything that the warp knows, its own past with it.
    pub(super) fn snapshot(&self, warp: usize) -> Box<[u32]> {
        let mut clock: Box<[u32]> = self.seen(warp).into();
        clock[warp] = self.time[warp];
        clock
    }

    /// Those lanes among `others` of the warp `warp` whose accesses at `time` nothing puts before what `lane` of `by` does.
    pub(super) fn unordered(&self, (by, lane): (usize, usize), warp: usize, others: Mask, time: u32) -> Mask {
        if time <= self.seen[by * self.warps + warp] {
            return 0;
        }
        if by != warp {
            return others;
        }
        let is_beside = self.began.is_some_and(|began| time > began);
        let own = others & 1 << lane & u32::from(is_beside).wrapping_neg();
        let others = others & !(1 << lane);
        own | match &self.lanes[warp] {
            None => others,
            Some(lanes) => lanes_of(others).filter(|&other| lanes[lane][other] < time).fold(0, |m, x| m | 1 << x),
        }
    }

    /// Whether lanes of the warp have met without the others since all of them did.
    pub(super) fn lanes_differ(&self, warp: usize) -> bool {
        self.lanes[warp].is_some()
    }

    /// The warp lets others know at a barrier what it has done.
    pub(super) fn arrive(&mut self, barrier: usize, warp: usize) {
        let seen = &self.seen[warp * self.warps..][..self.warps];
        let pending = &mut self.barriers[barrier * self.warps..][..self.warps];
        join(pending, seen);
        pending[warp] = self.time[warp];
        self.time[warp] += 1;
    }

    /// A barrier opens: these warps, of those from `first` on, learn what all have done that arrived at it.
    pub(super) fn open(&mut self, barrier: usize, waiters: u32, first: usize) {
        let pending = &mut self.barriers[barrier * self.warps..][..self.warps];
        for warp in lanes_of(waiters).map(|waiter| first + waiter) {
            join(&mut self.seen[warp * self.warps..][..self.warps], pending);
            self.lanes[warp] = None;
        }
        pending.fill(0);
    }

    /// The warp learns what all have done that have arrived at a barrier; others will still learn it.
    pub(super) fn pass(&mut self, barrier: usize, warp: usize) {
        let pending = &self.barriers[barrier * self.warps..][..self.warps];
        join(&mut self.seen[warp * self.warps..][..self.warps], pending);
        self.lanes[warp] = None;
    }

    /// The barrier of the cluster, for the opening of that number.
    pub(super) fn cluster_barrier(&self, phase: u64) -> usize {
        let barriers = self.barriers.len().checked_div(self.warps).unwrap_or_default();
        barriers.saturating_sub(2) + (phase % 2) as usize
    }

    /// Forgets who has arrived at a barrier.
    pub(super) fn clear(&mut self, barrier: usize) {
        self.barriers[barrier * self.warps..][..self.warps].fill(0);
    }

    /// Lanes of a warp have met, of those that are `live`.
    pub(super) fn warp_met(&mut self, warp: usize, members: Mask, live: Mask) {
        let now = self.time[warp];
        self.time[warp] += 1;
        if live & !members == 0 {
            self.seen[warp * self.warps + warp] = now;
            self.lanes[warp] = None;
            return;
        }
        let lanes = self.lanes[warp].get_or_insert_default();
        let mut joined = [0; LANES];
        for lane in lanes_of(members) {
            join(&mut joined, &lanes[lane]);
        }
        lanes_of(members).for_each(|lane| joined[lane] = now);
        lanes_of(members).for_each(|lane| lanes[lane] = joined);
    }

    /// Lanes of a warp learn what those had done who wrote to the word.
    pub(super) fn acquire(&mut self, word: u64, warp: usize, by: Mask) {
        let Some(clock) = self.words.get(&word) else { return };
        let seen = &mut self.seen[warp * self.warps..][..self.warps];
        let of_lanes = seen[warp];
        join(seen, clock);
        if by == ALL_LANES || clock[warp] <= of_lanes {
            return;
        }
        // Only these lanes know what the other lanes did.
        seen[warp] = of_lanes;
        let lanes = self.lanes[warp].get_or_insert_default();
        for lane in lanes_of(by) {
            lanes[lane].iter_mut().for_each(|time| *time = clock[warp].max(*time));
        }
    }

    /// The warp writes to a word what others can learn from.
    pub(super) fn release(&mut self, word: u64, warp: usize) {
        let clock = self.words.entry(word).or_insert_with(|| vec![0; self.warps].into());
        join(clock, &self.seen[warp * self.warps..][..self.warps]);
        clock[warp] = self.time[warp];
    }

    /// What the warp began then has come to its end: others can learn from the word what came before that, and of it.
    pub(super) fn release_since(&mut self, word: u64, warp: usize, since: &Since) {
        let clock = self.words.entry(word).or_insert_with(|| vec![0; self.warps].into());
        join(clock, &since.seen);
        clock[warp] = clock[warp].max(since.time);
    }

    /// What those had seen who wrote to a word becomes what is learned where it is `published`, until the next time.
    pub(super) fn publish(&mut self, word: u64, published: u64) {
        if let Some(clock) = self.words.get(&word) {
            let clock = clock.clone();
            self.words.insert(published, clock);
        }
    }

    /// The warp begins an access that goes on beside what it does from now on.
    pub(super) fn begin(&mut self, warp: usize) -> Since {
        let since = Since { time: self.time[warp], seen: self.seen(warp).into() };
        self.tick(warp);
        since
    }

    /// Runs `f` as if the warp had learned nothing since then. What it accesses counts as accessed now, or, where others
    /// have been told of its end, as it began.
    pub(super) fn as_of<R>(&mut self, warp: usize, since: &Since, how: Beside, f: impl FnOnce(&Self) -> R) -> R {
        let told = how == Beside::Engine { told: true };
        let now: Box<[u32]> = self.seen(warp).into();
        self.seen[warp * self.warps..][..self.warps].copy_from_slice(&since.seen);
        (self.began, self.stamp) = (Some(since.time), told.then_some(since.time));
        self.by_engine = how != Beside::Generic;
        let result = f(self);
        (self.began, self.stamp, self.by_engine) = (None, None, false);
        self.seen[warp * self.warps..][..self.warps].copy_from_slice(&now);
        result
    }

    /// The warp learns what another had done until a time of that one's.
    pub(super) fn learn(&mut self, warp: usize, other: usize, time: u32) {
        let seen = &mut self.seen[warp * self.warps + other];
        *seen = time.max(*seen);
    }

    /// Lanes order what they did, and what they know of what others did, with what goes through the asynchronous proxy.
    pub(super) fn fence(&mut self, warp: usize, lanes: Mask) {
        let seen = &self.seen[warp * self.warps..][..self.warps];
        for (fenced, seen) in self.fenced.as_chunks_mut::<LANES>().0.iter_mut().zip(seen) {
            fenced.iter_mut().for_each(|time| *time = (*time).max(*seen));
        }
        lanes_of(lanes).for_each(|lane| self.fenced[warp * LANES + lane] = self.time[warp]);
        self.tick(warp);
    }

    /// Whether the access that is looked at goes through the asynchronous proxy.
    pub(super) fn is_by_engine(&self) -> bool {
        self.by_engine
    }

    /// Whether what a lane did at that time is ordered with what goes through the asynchronous proxy.
    pub(super) fn is_fenced(&self, warp: usize, lane: usize, time: u32) -> bool {
        time <= self.fenced[warp * LANES + lane]
    }

    /// What the warp does from now on is not yet known to anybody.
    pub(super) fn tick(&mut self, warp: usize) {
        self.time[warp] += 1;
    }
}

impl Default for Clocks {
    fn default() -> Self {
        Self::new(0, 0)
    }
}

/// The later of each two times.
pub(super) fn join(clock: &mut [u32], other: &[u32]) {
    clock.iter_mut().zip(other).for_each(|(time, other)| *time = (*time).max(*other));
}
