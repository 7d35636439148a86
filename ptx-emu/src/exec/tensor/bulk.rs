//! Bulk copies: `cp.async.bulk`.
//!
//! As with `cp.async`, the bytes move when a thread waits: at the mbarrier that counts them, or for the bulk group.

use super::transfer::{get_run, put_run};
use crate::check::{AccessKind, Observed, Proxy};
use crate::counters::Count;
use crate::counters::coalesce::SECTOR_BYTES;
use crate::exec::memory::{Request, get_bytes, replace, shared};
use crate::exec::state::{BulkCopy, CHUNK_BYTES, End, Fault, Grid, Origin, PendingBulk, Site, Warp};
use crate::finding::FindingKind;
use crate::lanes::{LANES, Mask, lanes_of};
use crate::memory::{Run, Swizzle, window};
use crate::program::{Bulk, BulkEnd, Pc, Reduce};
use crate::types::{Semantics, Space};

/// The race checker of global memory takes accesses within one page of this size.
const PAGE: u64 = 1 << 10;

impl Site {
    pub(crate) fn begin_bulk(
        &mut self,
        grid: &Grid<'_>,
        warp: &mut Warp,
        pc: Pc,
        bulk: &Bulk,
        mask: Mask,
        count: &mut Count,
    ) -> Result<(), Fault> {
        let (offsets, globals) = (shared(Space::Shared, warp.addresses(&bulk.shared)), warp.addresses(&bulk.global));
        let sizes: [u32; LANES] = warp.registers.read(bulk.bytes);
        for lane in lanes_of(mask) {
            let (shared, global, bytes) = (offsets[lane], globals[lane], sizes[lane]);
            let misaligned = if bytes % CHUNK_BYTES != 0 {
                Some(format!("copies {bytes} bytes, which is not a multiple of {CHUNK_BYTES}"))
            } else if global % u64::from(CHUNK_BYTES) != 0 {
                let place = grid.place_of(global);
                Some(format!("copies at {global:#x} in global memory{place}, which is not a multiple of {CHUNK_BYTES}"))
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
            let (swizzle, alignment, reduce) = (Swizzle::None, CHUNK_BYTES, bulk.reduce);
            let copy = BulkCopy { runs, shared, rows: 1, row_bytes: bytes, pitch: bytes, swizzle, alignment, reduce };
            self.begin_bulk_copy(grid, warp, (pc, lane), copy, &bulk.end, count)?;
        }
        Ok(())
    }

    /// Issues a copy of one lane.
    pub(crate) fn begin_bulk_copy(
        &mut self,
        grid: &Grid<'_>,
        warp: &Warp,
        (pc, lane): (Pc, usize),
        copy: BulkCopy,
        end: &BulkEnd,
        count: &mut Count,
    ) -> Result<(), Fault> {
        if !self.check_global(grid, warp, (pc, lane), &copy, end)? {
            return Ok(());
        }
        let sectors = |run: &Run| (run.global % SECTOR_BYTES + u64::from(run.bytes)).div_ceil(SECTOR_BYTES);
        count.requests += 1;
        count.sectors += copy.runs.iter().map(sectors).sum::<u64>();
        if let Some(footprint) = self.footprint.as_mut() {
            let is_load = matches!(end, BulkEnd::Barrier { .. });
            let mut touch =
                |run: &Run| footprint.touch(grid.memory, &[run.global; LANES], 1 << lane, run.bytes, is_load);
            copy.runs.iter().for_each(&mut touch);
        }
        let since = self.checks.begin(warp.number);
        let bulk = PendingBulk { pc, warp: warp.number, lane, copy, end: End::Group(0), since };
        let (barrier, blocks) = match end {
            BulkEnd::Group => {
                let end = End::Group(warp.copies.bulk_groups[lane]);
                let copy = BulkCopy { shared: self.own_offset(bulk.copy.shared), ..bulk.copy };
                return self.begin_here(grid, warp, PendingBulk { copy, end, ..bulk }, None);
            }
            BulkEnd::Barrier { barrier, blocks } => (shared(Space::Shared, warp.addresses(barrier))[lane], *blocks),
        };
        let destination = bulk.copy.shared;
        let Some(blocks) = blocks else {
            let ranks =
                [destination, barrier].map(|address| window::rank(address).map_or(self.rank, |rank| rank as usize));
            if ranks[0] != ranks[1] {
                let what = format!("the mbarrier at {barrier:#x} is not in the destination block");
                self.complain(grid, Origin { warp: warp.number, lane, pc }, what);
                return Ok(());
            }
            return self.begin_in(grid, warp, bulk, ranks[0], barrier);
        };
        let blocks = u32::from(warp.registers.read::<u32>(blocks)[lane] as u16);
        for rank in lanes_of(blocks) {
            let bulk = PendingBulk { copy: bulk.copy.clone(), since: bulk.since.clone(), ..bulk };
            self.begin_in(grid, warp, bulk, rank, barrier)?;
        }
        Ok(())
    }

    /// Issues a copy to the shared memory of the block of that rank.
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
        bulk.copy.shared %= window::RANK;
        bulk.end = End::Barrier(barrier % window::RANK);
        let remote = Some(rank).filter(|&rank| rank != self.rank);
        self.in_memory_of(remote, |site| site.begin_here(grid, warp, bulk, remote))
    }

    /// Issues a copy to or from the shared memory at hand, if it is in bounds.
    fn begin_here(
        &mut self,
        grid: &Grid<'_>,
        warp: &Warp,
        bulk: PendingBulk,
        remote: Option<usize>,
    ) -> Result<(), Fault> {
        let PendingBulk { pc, lane, end, copy: BulkCopy { shared, rows, pitch, alignment, .. }, .. } = bulk;
        let is_in_bounds = |kind, address, bytes, alignment| {
            let (space, mask, addresses) = (Space::Shared, 1 << lane, [address; LANES]);
            let request =
                Request { pc, kind, space, mask, addresses, bytes, alignment, remote, semantics: Semantics::DEFAULT };
            self.in_bounds(grid, warp, &request).map(|mask| mask != 0)
        };
        let is_in_bounds = match end {
            End::Barrier(barrier) => {
                is_in_bounds(AccessKind::Write, shared, rows * pitch, alignment)?
                    && is_in_bounds(AccessKind::Atomic, barrier, 8, 8)?
            }
            End::Group(_) => is_in_bounds(AccessKind::Read, shared, rows * pitch, alignment)?,
        };
        if is_in_bounds {
            if let End::Barrier(barrier) = end
                && let Some(discovery) = self.checks.completes_on(barrier, lane)
            {
                self.report(grid, pc, warp.number, discovery);
            }
            self.record_transfer(grid, &bulk, false);
            self.shared.bulk.push(bulk);
        }
        Ok(())
    }

    /// Whether the copy is in bounds in global memory.
    fn check_global(
        &self,
        grid: &Grid<'_>,
        warp: &Warp,
        (pc, lane): (Pc, usize),
        copy: &BulkCopy,
        end: &BulkEnd,
    ) -> Result<bool, Fault> {
        let kind = if matches!(end, BulkEnd::Group) { AccessKind::Write } else { AccessKind::Read };
        for &Run { global, bytes, .. } in copy.runs.iter() {
            let (space, mask, addresses) = (Space::Global, 1 << lane, [global; LANES]);
            let request = Request {
                pc,
                kind,
                space,
                mask,
                addresses,
                bytes,
                alignment: 1,
                remote: None,
                semantics: Semantics::DEFAULT,
            };
            if self.in_bounds(grid, warp, &request)? == 0 {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Completes the copies that the mbarrier counts. Returns whether there were any.
    pub(crate) fn end_bulk(&mut self, grid: &Grid<'_>, barrier: u64) -> bool {
        self.end_bulk_where(grid, |bulk| bulk.end == End::Barrier(barrier))
    }

    /// Completes all bulk groups of these lanes but the last `keep`; all of them if the lanes exit.
    pub(crate) fn end_bulk_groups(&mut self, grid: &Grid<'_>, warp: &Warp, mask: Mask, keep: Option<u32>) {
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
            self.check_bulk_copy(grid, bulk);
            let recorded = self.record_bulk(grid, bulk, matches!(bulk.end, End::Barrier(_)));
            self.move_bytes(grid, bulk);
            recorded.into_iter().for_each(|access| self.record_result(grid, None, access));
            self.record_transfer(grid, bulk, true);
            let End::Barrier(barrier) = bulk.end else { continue };
            let PendingBulk { pc, warp, lane, .. } = *bulk;
            self.checks.phase_reached(barrier, warp, bulk.since.as_ref());
            let recorded = self.record_tx(grid, pc, lane, barrier);
            let completed = self.complete_tx(grid, barrier, bulk.copy.bytes());
            self.recorded(grid, None, recorded);
            if let Err(what) = completed {
                self.complain(grid, Origin { warp, lane, pc }, format!("the barrier at {barrier:#x}: {what}"));
            }
        }
        !due.is_empty()
    }

    /// Shows a copy to the checkers.
    fn check_bulk_copy(&mut self, grid: &Grid<'_>, bulk: &PendingBulk) {
        let PendingBulk { pc, warp, lane, ref copy, end, ref since } = *bulk;
        let (of_global, of_shared, signalled) = match end {
            End::Barrier(_) => (AccessKind::Read, AccessKind::Write, true),
            End::Group(_) if copy.reduce.is_some() => (AccessKind::Atomic, AccessKind::Read, false),
            End::Group(_) => (AccessKind::Write, AccessKind::Read, false),
        };
        let how = Proxy::Async { signalled };
        let (mut found, mask, since) = (vec![], 1 << lane, since.as_ref());
        for &Run { mut global, bytes, .. } in copy.runs.iter().filter(|_| grid.global_races.is_some()) {
            let end = global + u64::from(bytes);
            while global < end {
                let next = end.min((global + 1).next_multiple_of(PAGE));
                let (addresses, bytes) = ([global; LANES], (next - global) as u32);
                let access = Observed::weak(of_global, pc, (warp, mask), &addresses, bytes);
                found.append(&mut self.checks.global_since(grid.global_races.as_ref(), &access, since, how));
                global = next;
            }
        }
        for (address, bytes) in copy.chunks() {
            let addresses = [address; LANES];
            let access = Observed::weak(of_shared, pc, (warp, mask), &addresses, bytes);
            found.append(&mut self.checks.shared_since(&access, since, how));
        }
        for discovery in found {
            self.report(grid, pc, warp, discovery);
        }
    }

    fn move_bytes(&mut self, grid: &Grid<'_>, bulk: &PendingBulk) {
        let BulkCopy { ref runs, shared, swizzle, .. } = bulk.copy;
        let memory = &mut self.shared.bytes;
        let is_load = matches!(bulk.end, End::Barrier(_));
        if is_load && runs.iter().map(|run| run.bytes).sum::<u32>() < bulk.copy.bytes() {
            let chunks = bulk.copy.chunks().into_iter();
            chunks.for_each(|(address, bytes)| memory[address as usize..][..bytes as usize].fill(0));
        }
        for run in runs.iter() {
            let Ok(allocation) = grid.memory.find(run.global) else { continue };
            if let Some(Reduce { apply, width }) = bulk.copy.reduce {
                for at in (0..u64::from(run.bytes)).step_by(width as usize) {
                    let value = get_bytes(memory, shared + at, width);
                    replace(grid, allocation, run.global + at, width, |old| apply(old, value, 0));
                }
                continue;
            }
            let address_of = |offset: u32| swizzle.apply(shared + u64::from(offset)) as usize;
            match is_load {
                true => get_run(allocation, run, memory, address_of),
                false => put_run(allocation, run, memory, address_of),
            }
        }
    }
}
