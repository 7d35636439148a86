//! Races in global memory, among the threads of all clusters of a launch.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::clocks::Clocks;
use super::events::{EventId, Events, Knowledge};
use super::{AccessKind, Discovery, Observed, What};
use crate::finding::FindingKind;
use crate::lanes::{LANES, lanes_of};
use crate::program::Pc;
use crate::types::Space;

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
#[derive(Debug)]
struct Page {
    cells: Box<[Cell]>,
    /// By cell, the event that a strong read of it acquires.
    events: HashMap<usize, EventId>,
}

/// The last write, and the last reads of two warps, preferably unordered ones.
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
    is_strong: bool,
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
}

/// An access of one lane, with its context.
struct Visit<'a> {
    all: &'a GlobalRaces,
    clocks: &'a Clocks,
    by: &'a Observed<'a>,
    lane: usize,
    /// The address of the cell.
    address: u64,
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

    fn new_page(&self) -> Page {
        Page { cells: vec![Cell::default(); 1 << (PAGE - self.shift)].into(), events: HashMap::new() }
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
        Self { cluster: 0, knowledge, learned: vec![], passed_on: HashMap::new(), known: HashSet::new() }
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

    /// An access, before it is made. A strong write releases before others can observe it.
    pub(super) fn access(&mut self, all: &GlobalRaces, clocks: &Clocks, by: &Observed<'_>, found: &mut Vec<Discovery>) {
        let mut event = None;
        if by.kind.is_strong() && by.kind.writes() {
            self.acquire_from_cluster(all, clocks, by.warp);
            event = all.events.release(&self.knowledge[by.warp], self.cluster, clocks.snapshot(by.warp));
            if event.is_none() {
                self.give_up();
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
                for (index, cell) in cells.clone().zip(&mut page.cells[cells.clone()]) {
                    let visit =
                        Visit { all, clocks, by, lane, address: (number << PAGE) + ((index as u64) << all.shift) };
                    match by.kind {
                        AccessKind::Read | AccessKind::StrongRead => self.read(&visit, cell, found),
                        _ => self.write(&visit, cell, found),
                    }
                }
                if let Some(event) = event {
                    let before = page.events.get(&cells.start).copied();
                    match all.events.join(event, before) {
                        Some(event) => _ = page.events.insert(cells.start, event),
                        None => self.give_up(),
                    }
                }
            }
        }
    }

    /// After a strong read: its warp acquires the words' events.
    pub(super) fn acquire(&mut self, all: &GlobalRaces, clocks: &Clocks, by: &Observed<'_>) {
        for lane in lanes_of(by.mask) {
            let number = by.addresses[lane] >> PAGE;
            let cell = all.cells(by, lane).start;
            let event = all.shard(number).get(&number).and_then(|page| page.events.get(&cell).copied());
            if let Some(event) = event {
                self.learn(all, clocks, by.warp, event);
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
        // Keep an unordered read rather than an ordered one.
        let [first, second] = cell.reads;
        let slot = if second.time == 0 || first.time != 0 && !self.is_before(visit, first) { 1 } else { 0 };
        cell.reads[slot] = new;
    }

    fn write(&mut self, visit: &Visit<'_>, cell: &mut Cell, found: &mut Vec<Discovery>) {
        self.compare(visit, cell.write, AccessKind::Write, found);
        for read in cell.reads {
            self.compare(visit, read, AccessKind::Read, found);
        }
        cell.write = visit.stamp(self.cluster);
    }

    fn compare(&mut self, visit: &Visit<'_>, old: Stamp, kind: AccessKind, found: &mut Vec<Discovery>) {
        let Visit { by, lane, address: cell_address, .. } = *visit;
        if old.time == 0 || old.is_strong && by.kind.is_strong() || self.is_before(visit, old) {
            return;
        }
        let other = old.pc as Pc;
        if self.known.insert((by.pc.min(other), by.pc.max(other))) {
            let (address, bytes) = by.around(cell_address, lane);
            let cluster = (old.cluster != self.cluster).then_some(old.cluster);
            // Of several lanes, name one that is not this lane.
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
            is_strong: self.by.kind.is_strong(),
        }
    }
}
