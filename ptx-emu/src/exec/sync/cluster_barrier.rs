//! The barrier of a cluster: `barrier.cluster`.

use crate::exec::state::{Grid, Origin, Site, Split, Wait, Warp};
use crate::lanes::{LANES, Mask, lanes_of};
use crate::program::ClusterBarrier;
use crate::trace::Event;

impl Site {
    /// Lanes arrive at the cluster barrier, or wait for it.
    pub(crate) fn cluster_barrier_wait(
        &mut self,
        grid: &Grid<'_>,
        warp: &mut Warp,
        index: usize,
        barrier: &ClusterBarrier,
    ) {
        let Split { pc, mask, .. } = warp.splits[index];
        let phase = self.cluster.phase;
        let has_arrived = |&lane: &usize| warp.arrivals[lane] != 0;
        let what =
            if barrier.waits { "waits here without having arrived" } else { "arrives again without having waited" };
        if let Some(lane) = lanes_of(mask).find(|lane| has_arrived(lane) != barrier.waits) {
            self.complain(grid, Origin { warp: warp.number, lane, pc }, format!("it {what} at the cluster barrier"));
        }
        if !barrier.waits {
            lanes_of(mask).for_each(|lane| warp.arrivals[lane] = phase + 1);
            let is_first = std::mem::replace(&mut self.cluster.next, phase + 1) != phase + 1;
            self.checks.arrive_at_cluster(warp.number, phase, is_first, barrier.is_relaxed);
            self.cluster.arrived += mask.count_ones();
            let (arrived, expected) = (self.cluster.arrived, self.cluster.live());
            grid.event(|| Event::ClusterArrived { arrived, expected });
            (warp.splits[index].pc, warp.splits[index].wait) = (pc + 1, Wait::Nothing);
            self.try_complete_cluster(grid);
            return self.release(grid, warp);
        }
        // The phase is complete for lanes that arrived in an earlier one.
        let is_past = |&lane: &usize| (1..=phase).contains(&warp.arrivals[lane]);
        let past = lanes_of(mask).filter(is_past).fold(0, |mask, lane| mask | 1 << lane);
        if past != 0 {
            self.pass_cluster(warp.number, phase - 1);
            lanes_of(past).for_each(|lane| warp.arrivals[lane] = 0);
        }
        let split = &mut warp.splits[index];
        if past == mask {
            (split.pc, split.wait) = (pc + 1, Wait::Nothing);
            return;
        }
        (split.mask, split.wait) = (mask & !past, Wait::Cluster(phase));
        if past != 0 {
            warp.splits.push(Split { pc: pc + 1, mask: past, wait: Wait::Nothing });
        }
    }

    /// A warp passes the cluster barrier of that phase.
    pub(super) fn pass_cluster(&mut self, warp: usize, phase: u64) {
        self.cluster.joined[self.rank] = self.cluster.joined[self.rank].max(phase + 1);
        self.checks.pass_cluster(warp, phase);
    }

    /// Lanes exit: the cluster barrier neither expects nor counts them.
    pub(crate) fn exit_cluster(&mut self, grid: &Grid<'_>, arrivals: &[u64; LANES], mask: Mask) {
        let arrived = lanes_of(mask).filter(|&lane| arrivals[lane] > self.cluster.phase).count();
        self.cluster.arrived = self.cluster.arrived.saturating_sub(arrived as u32);
        self.cluster.live[self.rank] -= mask.count_ones();
        self.try_complete_cluster(grid);
    }

    fn try_complete_cluster(&mut self, grid: &Grid<'_>) {
        let phase = self.cluster.phase;
        self.cluster.try_complete();
        if self.cluster.phase != phase {
            grid.event(|| Event::ClusterCompleted);
        }
    }
}
