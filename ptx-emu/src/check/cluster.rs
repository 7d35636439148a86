//! The cluster barrier, as the race checker sees it.

use super::BlockChecks;

impl BlockChecks {
    /// A warp arrives in that phase of the cluster barrier, as the first or not.
    pub(crate) fn arrive_at_cluster(&mut self, warp: usize, phase: u64, is_first: bool) {
        let Some(clocks) = &mut self.cluster.clocks else { return };
        let barrier = clocks.cluster_barrier(phase);
        if is_first {
            clocks.clear(barrier);
        }
        clocks.arrive(barrier, warp);
    }

    /// A warp resumes from the cluster barrier.
    pub(crate) fn pass_cluster(&mut self, warp: usize, phase: u64) {
        if let Some(clocks) = &mut self.cluster.clocks {
            clocks.pass(clocks.cluster_barrier(phase), warp);
        }
    }
}
