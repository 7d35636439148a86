//! Vector clocks of the warps of a cluster: which accesses happen before which.
//!
//! C. Flanagan and S. N. Freund, "FastTrack: efficient and precise dynamic race detection", 2009, with warps in place
//! of threads. Lanes get clocks of their own only where some synchronise without the others.

use std::collections::HashMap;

use super::Proxy;
use crate::lanes::{ALL_LANES, LANES, Mask, lanes_of};
use crate::types::Scope;

/// Barriers of a block. The clocks number those of all blocks in order, then the cluster barrier, for even and odd
/// phases.
pub(super) const BLOCK_BARRIERS: usize = 16;

/// Times at which the clocks restart, far from overflow.
const MAX_TIME: u32 = 1 << 31;

/// By lane and other lane: the time up to which the other's accesses happen before the lane's next.
type LaneClocks = [[u32; LANES]; LANES];

/// The clocks of a cluster, whose warps are numbered block by block.
#[derive(Debug)]
pub(super) struct Clocks {
    warps: usize,
    /// Warps of a block.
    block_warps: usize,
    /// Each warp's time. It advances at every release.
    time: Vec<u32>,
    /// By warp and other warp: the time up to which the other's accesses happen before the warp's next. For the warp
    /// itself: the time up to which all lanes' accesses happen before any lane's next.
    seen: Vec<u32>,
    lanes: Vec<Option<Box<LaneClocks>>>,
    /// By barrier and warp: the joined clocks of the arrivals in this phase.
    barriers: Vec<u32>,
    /// By block: the joined clocks of its threads that have exited.
    exited: Vec<u32>,
    /// By word, the joined clocks of the warps that released to it.
    words: HashMap<u64, Box<[u32]>>,
    /// While an asynchronous access is checked: its issue time. Later accesses of the same lane are concurrent with it.
    issued: Option<u32>,
    /// The time that such an access is recorded with, if not the warp's current.
    stamp: Option<u32>,
    /// Whether it uses the async proxy.
    by_async_proxy: bool,
    /// By thread: the time up to which its accesses are ordered with the async proxy.
    fenced: Vec<u32>,
}

/// Issue time of an access, and its warp's clock then.
#[derive(Debug, Clone)]
pub(crate) struct Since {
    time: u32,
    seen: Box<[u32]>,
}

impl Clocks {
    pub(super) fn new(warps: usize, blocks: usize) -> Self {
        Self {
            warps,
            block_warps: (warps / blocks.max(1)).max(1),
            time: vec![1; warps],
            seen: vec![0; warps * warps],
            lanes: vec![None; warps],
            barriers: vec![0; (blocks * BLOCK_BARRIERS + 2) * warps],
            exited: vec![0; blocks * warps],
            words: HashMap::new(),
            issued: None,
            stamp: None,
            by_async_proxy: false,
            fenced: vec![0; warps * LANES],
        }
    }

    /// Starts a cluster. Time continues, so that all earlier records are in the past. Returns whether it restarted
    /// instead: then the records must be cleared.
    pub(super) fn start(&mut self) -> bool {
        let last = self.time.iter().copied().max().unwrap_or(0);
        let wraps = last >= MAX_TIME;
        let last = if wraps { 0 } else { last };
        self.time.fill(last + 1);
        self.seen.fill(last);
        self.fenced.fill(last);
        self.lanes.fill(None);
        self.barriers.fill(0);
        self.exited.fill(0);
        self.words.clear();
        wraps
    }

    /// The warp's time, or that of the access being checked.
    pub(super) fn time(&self, warp: usize) -> u32 {
        self.stamp.unwrap_or(self.time[warp])
    }

    /// The warp's clock: by other warp, the time up to which its accesses happen before.
    pub(super) fn seen(&self, warp: usize) -> &[u32] {
        &self.seen[warp * self.warps..][..self.warps]
    }

    /// The warp's clock with its own time.
    pub(super) fn snapshot(&self, warp: usize) -> Box<[u32]> {
        let mut clock: Box<[u32]> = self.seen(warp).into();
        clock[warp] = self.time[warp];
        clock
    }

    /// The lanes among `others` of `warp` whose accesses at `time` do not happen before the access of `lane` of warp
    /// `by`.
    pub(super) fn unordered(&self, (by, lane): (usize, usize), warp: usize, others: Mask, time: u32) -> Mask {
        if time <= self.seen[by * self.warps + warp] {
            return 0;
        }
        if by != warp {
            return others;
        }
        let is_concurrent = self.issued.is_some_and(|issued| time > issued);
        let own = others & 1 << lane & u32::from(is_concurrent).wrapping_neg();
        let others = others & !(1 << lane);
        own | match &self.lanes[warp] {
            None => others,
            Some(lanes) => lanes_of(others).filter(|&other| lanes[lane][other] < time).fold(0, |m, x| m | 1 << x),
        }
    }

    /// Whether lanes of the warp have synchronised separately since all of them did.
    pub(super) fn lanes_differ(&self, warp: usize) -> bool {
        self.lanes[warp].is_some()
    }

    /// The warp arrives at a barrier and releases to it.
    pub(super) fn arrive(&mut self, barrier: usize, warp: usize) {
        let seen = &self.seen[warp * self.warps..][..self.warps];
        let pending = &mut self.barriers[barrier * self.warps..][..self.warps];
        join(pending, seen);
        pending[warp] = self.time[warp];
        self.time[warp] += 1;
    }

    /// A relaxed arrival, which releases no more than that clock.
    pub(super) fn arrive_with(&mut self, barrier: usize, clock: &[u32]) {
        join(&mut self.barriers[barrier * self.warps..][..self.warps], clock);
    }

    /// Threads of the warp exit, which counts as their arrival at all barriers of all threads, the cluster's in that phase
    /// first.
    pub(super) fn exit(&mut self, warp: usize, phase: u64) {
        let barrier = self.cluster_barrier(phase);
        let exited = &mut self.exited[warp / self.block_warps * self.warps..][..self.warps];
        join(exited, &self.seen[warp * self.warps..][..self.warps]);
        exited[warp] = self.time[warp];
        join(&mut self.barriers[barrier * self.warps..][..self.warps], exited);
        self.time[warp] += 1;
    }

    /// Whether threads of the block of that rank that have exited knew of what a warp did at that time.
    pub(super) fn has_exited_with(&self, rank: usize, warp: usize, time: u32) -> bool {
        time <= self.exited[rank * self.warps + warp]
    }

    /// A barrier completes: the waiting warps, counted from `first`, acquire its clock; and that of exited threads if it is
    /// `for_all` threads.
    pub(super) fn complete(&mut self, barrier: usize, waiters: u32, first: usize, for_all: bool) {
        let pending = &mut self.barriers[barrier * self.warps..][..self.warps];
        if for_all {
            join(pending, &self.exited[first / self.block_warps * self.warps..][..self.warps]);
        }
        for warp in lanes_of(waiters).map(|waiter| first + waiter) {
            join(&mut self.seen[warp * self.warps..][..self.warps], pending);
            self.lanes[warp] = None;
        }
        pending.fill(0);
    }

    /// The warp acquires a barrier's clock; others will still acquire it.
    pub(super) fn pass(&mut self, barrier: usize, warp: usize) {
        let pending = &self.barriers[barrier * self.warps..][..self.warps];
        let seen = &mut self.seen[warp * self.warps..][..self.warps];
        join(seen, pending);
        self.lanes[warp] = None;
    }

    /// The index of the cluster barrier for that phase.
    pub(super) fn cluster_barrier(&self, phase: u64) -> usize {
        let barriers = self.barriers.len().checked_div(self.warps).unwrap_or_default();
        barriers.saturating_sub(2) + (phase % 2) as usize
    }

    /// Begins a phase of the cluster barrier, at which exited threads have arrived.
    pub(super) fn clear(&mut self, barrier: usize) {
        let pending = &mut self.barriers[barrier * self.warps..][..self.warps];
        pending.fill(0);
        self.exited.chunks(self.warps.max(1)).for_each(|exited| join(pending, exited));
    }

    /// The lanes `members` of a warp have synchronised, of those that are `live`.
    pub(super) fn warp_synced(&mut self, warp: usize, members: Mask, live: Mask) {
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

    /// Lanes of a warp acquire a word's clock.
    pub(super) fn acquire(&mut self, word: u64, warp: usize, by: Mask) {
        if let Some(clock) = self.words.get(&word) {
            let seen = &mut self.seen[warp * self.warps..][..self.warps];
            acquire(clock, seen, &mut self.lanes[warp], warp, by);
        }
    }

    /// Lanes of a warp acquire a clock; an empty one has nothing.
    pub(super) fn acquire_clock(&mut self, clock: &[u32], warp: usize, by: Mask) {
        if !clock.is_empty() {
            acquire(clock, &mut self.seen[warp * self.warps..][..self.warps], &mut self.lanes[warp], warp, by);
        }
    }

    /// What was released to a word.
    pub(super) fn of_word(&self, word: u64) -> Option<&[u32]> {
        self.words.get(&word).map(|clock| &**clock)
    }

    /// Releases a clock to a word.
    pub(super) fn release_clock(&mut self, word: u64, clock: &[u32]) {
        join(self.words.entry(word).or_insert_with(|| vec![0; self.warps].into()), clock);
    }

    /// The rank of the warp's block.
    pub(super) fn block_of(&self, warp: usize) -> usize {
        warp / self.block_warps
    }

    /// Whether strong accesses of that scope by these two warps of the cluster can synchronise.
    pub(super) fn includes(&self, scope: Scope, warp: usize, other: usize) -> bool {
        scope > Scope::Block || self.block_of(warp) == self.block_of(other)
    }

    /// The warp releases to a word.
    pub(super) fn release(&mut self, word: u64, warp: usize) {
        let clock = self.words.entry(word).or_insert_with(|| vec![0; self.warps].into());
        join(clock, &self.seen[warp * self.warps..][..self.warps]);
        clock[warp] = self.time[warp];
    }

    /// An asynchronous access completes: releases to the word what happened before its issue, and the access itself.
    pub(super) fn release_since(&mut self, word: u64, warp: usize, since: &Since) {
        let clock = self.words.entry(word).or_insert_with(|| vec![0; self.warps].into());
        join(clock, &since.seen);
        clock[warp] = clock[warp].max(since.time);
    }

    /// Copies the clock of a word to the key `published`, for acquirers of a completed phase.
    pub(super) fn publish(&mut self, word: u64, published: u64) {
        if let Some(clock) = self.words.get(&word) {
            let clock = clock.clone();
            self.words.insert(published, clock);
        }
    }

    /// The warp issues an asynchronous access.
    pub(super) fn begin(&mut self, warp: usize) -> Since {
        let since = Since { time: self.time[warp], seen: self.seen(warp).into() };
        self.tick(warp);
        since
    }

    /// Runs `f` with the warp's clock at the issue. Accesses are recorded as of now, or, if signalled, as of the issue.
    pub(super) fn as_of<R>(&mut self, warp: usize, since: &Since, how: Proxy, f: impl FnOnce(&Self) -> R) -> R {
        let signalled = how == Proxy::Async { signalled: true };
        let now: Box<[u32]> = self.seen(warp).into();
        self.seen[warp * self.warps..][..self.warps].copy_from_slice(&since.seen);
        (self.issued, self.stamp) = (Some(since.time), signalled.then_some(since.time));
        self.by_async_proxy = how != Proxy::Generic;
        let result = f(self);
        (self.issued, self.stamp, self.by_async_proxy) = (None, None, false);
        self.seen[warp * self.warps..][..self.warps].copy_from_slice(&now);
        result
    }

    /// The warp acquires what another had done until that time of the other's.
    pub(super) fn learn(&mut self, warp: usize, other: usize, time: u32) {
        let seen = &mut self.seen[warp * self.warps + other];
        *seen = time.max(*seen);
    }

    /// `fence.proxy.async`: orders what the lanes did, and what they know of others, with the async proxy.
    pub(super) fn fence(&mut self, warp: usize, lanes: Mask) {
        let seen = &self.seen[warp * self.warps..][..self.warps];
        for (fenced, seen) in self.fenced.as_chunks_mut::<LANES>().0.iter_mut().zip(seen) {
            fenced.iter_mut().for_each(|time| *time = (*time).max(*seen));
        }
        lanes_of(lanes).for_each(|lane| self.fenced[warp * LANES + lane] = self.time[warp]);
        self.tick(warp);
    }

    /// Whether the access being checked uses the async proxy.
    pub(super) fn is_by_async_proxy(&self) -> bool {
        self.by_async_proxy
    }

    /// Whether a lane's access at that time is ordered with the async proxy.
    pub(super) fn is_fenced(&self, warp: usize, lane: usize, time: u32) -> bool {
        time <= self.fenced[warp * LANES + lane]
    }

    /// Advances the warp's time: no other warp knows of its next accesses.
    pub(super) fn tick(&mut self, warp: usize) {
        self.time[warp] += 1;
    }
}

impl Default for Clocks {
    fn default() -> Self {
        Self::new(0, 0)
    }
}

/// Lanes of a warp acquire a clock.
fn acquire(clock: &[u32], seen: &mut [u32], lanes: &mut Option<Box<LaneClocks>>, warp: usize, by: Mask) {
    let of_lanes = seen[warp];
    join(seen, clock);
    if by == ALL_LANES || clock[warp] <= of_lanes {
        return;
    }
    // Only these lanes acquire the other lanes' past.
    seen[warp] = of_lanes;
    let lanes = lanes.get_or_insert_default();
    for lane in lanes_of(by) {
        lanes[lane].iter_mut().for_each(|time| *time = clock[warp].max(*time));
    }
}

/// The element-wise maximum.
pub(super) fn join(clock: &mut [u32], other: &[u32]) {
    clock.iter_mut().zip(other).for_each(|(time, other)| *time = (*time).max(*other));
}
