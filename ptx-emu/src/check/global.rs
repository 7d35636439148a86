//! Races in global memory, among the threads of all clusters of a launch.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::clocks::Clocks;
use super::events::{EventId, Events, Knowledge};
use super::{AccessKind, Discovery, Observed, What};
use crate::Space;
use crate::finding::FindingKind;
use crate::lanes::lanes_of;
use crate::program::Pc;
use crate::registers::LANES;

/// Bytes of a page, as a power of two.
const PAGE: u32 = 10;

/// Locks that the pages are spread over.
const SHARDS: usize = 256;

/// Stands for more than one lane of a warp.
const SEVERAL: u8 = u8::MAX;

/// Who accessed what in a launch.
#[derive(Debug)]
pub(crate) struct GlobalRaces {
    shards: Vec<Mutex<HashMap<u64, Page>>>,
    events: Events,
    /// A cell's bytes, as a power of two: as wide as the program's narrowest access, at most a word.
    shift: u32,
}

/// What is known of a part of memory that was touched.
#[derive(Debug)]
struct Page {
    cells: Box<[Cell]>,
    /// By cell, the event that a strong access to it learns of.
    events: HashMap<usize, EventId>,
}

/// The last write, and the last reads of two warps: of those that nothing has put in an order since, if there are any.
#[derive(Debug, Clone, Copy, Default)]
struct Cell {
    write: Stamp,
    reads: [Stamp; 2],
}

/// One access: at a time of a warp's own, which is 0 where there was none.
#[derive(Debug, Clone, Copy, Default)]
struct Stamp {
    time: u32,
    cluster: u32,
    pc: u32,
    warp: u16,
    lane: u8,
    is_strong: bool,
}

/// One cluster's part in it.
#[derive(Debug)]
pub(super) struct ClusterRaces {
    cluster: u32,
    knowledge: Knowledge,
    /// Pairs of places that have been reported.
    known: HashSet<(Pc, Pc)>,
}

/// An access of one lane, and what it is judged by.
struct Visit<'a> {
    all: &'a GlobalRaces,
    clocks: &'a Clocks,
    by: &'a Observed<'a>,
    lane: usize,
    /// The address of the cell.
    place: u64,
}

impl GlobalRaces {
    /// For a launch of a program whose narrowest access to global memory has so many bytes, as a power of two.
    pub(crate) fn new(shift: u32) -> Self {
        Self { shards: (0..SHARDS).map(|_| Mutex::default()).collect(), events: Events::default(), shift }
    }

    fn shard(&self, page: u64) -> MutexGuard<'_, HashMap<u64, Page>> {
        let shard = page as usize % SHARDS;
        self.shards[shard].lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn new_page(&self) -> Page {
        Page { cells: vec![Cell::default(); 1 << (PAGE - self.shift)].into(), events: HashMap::new() }
    }

    /// The cells of the lane's access. Accesses are aligned, and smaller than a page.
    fn cells(&self, by: &Observed<'_>, lane: usize) -> std::ops::Range<usize> {
        let start = ((by.addresses[lane] % (1 << PAGE)) >> self.shift) as usize;
        start..start + (by.bytes as usize >> self.shift).max(1)
    }
}

impl ClusterRaces {
    pub(super) fn new() -> Self {
        Self { cluster: 0, knowledge: Knowledge::default(), known: HashSet::new() }
    }

    pub(super) fn start(&mut self, cluster: u32) {
        self.cluster = cluster;
        self.knowledge = Knowledge::default();
    }

    /// An access that is about to be made. One that is strong and writes lets others know, before they can see it.
    pub(super) fn access(&mut self, all: &GlobalRaces, clocks: &Clocks, by: &Observed<'_>, found: &mut Vec<Discovery>) {
        let mut event = None;
        if by.kind.is_strong() && by.kind.writes() {
            event = all.events.release(&mut self.knowledge, self.cluster, clocks.snapshot(by.warp));
            if event.is_none() {
                self.knowledge.give_up();
            }
        }
        let mut rest = by.mask;
        while rest != 0 {
            let number = by.addresses[rest.trailing_zeros() as usize] >> PAGE;
            let mut shard = all.shard(number);
            let page = shard.entry(number).or_insert_with(|| all.new_page());
            for lane in lanes_of(rest).take_while(|&lane| by.addresses[lane] >> PAGE == number) {
                rest &= !(1 << lane);
                let cells = all.cells(by, lane);
                for (place, cell) in cells.clone().zip(&mut page.cells[cells.clone()]) {
                    let visit =
                        Visit { all, clocks, by, lane, place: (number << PAGE) + ((place as u64) << all.shift) };
                    match by.kind {
                        AccessKind::Read | AccessKind::StrongRead => self.read(&visit, cell, found),
                        _ => self.write(&visit, cell, found),
                    }
                }
                if let Some(event) = event {
                    let before = page.events.get(&cells.start).copied();
                    match all.events.join(event, before) {
                        Some(event) => _ = page.events.insert(cells.start, event),
                        None => self.knowledge.give_up(),
                    }
                }
            }
        }
    }

    /// A strong access has been made that reads: the cluster learns what those had done who wrote to the words before.
    pub(super) fn acquire(&mut self, all: &GlobalRaces, by: &Observed<'_>) {
        for lane in lanes_of(by.mask) {
            let number = by.addresses[lane] >> PAGE;
            let cell = all.cells(by, lane).start;
            let event = all.shard(number).get(&number).and_then(|page| page.events.get(&cell).copied());
            if let Some(event) = event {
                self.knowledge.learn(&all.events, event);
            }
        }
    }

    fn read(&mut self, visit: &Visit<'_>, cell: &mut Cell, found: &mut Vec<Discovery>) {
        self.compare(visit, cell.write, AccessKind::Write, found);
        let new = visit.stamp(self.cluster);
        let is_mine = |old: &&mut Stamp| {
            (old.cluster, old.warp, old.is_strong) == (new.cluster, new.warp, new.is_strong) && old.time != 0
        };
        if let Some(old) = cell.reads.iter_mut().find(is_mine) {
            if old.time > new.time {
                return;
            }
            let is_same = old.time == new.time && old.lane != new.lane;
            *old = Stamp { lane: if is_same { SEVERAL } else { new.lane }, ..new };
            return;
        }
        // One that nothing puts before this one is more worth keeping.
        let [first, second] = cell.reads;
        let place = if second.time == 0 || first.time != 0 && !self.is_before(visit, first) { 1 } else { 0 };
        cell.reads[place] = new;
    }

    fn write(&mut self, visit: &Visit<'_>, cell: &mut Cell, found: &mut Vec<Discovery>) {
        self.compare(visit, cell.write, AccessKind::Write, found);
        for read in cell.reads {
            self.compare(visit, read, AccessKind::Read, found);
        }
        cell.write = visit.stamp(self.cluster);
    }

    fn compare(&mut self, visit: &Visit<'_>, old: Stamp, kind: AccessKind, found: &mut Vec<Discovery>) {
        let Visit { by, lane, place, .. } = *visit;
        if old.time == 0 || old.is_strong && by.kind.is_strong() || self.is_before(visit, old) {
            return;
        }
        let other = old.pc as Pc;
        if self.known.insert((by.pc.min(other), by.pc.max(other))) {
            let (address, bytes) = by.around(place, lane);
            let cluster = (old.cluster != self.cluster).then_some(old.cluster);
            // Of several lanes, it is at least one that is not this one.
            let first = usize::from(lane == 0 && cluster.is_none() && usize::from(old.warp) == by.warp);
            let of_warp = if old.lane == SEVERAL { first } else { usize::from(old.lane) };
            let thread = usize::from(old.warp) * LANES + of_warp;
            let kind = match kind {
                AccessKind::Read if old.is_strong => AccessKind::StrongRead,
                _ if old.is_strong => AccessKind::Atomic,
                kind => kind,
            };
            let what = What::Race { space: Space::Global, address, bytes, thread, cluster, kind };
            found.push(Discovery { kind: FindingKind::Race, lane, other: Some(other), what });
        }
    }

    /// Whether something puts the old access before the new one.
    fn is_before(&mut self, visit: &Visit<'_>, old: Stamp) -> bool {
        let Visit { all, clocks, by, lane, .. } = *visit;
        let warp = usize::from(old.warp);
        let lanes = if old.lane == SEVERAL { u32::MAX } else { 1 << old.lane };
        old.cluster == self.cluster && clocks.unordered((by.warp, lane), warp, lanes, old.time) == 0
            || self.knowledge.has(&all.events, (old.cluster, warp, old.time))
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
            is_strong: self.by.kind.is_strong(),
        }
    }
}
