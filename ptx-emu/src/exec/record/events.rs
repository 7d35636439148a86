//! What happens besides registers and memory.

use crate::exec::state::{End, Grid, PendingBulk, PendingCopy, Site};
use crate::finding::Finding;
use crate::lanes::{LANES, Mask, lanes_of};
use crate::ops::mbarrier::Mbarrier;
use crate::trace::{AsyncCopy, CopyKind, Event, WarpId};

impl Grid<'_> {
    /// Records an event, if there is a recording.
    #[inline]
    pub(crate) fn event(&self, event: impl FnOnce() -> Event) {
        if let Some(recording) = &self.recording {
            recording.event(event());
        }
    }
}

impl Site {
    /// Lanes arrived at a barrier of the block.
    pub(crate) fn record_arrival(&self, grid: &Grid<'_>, id: usize, waits: bool) {
        let (arrived, expected) = (self.barriers[id].arrived, self.barriers[id].expected);
        let expected = if expected == 0 { self.live } else { expected };
        grid.event(|| Event::BarrierArrived { id: id as u32, arrived, expected, waits });
    }

    /// The state of an mbarrier has changed; whether its phase completes.
    pub(crate) fn record_mbarrier(&self, grid: &Grid<'_>, address: u64, state: Mbarrier, completes: bool) {
        let (pending, bytes, phase) = state.counts();
        let block = || self.block_at_hand(grid);
        grid.event(|| Event::MbarrierArrived { block: block(), address, pending, bytes });
        if completes {
            grid.event(|| Event::MbarrierCompleted { block: block(), address, parity: phase.into() });
        }
    }

    /// An mbarrier was initialised.
    pub(crate) fn record_init(&self, grid: &Grid<'_>, address: u64, count: u32) {
        grid.event(|| Event::MbarrierInit { block: self.block_at_hand(grid), address, count });
    }

    /// Lanes asked for phases of mbarriers, which are complete for those of `past`.
    pub(crate) fn record_tests(&self, grid: &Grid<'_>, addresses: &[u64; LANES], lanes: Mask, past: Mask) {
        let mut rest = if grid.recording.is_some() { lanes } else { 0 };
        while rest != 0 {
            let address = addresses[rest.trailing_zeros() as usize];
            let same = lanes_of(rest).filter(|&lane| addresses[lane] == address).fold(0, |mask, lane| mask | 1 << lane);
            let block = self.block_at_hand(grid);
            grid.event(|| Event::MbarrierTested { block, address, lanes: same, complete: past & same });
            rest &= !same;
        }
    }

    /// Copies of lanes by `cp.async` were issued, or complete.
    pub(crate) fn record_copies(&self, grid: &Grid<'_>, warp: usize, copy: &PendingCopy, lanes: Mask, ends: bool) {
        grid.event(|| {
            let first = lanes.trailing_zeros() as usize % LANES;
            let copy = AsyncCopy {
                kind: CopyKind::Async,
                line: grid.program.instructions[copy.pc].line,
                warp: self.warp_id(grid, warp),
                lanes,
                bytes: copy.bytes * lanes.count_ones(),
                block: self.index,
                shared: copy.to[first],
                global: (copy.sizes[first] > 0).then_some(copy.from[first]),
                barrier: None,
            };
            if ends { Event::CopyCompleted(copy) } else { Event::CopyIssued(copy) }
        });
    }

    /// A bulk copy to or from the shared memory at hand was issued, or completes.
    pub(crate) fn record_transfer(&self, grid: &Grid<'_>, bulk: &PendingBulk, ends: bool) {
        grid.event(|| {
            let (kind, barrier) = match bulk.end {
                End::Barrier(barrier) => (CopyKind::BulkLoad, Some(barrier)),
                End::Group(_) => (CopyKind::BulkStore, None),
            };
            let copy = AsyncCopy {
                kind,
                line: grid.program.instructions[bulk.pc].line,
                warp: self.warp_id(grid, bulk.warp),
                lanes: 1 << bulk.lane,
                bytes: bulk.copy.bytes(),
                block: self.block_at_hand(grid),
                shared: bulk.copy.shared,
                global: bulk.copy.runs.first().map(|run| run.global),
                barrier,
            };
            if ends { Event::CopyCompleted(copy) } else { Event::CopyIssued(copy) }
        });
    }

    /// A checker found something.
    pub(crate) fn record_finding(&self, grid: &Grid<'_>, finding: &Finding) {
        grid.event(|| Event::Found(finding.clone()));
    }

    /// A warp, given by its index in the cluster.
    fn warp_id(&self, grid: &Grid<'_>, number: usize) -> WarpId {
        let block = grid.block_of(grid.cluster_of(self.index), number / grid.warps());
        WarpId { block, warp: (number % grid.warps()) as u32 }
    }
}
