//! Blocks that end while others of their cluster may still access their shared memory: it belongs to another block then.

use crate::check::{Discovery, What};
use crate::exec::memory::Request;
use crate::exec::state::{Grid, Origin, Site, Visit, Warp};
use crate::finding::{FindingKind, Rank};
use crate::lanes::{LANES, Mask, lanes_of};

impl Site {
    /// Lanes access another block's shared memory.
    pub(crate) fn visit(&mut self, warp: &Warp, request: &Request, mask: Mask) {
        let (Some(rank), Some(time)) = (request.remote, self.checks.time(warp.number)) else { return };
        let arrived = lanes_of(mask).map(|lane| warp.arrivals[lane]).max().unwrap_or(0);
        let (pc, lane) = (request.pc, mask.trailing_zeros() as usize % LANES);
        let visit = Visit { pc, lane, time, phase: arrived.max(self.cluster.phase) };
        self.cluster.visits.insert((rank, warp.number), visit);
    }

    /// The block ends, with that instruction: it has waited at the cluster barrier after each access, even if what that did was not
    /// released there, or it has acquired it.
    pub(super) fn check_visits(&mut self, grid: &Grid<'_>, Origin { warp, lane, pc }: Origin) {
        let (rank, joined) = (self.rank, self.cluster.joined[self.rank]);
        let visits = self.cluster.visits.range((rank, 0)..(rank + 1, 0)).map(|(&(_, by), &visit)| (by, visit));
        let mut open =
            visits.filter(|&(by, visit)| visit.phase >= joined && !self.checks.is_known_at_end(rank, by, visit.time));
        let Some((by, visit)) = open.next() else { return };
        let other = &grid.program.instructions[visit.pc];
        let thread = grid.thread_of(grid.cluster_of(self.index), by * LANES + visit.lane);
        let what = format!(
            "its block ends; nothing orders that after the access to its shared memory by {thread} in line {}, `{}`",
            other.line, other.mnemonic
        );
        let (kind, rank, other, what) = (FindingKind::Race, Rank::Error, Some(visit.pc), What::Text(what));
        self.report(grid, pc, warp, Discovery { kind, rank, lane, other, what });
    }
}
