//! Copies of many bytes that one thread begins: `cp.async.bulk`.
//!
//! As with `cp.async`, nothing is copied before somebody waits for it: at the barrier that the bytes are counted at, or for
//! the group.

use std::sync::Arc;

use super::access::Request;
use super::block::{Fault, Site};
use super::grid::Grid;
use super::mbarrier::shared;
use super::transfer::{get_run, put_run};
use super::warp::Warp;
use crate::Space;
use crate::check::{AccessKind, Beside, Observed, Since};
use crate::coalesce::SECTOR_BYTES;
use crate::counters::Count;
use crate::finding::FindingKind;
use crate::lanes::lanes_of;
use crate::memory::window;
use crate::program::{Bulk, BulkEnd, Pc};
use crate::registers::{LANES, Mask};
use crate::tensor::{Run, Swizzle};

/// Bytes that addresses and sizes must be multiples of.
const PIECE: u32 = 16;

/// What the checkers of global memory can see at once: accesses that do not go beyond such a part of it.
const PAGE: u64 = 1 << 10;

/// A copy that nobody has waited for.
#[derive(Debug)]
pub(super) struct PendingBulk {
    pc: Pc,
    /// The warp's number in the cluster.
    warp: usize,
    lane: usize,
    part: Part,
    end: End,
    since: Option<Since>,
}

/// What a copy moves.
#[derive(Debug, Clone)]
pub(super) struct Part {
    /// In global memory, and where in shared memory. Where nothing is in it is filled with zeros.
    pub runs: Arc<[Run]>,
    /// So many rows of so many bytes from here on, and how far apart they are.
    pub shared: u64,
    pub rows: u32,
    pub row_bytes: u32,
    pub pitch: u32,
    pub swizzle: Swizzle,
    /// What the address in shared memory must be a multiple of.
    pub alignment: u32,
}

impl Part {
    /// Bytes that are copied, or filled with zeros.
    fn bytes(&self) -> u32 {
        self.rows * self.row_bytes
    }

    /// Where these are in shared memory: places, and bytes there.
    fn pieces(&self) -> Vec<(u64, u32)> {
        if self.row_bytes == self.pitch {
            // All of it: whatever the swizzle, pieces change places among themselves.
            return if self.bytes() == 0 { vec![] } else { vec![(self.shared, self.bytes())] };
        }
        let starts = (0..self.rows).map(|row| self.shared + u64::from(row) * u64::from(self.pitch));
        let pieces = starts.flat_map(|start| (start..start + u64::from(self.row_bytes)).step_by(PIECE as usize));
        pieces.map(|piece| (self.swizzle.place(piece), PIECE)).collect()
    }
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
        let (places, globals) = (shared(Space::Shared, warp.addresses(&bulk.shared)), warp.addresses(&bulk.global));
        let sizes: [u32; LANES] = warp.registers.read(bulk.bytes);
        for lane in lanes_of(mask) {
            let (shared, global, bytes) = (places[lane], globals[lane], sizes[lane]);
            let misaligned = if bytes % PIECE != 0 {
                Some(format!("copies {bytes} bytes, which is no multiple of {PIECE}"))
            } else if global % u64::from(PIECE) != 0 {
                Some(format!("copies at {global:#x} in global memory, which is no multiple of {PIECE}"))
            } else {
                None
            };
            if let Some(what) = misaligned {
                if grid.checks.memory {
                    let thread = warp.number * LANES + lane;
                    return Err(self.finding(grid, FindingKind::Misaligned, pc, thread, what).into());
                }
                continue;
            }
            let runs = [Run { offset: 0, global, bytes }].into_iter().filter(|run| run.bytes > 0).collect();
            let (swizzle, alignment) = (Swizzle::None, PIECE);
            let part = Part { runs, shared, rows: 1, row_bytes: bytes, pitch: bytes, swizzle, alignment };
            self.begin_part(grid, warp, (pc, lane), part, &bulk.end, count)?;
        }
        Ok(())
    }

    /// A lane begins a copy.
    pub(super) fn begin_part(
        &mut self,
        grid: &Grid<'_>,
        warp: &Warp,
        (pc, lane): (Pc, usize),
        part: Part,
        end: &BulkEnd,
        count: &mut Count,
    ) -> Result<(), Fault> {
        if !self.check_global(grid, warp, (pc, lane), &part, end)? {
            return Ok(());
        }
        let sectors = |run: &Run| (run.global % SECTOR_BYTES + u64::from(run.bytes)).div_ceil(SECTOR_BYTES);
        count.requests += 1;
        count.sectors += part.runs.iter().map(sectors).sum::<u64>();
        if let Some(footprint) = self.footprint.as_mut() {
            part.runs.iter().for_each(|run| footprint.touch(grid.memory, &[run.global; LANES], 1 << lane, run.bytes));
        }
        let since = self.checks.begin(warp.number);
        let bulk = PendingBulk { pc, warp: warp.number, lane, part, end: End::Group(0), since };
        let (barrier, blocks) = match end {
            BulkEnd::Group => {
                let end = End::Group(warp.copies.bulk_groups[lane]);
                let part = Part { shared: self.own_place(bulk.part.shared), ..bulk.part };
                return self.begin_here(grid, warp, PendingBulk { part, end, ..bulk }, None);
            }
            BulkEnd::Barrier { barrier, blocks } => (shared(Space::Shared, warp.addresses(barrier))[lane], *blocks),
        };
        let place = bulk.part.shared;
        let Some(blocks) = blocks else {
            let ranks = [place, barrier].map(|address| window::rank(address).map_or(self.rank, |rank| rank as usize));
            if ranks[0] != ranks[1] {
                let what = format!("the barrier at {barrier:#x} is not in the block that is copied to");
                self.complain(grid, (warp.number, lane, pc), what);
                return Ok(());
            }
            return self.begin_in(grid, warp, bulk, ranks[0], barrier);
        };
        let blocks = u32::from(warp.registers.read::<u32>(blocks)[lane] as u16);
        for rank in lanes_of(blocks) {
            let copy = PendingBulk { part: bulk.part.clone(), since: bulk.since.clone(), ..bulk };
            self.begin_in(grid, warp, copy, rank, barrier)?;
        }
        Ok(())
    }

    /// Begins a copy to the shared memory of the block of that rank.
    fn begin_in(
        &mut self,
        grid: &Grid<'_>,
        warp: &Warp,
        mut bulk: PendingBulk,
        rank: usize,
        barrier: u64,
    ) -> Result<(), Fault> {
        let blocks = grid.cluster_blocks();
        if rank >= blocks {
            let thread = bulk.warp * LANES + bulk.lane;
            let what = format!("copies to the block of rank {rank} of a cluster of {blocks}");
            return Err(self.finding(grid, FindingKind::OutOfBounds, bulk.pc, thread, what).into());
        }
        bulk.part.shared %= window::RANK;
        bulk.end = End::Barrier(barrier % window::RANK);
        let remote = Some(rank).filter(|&rank| rank != self.rank);
        self.in_memory_of(remote, |site| site.begin_here(grid, warp, bulk, remote))
    }

    /// Begins a copy to or from the shared memory at hand, if it can be made there.
    fn begin_here(
        &mut self,
        grid: &Grid<'_>,
        warp: &Warp,
        bulk: PendingBulk,
        remote: Option<usize>,
    ) -> Result<(), Fault> {
        let PendingBulk { pc, lane, end, part: Part { shared, rows, pitch, alignment, .. }, .. } = bulk;
        let is_inside = |kind, address, bytes, alignment| {
            let (space, mask, addresses) = (Space::Shared, 1 << lane, [address; LANES]);
            let request = Request { pc, kind, space, mask, addresses, bytes, alignment, remote };
            self.inside(grid, warp, &request).map(|mask| mask != 0)
        };
        let is_inside = match end {
            End::Barrier(barrier) => {
                is_inside(AccessKind::Write, shared, rows * pitch, alignment)?
                    && is_inside(AccessKind::Atomic, barrier, 8, 8)?
            }
            End::Group(_) => is_inside(AccessKind::Read, shared, rows * pitch, alignment)?,
        };
        if is_inside {
            self.shared.bulk.push(bulk);
        }
        Ok(())
    }

    /// Whether all is there that is copied from or to global memory.
    fn check_global(
        &self,
        grid: &Grid<'_>,
        warp: &Warp,
        (pc, lane): (Pc, usize),
        part: &Part,
        end: &BulkEnd,
    ) -> Result<bool, Fault> {
        let kind = if matches!(end, BulkEnd::Group) { AccessKind::Write } else { AccessKind::Read };
        for &Run { global, bytes, .. } in part.runs.iter() {
            let (space, mask, addresses) = (Space::Global, 1 << lane, [global; LANES]);
            let request = Request { pc, kind, space, mask, addresses, bytes, alignment: 1, remote: None };
            if self.inside(grid, warp, &request)? == 0 {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Somebody waits at a barrier: what it counts comes to its end. Whether there was anything.
    pub(super) fn end_bulk(&mut self, grid: &Grid<'_>, barrier: u64) -> bool {
        self.end_bulk_where(grid, |bulk| bulk.end == End::Barrier(barrier))
    }

    /// Lanes wait for all of their groups but the last `keep`, or leave the kernel.
    pub(super) fn end_bulk_groups(&mut self, grid: &Grid<'_>, warp: &Warp, mask: Mask, keep: Option<u32>) {
        let (number, groups) = (warp.number, warp.copies.bulk_groups);
        self.end_bulk_where(grid, |bulk| match (bulk.end, keep) {
            _ if bulk.warp != number || mask >> bulk.lane & 1 == 0 => false,
            (End::Group(group), Some(keep)) => u64::from(group) + u64::from(keep) < groups[bulk.lane].into(),
            (End::Group(_), None) => true,
            (End::Barrier(_), _) => false,
        });
    }

    fn end_bulk_where(&mut self, grid: &Grid<'_>, is_due: impl Fn(&PendingBulk) -> bool) -> bool {
        if self.shared.bulk.is_empty() {
            return false;
        }
        let due = self.shared.bulk.extract_if(.., |bulk| is_due(bulk)).collect::<Vec<_>>();
        for bulk in &due {
            self.check_parts(grid, bulk);
            self.move_bytes(grid, bulk);
            let End::Barrier(barrier) = bulk.end else { continue };
            let PendingBulk { pc, warp, lane, .. } = *bulk;
            self.checks.phase_reached(barrier, warp, bulk.since.as_ref());
            if let Err(what) = self.bytes_came(barrier, bulk.part.bytes()) {
                self.complain(grid, (warp, lane, pc), format!("the barrier at {barrier:#x}: {what}"));
            }
        }
        !due.is_empty()
    }

    /// Shows the checkers a copy.
    fn check_parts(&mut self, grid: &Grid<'_>, bulk: &PendingBulk) {
        let PendingBulk { pc, warp, lane, ref part, end, ref since } = *bulk;
        let (of_global, of_shared, told) = match end {
            End::Barrier(_) => (AccessKind::Read, AccessKind::Write, true),
            End::Group(_) => (AccessKind::Write, AccessKind::Read, false),
        };
        let how = Beside::Engine { told };
        let (mut found, mask, since) = (vec![], 1 << lane, since.as_ref());
        for &Run { mut global, bytes, .. } in part.runs.iter().filter(|_| grid.global_races.is_some()) {
            let end = global + u64::from(bytes);
            while global < end {
                let next = end.min((global + 1).next_multiple_of(PAGE));
                let (addresses, bytes) = ([global; LANES], (next - global) as u32);
                let access = Observed { kind: of_global, pc, warp, mask, addresses: &addresses, bytes };
                found.append(&mut self.checks.global_since(grid.global_races.as_ref(), &access, since, how));
                global = next;
            }
        }
        for (place, bytes) in part.pieces() {
            let addresses = [place; LANES];
            let access = Observed { kind: of_shared, pc, warp, mask, addresses: &addresses, bytes };
            found.append(&mut self.checks.shared_since(&access, since, how));
        }
        for discovery in found {
            self.report(grid, pc, warp, discovery);
        }
    }

    fn move_bytes(&mut self, grid: &Grid<'_>, bulk: &PendingBulk) {
        let Part { ref runs, shared, swizzle, .. } = bulk.part;
        let memory = &mut self.shared.bytes;
        let is_load = matches!(bulk.end, End::Barrier(_));
        if is_load && runs.iter().map(|run| run.bytes).sum::<u32>() < bulk.part.bytes() {
            let pieces = bulk.part.pieces().into_iter();
            pieces.for_each(|(place, bytes)| memory[place as usize..][..bytes as usize].fill(0));
        }
        for run in runs.iter() {
            let Ok(allocation) = grid.memory.find(run.global) else { continue };
            let place = |offset: u32| swizzle.place(shared + u64::from(offset)) as usize;
            match is_load {
                true => get_run(allocation, run, memory, place),
                false => put_run(allocation, run, memory, place),
            }
        }
    }
}
