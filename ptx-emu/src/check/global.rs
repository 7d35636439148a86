//! Races in global memory, among the threads of all clusters of a launch.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::clocks::Clocks;
use super::events::{EventId, Events, Knowledge};
use super::fences::Fences;
use super::{AccessKind, Discovery, Observed, What};
use crate::finding::{FindingKind, Rank};
use crate::lanes::{LANES, Mask, lanes_of};
use crate::program::Pc;
use crate::types::{Scope, Semantics, Space};

/// Bytes of a page, as a power of two.
const PAGE: u32 = 10;

/// Locks over which pages are spread.
const SHARDS: usize = 256;

/// More than one lane of a warp.
const SEVERAL: u8 = u8::MAX;

/// The accesses of a launch.
#[derive(Debug)]
pub(crate) struct GlobalRaces {
    shards: Vec<Mutex<HashMap<u64, Page>>>,
    events: Events,
    /// Bytes of a cell, as a power of two: the program's narrowest access, at most a word.
    shift: u32,
}

/// Records of a page that was touched.
#[derive(Debug, Default)]
struct Page {
    cells: Box<[Cell]>,
    /// By cell, the last strong write since the last weak one.
    strong_writes: HashMap<usize, Stamp>,
    /// By cell, the event that a strong read of it acquires.
    events: HashMap<usize, EventId>,
}

/// The last weak write, and the last reads of two warps, preferably unordered ones.
#[derive(Debug, Clone, Copy, Default)]
struct Cell {
    write: Stamp,
    reads: [Stamp; 2],
}

/// One access at a warp's time; 0 if none.
#[derive(Debug, Clone, Copy, Default)]
struct Stamp {
    time: u32,
    cluster: u32,
    pc: u32,
    warp: u16,
    lane: u8,
    /// The scope, if it was strong.
    strong: Option<Scope>,
}

/// State of one cluster.
#[derive(Debug)]
pub(super) struct ClusterRaces {
    cluster: u32,
    /// By warp.
    knowledge: Vec<Knowledge>,
    /// Warps that have acquired anything, and for two of them the head that the first passed on to the second.
    learned: Vec<usize>,
    passed_on: HashMap<(usize, usize), EventId>,
    /// Pairs of instructions already reported.
    known: HashSet<(Pc, Pc)>,
    /// Pairs of instructions already reported as a non-coherent read of what was written.
    stale: HashSet<(Pc, Pc)>,
}

/// An access of one lane, with its context.
struct Visit<'a> {
    all: &'a GlobalRaces,
    clocks: &'a Clocks,
    fences: &'a Fences,
    by: &'a Observed<'a>,
    lane: usize,
    /// The address of the cell.
    address: u64,
    /// The last strong write of the cell since its last weak one.
    strong_write: Stamp,
}

impl GlobalRaces {
    /// For a program whose narrowest access to global memory has 2^`shift` bytes.
    pub(crate) fn new(shift: u32) -> Self {
        Self { shards: (0..SHARDS).map(|_| Mutex::default()).collect(), events: Events::default(), shift }
    }

    fn shard(&self, page: u64) -> MutexGuard<'_, HashMap<u64, Page>> {
        let shard = page as usize % SHARDS;
        self.shards[shard].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Forgets all accesses to these bytes: they are another variable now.
    pub(crate) fn forget(&self, address: u64, bytes: u64) {
        let (of_page, end) = (1 << (PAGE - self.shift), address + bytes.max(1));
        let (first, end) = (address >> self.shift, end.div_ceil(1 << self.shift));
        for page in first / of_page..end.div_ceil(of_page) {
            if let Some(records) = self.shard(page).get_mut(&page) {
                let index = |cell: u64| cell.saturating_sub(page * of_page).min(of_page) as usize;
                let cells = index(first)..index(end);
                records.cells[cells.clone()].fill(Cell::default());
                records.strong_writes.retain(|cell, _| !cells.contains(cell));
                records.events.retain(|cell, _| !cells.contains(cell));
            }
        }
    }

    fn new_page(&self) -> Page {
        Page { cells: vec![Cell::default(); 1 << (PAGE - self.shift)].into(), ..Page::default() }
    }

    /// The cells of a lane's access, which is aligned and smaller than a page.
    fn cells(&self, by: &Observed<'_>, lane: usize) -> std::ops::Range<usize> {
        let start = ((by.addresses[lane] % (1 << PAGE)) >> self.shift) as usize;
        start..start + (by.bytes as usize >> self.shift).max(1)
    }
}

impl ClusterRaces {
    /// For clusters of `warps` warps.
    pub(super) fn new(warps: usize) -> Self {
        let knowledge = (0..warps).map(|_| Knowledge::default()).collect();
        let (known, stale) = (HashSet::new(), HashSet::new());
        Self { cluster: 0, knowledge, learned: vec![], passed_on: HashMap::new(), known, stale }
    }

    pub(super) fn start(&mut self, cluster: u32) {
        self.cluster = cluster;
        self.learned.drain(..).for_each(|warp| self.knowledge[warp] = Knowledge::default());
        self.passed_on.clear();
    }

    /// The warp acquires what others of its cluster had acquired before it synchronised with them.
    fn acquire_from_cluster(&mut self, all: &GlobalRaces, clocks: &Clocks, warp: usize) {
        for index in 0..self.learned.len() {
            let other = self.learned[index];
            let head = self.knowledge[other].head_at(clocks.seen(warp)[other]);
            let Some(head) = head.filter(|_| other != warp) else { continue };
            if self.passed_on.insert((other, warp), head) != Some(head) {
                self.learn(all, clocks, warp, head);
            }
        }
    }

    fn learn(&mut self, all: &GlobalRaces, clocks: &Clocks, warp: usize, event: EventId) {
        if !self.learned.contains(&warp) {
            self.learned.push(warp);
        }
        self.knowledge[warp].learn(&all.events, event, clocks.time(warp));
    }

    /// The event limit is reached.
    fn give_up(&mut self) {
        self.learned = (0..self.knowledge.len()).collect();
        self.knowledge.iter_mut().for_each(Knowledge::give_up);
    }

    /// The event of all that the warp has done and acquired.
    fn release(&mut self, all: &GlobalRaces, clocks: &Clocks, warp: usize) -> Option<EventId> {
        self.acquire_from_cluster(all, clocks, warp);
        let event = all.events.release(&self.knowledge[warp], self.cluster, clocks.snapshot(warp));
        if event.is_none() {
            self.give_up();
        }
        event
    }

    /// A fence of a warp, whose lanes have observed those events. Returns the event that relaxed writes then release.
    pub(super) fn fence(
        &mut self,
        all: &GlobalRaces,
        clocks: &Clocks,
        warp: usize,
        observed: &[EventId],
    ) -> Option<EventId> {
        observed.iter().for_each(|event| self.learn(all, clocks, warp, *event));
        self.release(all, clocks, warp)
    }

    /// The events that a strong write releases, by lanes.
    fn releases(
        &mut self,
        all: &GlobalRaces,
        clocks: &Clocks,
        fences: &Fences,
        by: &Observed<'_>,
    ) -> Vec<(Mask, EventId)> {
        match by.semantics {
            _ if !by.kind.is_strong() || !by.kind.writes() => vec![],
            Semantics { scope: Scope::Device, releases: true, .. } => {
                self.release(all, clocks, by.warp).map(|event| (by.mask, event)).into_iter().collect()
            }
            Semantics { scope: Scope::Device, .. } => fences.events(clocks, by.warp, by.mask),
            _ => vec![],
        }
    }

    /// An access, before it is made. A strong write releases before others can observe it.
    pub(super) fn access(
        &mut self,
        all: &GlobalRaces,
        (clocks, fences): (&Clocks, &Fences),
        by: &Observed<'_>,
        found: &mut Vec<Discovery>,
    ) {
        let releases = self.releases(all, clocks, fences, by);
        let mut rest = by.mask;
        while rest != 0 {
            let number = by.addresses[rest.trailing_zeros() as usize] >> PAGE;
            let mut shard = all.shard(number);
            let page = shard.entry(number).or_insert_with(|| all.new_page());
            for lane in lanes_of(rest).take_while(|&lane| by.addresses[lane] >> PAGE == number) {
                rest &= !(1 << lane);
                let cells = all.cells(by, lane);
                for (index, cell) in cells.clone().zip(&mut page.cells[cells.clone()]) {
                    let strong_write = match page.strong_writes.is_empty() {
                        true => Stamp::default(),
                        false => page.strong_writes.get(&index).copied().unwrap_or_default(),
                    };
                    let address = (number << PAGE) + ((index as u64) << all.shift);
                    let visit = Visit { all, clocks, fences, by, lane, address, strong_write };
                    match by.kind {
                        AccessKind::Read | AccessKind::StrongRead => self.read(&visit, cell, found),
                        AccessKind::Write => {
                            self.write(&visit, cell, found);
                            cell.write = visit.stamp(self.cluster);
                            if strong_write.time != 0 {
                                page.strong_writes.remove(&index);
                            }
                        }
                        AccessKind::StrongWrite | AccessKind::Atomic => {
                            self.write(&visit, cell, found);
                            page.strong_writes.insert(index, visit.stamp(self.cluster));
                        }
                    }
                }
                for &(_, event) in releases.iter().filter(|(lanes, _)| lanes >> lane & 1 != 0) {
                    let before = page.events.get(&cells.start).copied();
                    match all.events.join(event, before) {
                        Some(event) => _ = page.events.insert(cells.start, event),
                        None => self.give_up(),
                    }
                }
            }
        }
    }

    /// After a strong read: its warp acquires the words' events, or observes them for a later fence.
    pub(super) fn observe(&mut self, all: &GlobalRaces, clocks: &Clocks, fences: &mut Fences, by: &Observed<'_>) {
        for lane in lanes_of(by.mask).take_while(|_| by.semantics.scope == Scope::Device) {
            let number = by.addresses[lane] >> PAGE;
            let cell = all.cells(by, lane).start;
            let event = all.shard(number).get(&number).and_then(|page| page.events.get(&cell).copied());
            match event {
                Some(event) if by.semantics.acquires => self.learn(all, clocks, by.warp, event),
                Some(event) => fences.observe(&all.events, (by.warp, clocks.time(by.warp)), 1 << lane, event),
                None => {}
            }
        }
    }

    fn read(&mut self, visit: &Visit<'_>, cell: &mut Cell, found: &mut Vec<Discovery>) {
        self.compare(visit, cell.write, AccessKind::Write, found);
        if visit.strong_write.time != 0 {
            self.compare(visit, visit.strong_write, AccessKind::Write, found);
        }
        if visit.by.semantics.is_non_coherent {
            self.after_any_write(visit, cell.write, found);
            self.after_any_write(visit, visit.strong_write, found);
        }
        let new = visit.stamp(self.cluster);
        let is_mine = |old: &&mut Stamp| {
            (old.cluster, old.warp, old.strong) == (new.cluster, new.warp, new.strong) && old.time != 0
        };
        if let Some(old) = cell.reads.iter_mut().find(is_mine) {
            if old.time > new.time {
                return;
            }
            let is_same = old.time == new.time && old.lane != new.lane;
            *old = Stamp { lane: if is_same { SEVERAL } else { new.lane }, ..new };
            return;
        }
        // Keep an unordered read rather than an ordered one.
        let [first, second] = cell.reads;
        let slot = if second.time == 0 || first.time != 0 && !self.is_before(visit, first) { 1 } else { 0 };
        cell.reads[slot] = new;
    }

    fn write(&mut self, visit: &Visit<'_>, cell: &mut Cell, found: &mut Vec<Discovery>) {
        self.compare(visit, cell.write, AccessKind::Write, found);
        if visit.strong_write.time != 0 {
            self.compare(visit, visit.strong_write, AccessKind::Write, found);
        }
        for read in cell.reads {
            self.compare(visit, read, AccessKind::Read, found);
        }
    }

    #[inline(always)]
    fn compare(&mut self, visit: &Visit<'_>, old: Stamp, kind: AccessKind, found: &mut Vec<Discovery>) {
        if old.time != 0 && !self.is_morally_strong(visit, old) && !self.is_before(visit, old) {
            self.race(visit, old, kind, found);
        }
    }

    #[cold]
    fn race(&mut self, visit: &Visit<'_>, old: Stamp, kind: AccessKind, found: &mut Vec<Discovery>) {
        let Visit { all, fences, by, lane, address: cell_address, .. } = *visit;
        let kind = match (kind, old.strong) {
            (AccessKind::Read, Some(_)) => AccessKind::StrongRead,
            (_, Some(_)) => AccessKind::Atomic,
            (kind, None) => kind,
        };
        let other = old.pc as Pc;
        let pair = (by.pc.min(other), by.pc.max(other));
        // Whether two writes agree in their values, this time and the next, is not known here.
        let are_writes = (by.kind, kind) == (AccessKind::Write, AccessKind::Write);
        let is_new = if are_writes { !self.known.contains(&pair) } else { self.known.insert(pair) };
        if is_new {
            let (address, bytes) = by.around(cell_address, lane);
            let (thread, cluster) = self.author(visit, old);
            let is_observed = match cluster {
                None => fences.has_observed(old.warp.into(), old.time),
                Some(cluster) => fences.all_observed().any(|event| {
                    let mut knowledge = Knowledge::default();
                    knowledge.learn(&all.events, event, 0);
                    knowledge.has(&all.events, (cluster, old.warp.into(), old.time))
                }),
            };
            let rank = if is_observed { Rank::Warning } else { Rank::Error };
            let (space, time) = (Space::Global, old.time);
            let what = What::Race { space, address, bytes, thread, time, cluster, kind, is_observed };
            found.push(Discovery { kind: FindingKind::Race, rank, lane, other: Some(other), what });
        }
    }

    /// A non-coherent read of what was written during the launch.
    fn after_any_write(&mut self, visit: &Visit<'_>, write: Stamp, found: &mut Vec<Discovery>) {
        let (address, bytes) = visit.by.around(visit.address, visit.lane);
        let (thread, cluster) = self.author(visit, write);
        let (lane, other, what) = (visit.lane, write.pc as Pc, What::NonCoherent { address, bytes, thread, cluster });
        if write.time != 0 && self.stale.insert((visit.by.pc, other)) {
            let (kind, rank) = (FindingKind::Race, Rank::Error);
            found.push(Discovery { kind, rank, lane, other: Some(other), what });
        }
    }

    /// The thread of an old access in its cluster, and the cluster if it is another.
    fn author(&self, visit: &Visit<'_>, old: Stamp) -> (usize, Option<u32>) {
        let cluster = (old.cluster != self.cluster).then_some(old.cluster);
        // Of several lanes, name one that is not this lane.
        let first = usize::from(visit.lane == 0 && cluster.is_none() && usize::from(old.warp) == visit.by.warp);
        let of_warp = if old.lane == SEVERAL { first } else { usize::from(old.lane) };
        (usize::from(old.warp) * LANES + of_warp, cluster)
    }

    /// Whether both accesses are strong, each within the other's scope.
    fn is_morally_strong(&self, visit: &Visit<'_>, old: Stamp) -> bool {
        let Visit { clocks, by, .. } = *visit;
        let includes = |scope| {
            scope == Scope::Device
                || old.cluster == self.cluster && clocks.includes(scope, by.warp, usize::from(old.warp))
        };
        by.kind.is_strong() && old.strong.is_some_and(includes) && includes(by.semantics.scope)
    }

    /// Whether the old access happens before the new one.
    fn is_before(&mut self, visit: &Visit<'_>, old: Stamp) -> bool {
        let Visit { all, clocks, by, lane, .. } = *visit;
        let warp = usize::from(old.warp);
        let lanes = if old.lane == SEVERAL { u32::MAX } else { 1 << old.lane };
        if old.cluster == self.cluster && clocks.unordered((by.warp, lane), warp, lanes, old.time) == 0 {
            return true;
        }
        self.acquire_from_cluster(all, clocks, by.warp);
        self.knowledge[by.warp].has(&all.events, (old.cluster, warp, old.time))
    }
}

impl Visit<'_> {
    fn stamp(&self, cluster: u32) -> Stamp {
        Stamp {
            time: self.clocks.time(self.by.warp),
            cluster,
            pc: self.by.pc as u32,
            warp: self.by.warp as u16,
            lane: self.lane as u8,
            strong: self.by.kind.is_strong().then_some(self.by.semantics.scope),
        }
    }
}
