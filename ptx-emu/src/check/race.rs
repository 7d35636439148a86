//! Races in shared memory: two unordered accesses to the same bytes, at least one of them a write.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use super::clocks::Clocks;
use super::{AccessKind, Discovery, Observed, What};
use crate::finding::{FindingKind, Rank};
use crate::lanes::{LANES, Mask, lanes_of};
use crate::program::Pc;
use crate::types::{Scope, Space};

/// Cells per page of the reads of other blocks, which are few.
const PAGE: usize = 64;

/// Adjacent cells from which on an access is checked as a whole first.
const MIN_RANGE: usize = 4;

/// The last reads and writes. A cell is as wide as the program's narrowest access, at most a word.
#[derive(Debug)]
pub(super) struct Races {
    /// The indices of the block's warps, and the warps of the cluster.
    own: Range<usize>,
    warps: usize,
    /// Bytes of a cell, as a power of two.
    shift: u32,
    /// The last weak write of each cell.
    writes: Vec<Write>,
    /// By warp of the block and cell: time and lanes of the last read.
    reads: Vec<Read>,
    /// By page, the reads of other blocks' warps.
    reads_of_others: HashMap<usize, Vec<(usize, [Read; PAGE])>>,
    /// By cell, strong reads, which do not race with strong writes; and the last strong write since the last write.
    strong_reads: HashMap<usize, Box<[Read]>>,
    strong_writes: HashMap<usize, Write>,
    /// The range of these cells.
    strong_cells: Range<usize>,
    /// Pairs of instructions already reported as races.
    known: HashSet<(Pc, Pc)>,
    /// Pairs of instructions already reported as unfenced.
    unfenced: HashSet<(Pc, Pc)>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Write {
    time: u32,
    pc: u32,
    warp: u16,
    lane: u8,
    /// The scope, if it was strong.
    strong: Option<Scope>,
    /// It used the async proxy.
    by_async_proxy: bool,
}

#[derive(Debug, Clone, Copy, Default)]
struct Read {
    time: u32,
    lanes: Mask,
    pc: u32,
}

/// An access, with its warp's clock.
struct Now<'a> {
    clocks: &'a Clocks,
    by: &'a Observed<'a>,
    time: u32,
    seen: &'a [u32],
}

impl Now<'_> {
    /// Whether it and the write are strong, each within the other's scope.
    fn is_morally_strong(&self, write: &Write) -> bool {
        let includes = |scope| self.clocks.includes(scope, self.by.warp, write.warp.into());
        self.by.kind.is_strong() && write.strong.is_some_and(includes) && includes(self.by.semantics.scope)
    }
}

impl Races {
    /// For the memory of the block with the warps `own`, out of `warps`.
    pub(super) fn new(own: Range<usize>, warps: usize, bytes: usize, shift: u32) -> Self {
        let cells = bytes.div_ceil(1 << shift);
        Self {
            warps,
            shift,
            writes: vec![Write::default(); cells],
            reads: vec![Read::default(); cells * own.len()],
            reads_of_others: HashMap::new(),
            own,
            strong_reads: HashMap::new(),
            strong_writes: HashMap::new(),
            strong_cells: 0..0,
            known: HashSet::new(),
            unfenced: HashSet::new(),
        }
    }

    /// Starts a block; `forget` if times restart.
    pub(super) fn start(&mut self, forget: bool) {
        self.strong_reads.clear();
        self.strong_writes.clear();
        self.strong_cells = 0..0;
        self.reads_of_others.clear();
        if forget {
            self.writes.fill(Write::default());
            self.reads.fill(Read::default());
        }
    }

    pub(super) fn access(&mut self, clocks: &Clocks, access: &Observed<'_>, found: &mut Vec<Discovery>) {
        let cells = (access.bytes as usize >> self.shift).max(1);
        let (time, seen) = (clocks.time(access.warp), clocks.seen(access.warp));
        let now = Now { clocks, by: access, time, seen };
        let mut rest = access.mask;
        while rest != 0 {
            // Consecutive lanes that access the same cells.
            let first = rest.trailing_zeros() as usize;
            let address = access.addresses[first];
            let mut lanes = 1 << first;
            for lane in first + 1..LANES {
                if access.addresses[lane] != address {
                    break;
                }
                lanes |= rest & 1 << lane;
            }
            rest &= !lanes;
            let start = (address >> self.shift) as usize;
            let cells = start..start + cells;
            if cells.len() >= MIN_RANGE && self.access_range(&now, cells.clone(), lanes) {
                continue;
            }
            for cell in cells {
                match access.kind {
                    AccessKind::Read => self.read(&now, cell, lanes, found),
                    AccessKind::StrongRead => self.strong_read(&now, cell, lanes, found),
                    _ => lanes_of(lanes).for_each(|lane| self.write(&now, cell, lane, found)),
                }
            }
        }
    }

    /// Records an access to adjacent cells at once if none of them races and none is special. Returns whether it did.
    fn access_range(&mut self, now: &Now<'_>, cells: Range<usize>, lanes: Mask) -> bool {
        let (all, by_async_proxy) = (self.writes.len(), now.clocks.is_by_async_proxy());
        let reads = |own: usize| own * all + cells.start..own * all + cells.end;
        let is_after = |write: &Write| write.time > now.seen[usize::from(write.warp)];
        let own = now.by.warp.checked_sub(self.own.start).filter(|_| self.own.contains(&now.by.warp));
        if cells.start < self.strong_cells.end && self.strong_cells.start < cells.end {
            return false;
        }
        match (now.by.kind, own) {
            (AccessKind::Read, Some(own)) => {
                let needs_fence = |write: &Write| by_async_proxy && !write.by_async_proxy;
                if self.writes[cells.clone()].iter().any(|write| is_after(write) || needs_fence(write)) {
                    return false;
                }
                self.reads[reads(own)].iter_mut().for_each(|read| read.note(now, lanes));
                true
            }
            (AccessKind::Write, _) if lanes.is_power_of_two() && self.reads_of_others.is_empty() => {
                let is_read =
                    |(own, &known): (usize, &u32)| self.reads[reads(own)].iter().any(|read| read.time > known);
                let own = &now.seen[self.own.clone()];
                if self.writes[cells.clone()].iter().any(is_after) || own.iter().enumerate().any(is_read) {
                    return false;
                }
                let (pc, warp, lane) = (now.by.pc as u32, now.by.warp as u16, lanes.trailing_zeros() as u8);
                self.writes[cells].fill(Write { time: now.time, pc, warp, lane, strong: None, by_async_proxy });
                true
            }
            _ => false,
        }
    }

    fn read(&mut self, now: &Now<'_>, cell: usize, lanes: Mask, found: &mut Vec<Discovery>) {
        let write = self.writes[cell];
        if write.time > now.seen[usize::from(write.warp)] {
            self.after_write(now, cell, write, lanes, found);
        }
        if now.clocks.is_by_async_proxy() && !write.by_async_proxy {
            self.after_generic_write(now, cell, write, lanes, found);
        }
        if self.strong_cells.contains(&cell)
            && let Some(write) = self.strong_writes.get(&cell).copied()
        {
            self.after_write(now, cell, write, lanes, found);
            if now.clocks.is_by_async_proxy() {
                self.after_generic_write(now, cell, write, lanes, found);
            }
        }
        let (warp, cells) = (now.by.warp, self.writes.len());
        let read = match warp.checked_sub(self.own.start).filter(|_| self.own.contains(&warp)) {
            Some(own) => &mut self.reads[own * cells + cell],
            None => {
                let readers = self.reads_of_others.entry(cell / PAGE).or_default();
                let index = readers.iter().position(|(reader, _)| *reader == warp).unwrap_or_else(|| {
                    readers.push((warp, [Read::default(); PAGE]));
                    readers.len() - 1
                });
                &mut readers[index].1[cell % PAGE]
            }
        };
        read.note(now, lanes);
    }

    fn strong_read(&mut self, now: &Now<'_>, cell: usize, lanes: Mask, found: &mut Vec<Discovery>) {
        for write in self.strong_writes.get(&cell).copied().into_iter().chain([self.writes[cell]]) {
            if !now.is_morally_strong(&write) {
                self.after_write(now, cell, write, lanes, found);
            }
        }
        self.note_strong(cell);
        let warps = self.warps;
        let reads = self.strong_reads.entry(cell).or_insert_with(|| vec![Read::default(); warps].into());
        reads[now.by.warp].note(now, lanes);
    }

    fn write(&mut self, now: &Now<'_>, cell: usize, lane: usize, found: &mut Vec<Discovery>) {
        let (is_strong, seen) = (now.by.kind.is_strong(), now.seen);
        let is_special = self.strong_cells.contains(&cell);
        let strong_write = if is_special { self.strong_writes.get(&cell).copied() } else { None };
        for write in strong_write.into_iter().chain([self.writes[cell]]) {
            if write.time > seen[usize::from(write.warp)] && !now.is_morally_strong(&write) {
                self.after_write(now, cell, write, 1 << lane, found);
            }
        }
        let cells = self.writes.len();
        for (index, &known) in seen[self.own.clone()].iter().enumerate() {
            let read = self.reads[index * cells + cell];
            if read.time > known {
                self.after_read(now, (lane, cell), (self.own.start + index, read, AccessKind::Read), found);
            }
        }
        if !self.reads_of_others.is_empty() {
            let readers = self.reads_of_others.get(&(cell / PAGE)).into_iter().flatten();
            let reads = readers.map(|(warp, reads)| (*warp, reads[cell % PAGE]));
            for (warp, read) in reads.filter(|(warp, read)| read.time > seen[*warp]).collect::<Vec<_>>() {
                self.after_read(now, (lane, cell), (warp, read, AccessKind::Read), found);
            }
        }
        if !is_strong && is_special {
            for warp in 0..self.warps {
                let read = self.strong_reads.get(&cell).map_or(Read::default(), |reads| reads[warp]);
                self.after_read(now, (lane, cell), (warp, read, AccessKind::StrongRead), found);
            }
        }
        let (pc, warp, lane) = (now.by.pc as u32, now.by.warp as u16, lane as u8);
        let by_async_proxy = now.clocks.is_by_async_proxy();
        let strong = is_strong.then_some(now.by.semantics.scope);
        let write = Write { time: now.time, pc, warp, lane, strong, by_async_proxy };
        if is_strong {
            self.note_strong(cell);
            self.strong_writes.insert(cell, write);
            return;
        }
        self.writes[cell] = write;
        if is_special {
            self.strong_writes.remove(&cell);
        }
    }

    /// A strong access to the cell.
    fn note_strong(&mut self, cell: usize) {
        let cells = &mut self.strong_cells;
        *cells = if cells.end == 0 { cell..cell + 1 } else { cells.start.min(cell)..cells.end.max(cell + 1) };
    }

    fn after_write(&mut self, now: &Now<'_>, cell: usize, write: Write, lanes: Mask, found: &mut Vec<Discovery>) {
        let (warp, other) = (usize::from(write.warp), usize::from(write.lane));
        let races = |&lane: &usize| now.clocks.unordered((now.by.warp, lane), warp, 1 << other, write.time) != 0;
        if let Some(lane) = lanes_of(lanes).find(races) {
            let kind = if write.strong.is_some() { AccessKind::Atomic } else { AccessKind::Write };
            self.race(now, (lane, cell), (warp * LANES + other, write.pc, kind, write.time), found);
        }
    }

    /// A read by the async proxy of a generic write.
    #[inline(always)]
    fn after_generic_write(
        &mut self,
        now: &Now<'_>,
        cell: usize,
        write: Write,
        lanes: Mask,
        found: &mut Vec<Discovery>,
    ) {
        let (warp, other) = (usize::from(write.warp), usize::from(write.lane));
        if now.clocks.is_fenced(warp, other, write.time) || !self.unfenced.insert((now.by.pc, write.pc as Pc)) {
            return;
        }
        let lane = lanes.trailing_zeros() as usize;
        let (address, bytes) = now.by.around((cell as u64) << self.shift, lane);
        let what = What::NoFence { address, bytes, thread: warp * LANES + other };
        let (kind, rank) = (FindingKind::Race, Rank::Error);
        found.push(Discovery { kind, rank, lane, other: Some(write.pc as Pc), what });
    }

    fn after_read(
        &mut self,
        now: &Now<'_>,
        (lane, cell): (usize, usize),
        (warp, read, kind): (usize, Read, AccessKind),
        found: &mut Vec<Discovery>,
    ) {
        let others = now.clocks.unordered((now.by.warp, lane), warp, read.lanes, read.time);
        if others != 0 {
            let other = warp * LANES + others.trailing_zeros() as usize;
            self.race(now, (lane, cell), (other, read.pc, kind, read.time), found);
        }
    }

    fn race(
        &mut self,
        now: &Now<'_>,
        (lane, cell): (usize, usize),
        (thread, pc, kind, time): (usize, u32, AccessKind, u32),
        found: &mut Vec<Discovery>,
    ) {
        let other = pc as Pc;
        let pair = (now.by.pc.min(other), now.by.pc.max(other));
        // Whether two writes agree in their values, this time and the next, is not known here.
        let are_writes = (now.by.kind, kind) == (AccessKind::Write, AccessKind::Write);
        let is_new = if are_writes { !self.known.contains(&pair) } else { self.known.insert(pair) };
        if is_new {
            let (address, bytes) = now.by.around((cell as u64) << self.shift, lane);
            let (space, cluster, is_observed) = (Space::Shared, None, false);
            let what = What::Race { space, address, bytes, thread, time, cluster, kind, is_observed };
            let (kind, rank) = (FindingKind::Race, Rank::Error);
            found.push(Discovery { kind, rank, lane, other: Some(other), what });
        }
    }
}

impl Read {
    /// Records lanes that read now, and drops reads that happen before.
    #[inline(always)]
    fn note(&mut self, now: &Now<'_>, lanes: Mask) {
        if self.time >= now.time {
            self.lanes |= lanes;
            return;
        }
        let mut old = 0;
        if self.time > now.seen[now.by.warp] && !now.clocks.lanes_differ(now.by.warp) {
            // Unordered with this read, as the lanes that read now are.
            old = self.lanes;
        }
        *self = Self { time: now.time, lanes: old | lanes, pc: now.by.pc as u32 };
    }
}
