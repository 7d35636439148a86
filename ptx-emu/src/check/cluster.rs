//! The cluster barrier, as the race checker sees it.

use super::{BlockChecks, ClusterChecks};

impl BlockChecks {
    /// A warp arrives in that phase of the cluster barrier, as the first or not. What a relaxed arrival releases are its
    /// fences.
    pub(crate) fn arrive_at_cluster(&mut self, warp: usize, phase: u64, is_first: bool, is_relaxed: bool) {
        let ClusterChecks { clocks: Some(clocks), fences, .. } = &mut self.cluster else { return };
        let barrier = clocks.cluster_barrier(phase);
        if is_first {
            clocks.clear(barrier);
        }
        if is_relaxed {
            fences.for_cluster_barrier(warp).for_each(|clock| clocks.arrive_with(barrier, clock));
        } else {
            clocks.arrive(barrier, warp);
        }
    }

    /// A warp resumes from the cluster barrier.
    pub(crate) fn pass_cluster(&mut self, warp: usize, phase: u64) {
        if let Some(clocks) = &mut self.cluster.clocks {
            clocks.pass(clocks.cluster_barrier(phase), warp);
        }
    }
}
