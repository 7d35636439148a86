//! Copies of many bytes that one thread begins: `cp.async.bulk`.
//!
//! As with `cp.async`, nothing is copied before somebody waits for it: at the barrier that the bytes are counted at, or for
//! the group.

use std::sync::atomic::Ordering::Relaxed;

use super::access::Request;
use super::block::{Fault, Site};
use super::grid::Grid;
use super::mbarrier::shared;
use super::warp::Warp;
use crate::Space;
use crate::check::{AccessKind, Observed, Since};
use crate::coalesce::SECTOR_BYTES;
use crate::counters::Count;
use crate::finding::FindingKind;
use crate::lanes::lanes_of;
use crate::program::{Bulk, Pc};
use crate::registers::{LANES, Mask};

/// Bytes that addresses and sizes must be multiples of. The checkers see a copy in pieces of so many.
const PIECE: u32 = 16;

/// A copy that nobody has waited for.
#[derive(Debug)]
pub(super) struct PendingBulk {
    pc: Pc,
    warp: usize,
    lane: usize,
    global: u64,
    shared: u64,
    bytes: u32,
    end: End,
    since: Option<Since>,
}

/// Where a copy is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// To shared memory: at this barrier.
    Barrier(u64),
    /// To global memory: with that group of the thread.
    Group(u32),
}

impl Site {
    pub(super) fn begin_bulk(
        &mut self,
        grid: &Grid<'_>,
        warp: &mut Warp,
        pc: Pc,
        bulk: &Bulk,
        mask: Mask,
        count: &mut Count,
    ) -> Result<(), Fault> {
        let (to, from) = (warp.addresses(&bulk.to), warp.addresses(&bulk.from));
        let sizes: [u32; LANES] = warp.registers.read(bulk.bytes);
        let barriers = bulk.barrier.map(|barrier| shared(Space::Shared, warp.addresses(&barrier)));
        for lane in lanes_of(mask) {
            let (global, shared) = if barriers.is_some() { (from[lane], to[lane]) } else { (to[lane], from[lane]) };
            let bytes = sizes[lane];
            let end = match &barriers {
                Some(barriers) => End::Barrier(barriers[lane]),
                None => End::Group(warp.copies.bulk_groups[lane]),
            };
            let mut bulk = PendingBulk { pc, warp: warp.number, lane, global, shared, bytes, end, since: None };
            if !self.check_bulk(grid, warp, &bulk)? {
                continue;
            }
            count.requests += 1;
            let sectors = (global % SECTOR_BYTES + u64::from(bytes)).div_ceil(SECTOR_BYTES);
            count.sectors += if bytes == 0 { 0 } else { sectors };
            if let Some(footprint) = self.footprint.as_mut().filter(|_| bytes > 0) {
                footprint.touch(grid.memory, &[global; LANES], 1 << lane, bytes);
            }
            bulk.since = self.checks.begin(warp.number);
            self.shared.bulk.push(bulk);
        }
        Ok(())
    }

    /// Whether the copy can be made; a fault where it must.
    fn check_bulk(&self, grid: &Grid<'_>, warp: &Warp, bulk: &PendingBulk) -> Result<bool, Fault> {
        let PendingBulk { pc, lane, global, shared, bytes, end, .. } = *bulk;
        if bytes % PIECE != 0 {
            let what = format!("copies {bytes} bytes, which is no multiple of {PIECE}");
            let thread = warp.number * LANES + lane;
            return match grid.checks.memory {
                true => Err(self.finding(grid, FindingKind::Misaligned, pc, thread, what).into()),
                false => Ok(false),
            };
        }
        let is_inside = |kind, space, address, bytes, alignment| {
            let addresses = [address; LANES];
            let request = Request { pc, kind, space, mask: 1 << lane, addresses, bytes, alignment, remote: None };
            self.inside(grid, warp, &request).map(|mask| mask != 0)
        };
        let (read, write) = (AccessKind::Read, AccessKind::Write);
        Ok(match end {
            End::Barrier(barrier) => {
                is_inside(read, Space::Global, global, bytes, PIECE)?
                    && is_inside(write, Space::Shared, shared, bytes, PIECE)?
                    && is_inside(AccessKind::Atomic, Space::Shared, barrier, 8, 8)?
            }
            End::Group(_) => {
                is_inside(read, Space::Shared, shared, bytes, PIECE)?
                    && is_inside(write, Space::Global, global, bytes, PIECE)?
            }
        })
    }

    /// Somebody waits at a barrier: what it counts comes to its end.
    pub(super) fn end_bulk(&mut self, grid: &Grid<'_>, barrier: u64) {
        self.end_bulk_where(grid, |bulk| bulk.end == End::Barrier(barrier));
    }

    /// Lanes wait for all of their groups but the last `keep`, or leave the kernel.
    pub(super) fn end_bulk_groups(&mut self, grid: &Grid<'_>, warp: &Warp, mask: Mask, keep: Option<u32>) {
        let (index, groups) = (warp.number, warp.copies.bulk_groups);
        self.end_bulk_where(grid, |bulk| match (bulk.end, keep) {
            _ if bulk.warp != index || mask >> bulk.lane & 1 == 0 => false,
            (End::Group(group), Some(keep)) => u64::from(group) + u64::from(keep) < groups[bulk.lane].into(),
            (End::Group(_), None) => true,
            (End::Barrier(_), _) => false,
        });
    }

    fn end_bulk_where(&mut self, grid: &Grid<'_>, is_due: impl Fn(&PendingBulk) -> bool) {
        if self.shared.bulk.is_empty() {
            return;
        }
        for bulk in self.shared.bulk.extract_if(.., |bulk| is_due(bulk)).collect::<Vec<_>>() {
            self.check_pieces(grid, &bulk);
            self.move_bytes(grid, &bulk);
            let End::Barrier(barrier) = bulk.end else { continue };
            let PendingBulk { pc, warp, lane, bytes, .. } = bulk;
            self.checks.phase_reached(barrier, warp, bulk.since.as_ref());
            if let Err(what) = self.bytes_came(barrier, bytes) {
                self.complain(grid, (warp, lane, pc), format!("the barrier at {barrier:#x}: {what}"));
            }
        }
    }

    /// Shows the checkers a copy, piece by piece.
    fn check_pieces(&mut self, grid: &Grid<'_>, bulk: &PendingBulk) {
        let PendingBulk { pc, warp, lane, global, shared, bytes, end, ref since } = *bulk;
        let (of_global, of_shared) = match end {
            End::Barrier(_) => (AccessKind::Read, AccessKind::Write),
            End::Group(_) => (AccessKind::Write, AccessKind::Read),
        };
        let (mut found, told) = (vec![], matches!(end, End::Barrier(_)));
        for offset in (0..bytes).step_by(PIECE as usize).map(u64::from) {
            let (global, shared) = ([global + offset; LANES], [shared + offset; LANES]);
            let (mask, bytes) = (1 << lane, PIECE);
            let in_global = Observed { kind: of_global, pc, warp, mask, addresses: &global, bytes };
            found.append(&mut self.checks.global_since(grid.global_races.as_ref(), &in_global, since.as_ref(), told));
            let in_shared = Observed { kind: of_shared, addresses: &shared, ..in_global };
            found.append(&mut self.checks.shared_since(&in_shared, since.as_ref(), told));
        }
        for discovery in found {
            self.report(grid, pc, warp, discovery);
        }
    }

    fn move_bytes(&mut self, grid: &Grid<'_>, bulk: &PendingBulk) {
        let PendingBulk { global, shared, bytes, end, .. } = *bulk;
        let Ok(allocation) = grid.memory.find(global) else { return };
        let words = &allocation.words()[((global - allocation.base()) / 4) as usize..];
        let bytes = &mut self.shared.bytes[shared as usize..][..bytes as usize];
        for (word, bytes) in words.iter().zip(bytes.as_chunks_mut().0) {
            match end {
                End::Barrier(_) => *bytes = word.load(Relaxed).to_le_bytes(),
                End::Group(_) => word.store(u32::from_le_bytes(*bytes), Relaxed),
            }
        }
    }
}
