//! What the checkers make of a cluster: its barrier orders what its blocks do, in shared and in global memory. Accesses to
//! another block's shared memory are not checked for races, nor for reading what nobody wrote.

use super::clocks::CLUSTER_BARRIER;
use super::events::EventId;
use super::{BlockChecks, GlobalRaces};

/// What blocks of a cluster have let each other know of global memory when they arrived at its barrier.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) enum ClusterEvent {
    /// Nobody has arrived.
    #[default]
    Nobody,
    /// All of it; `None` where there was too much to note.
    Told(Option<EventId>),
}

impl BlockChecks {
    /// A warp arrives at the barrier of the cluster that has opened `phase` times, as the first of its block or not.
    pub(crate) fn arrive_at_cluster(
        &mut self,
        all: Option<&GlobalRaces>,
        (warp, phase, is_first): (usize, u64, bool),
        event: &mut ClusterEvent,
    ) {
        let Some(clocks) = &mut self.clocks else { return };
        let barrier = CLUSTER_BARRIER + (phase % 2) as usize;
        if is_first {
            clocks.clear(barrier);
        }
        if let (Some(global), Some(all)) = (&mut self.global, all) {
            *event = ClusterEvent::Told(match *event {
                ClusterEvent::Nobody => global.tell(all, clocks, warp, None),
                ClusterEvent::Told(Some(before)) => global.tell(all, clocks, warp, Some(before)),
                ClusterEvent::Told(None) => None,
            });
        }
        clocks.arrive(barrier, warp);
    }

    /// A warp goes on that waited for the barrier of its cluster.
    pub(crate) fn pass_cluster(&mut self, all: Option<&GlobalRaces>, (warp, phase): (usize, u64), event: ClusterEvent) {
        let Some(clocks) = &mut self.clocks else { return };
        clocks.pass(CLUSTER_BARRIER + (phase % 2) as usize, warp);
        if let (Some(global), Some(all), ClusterEvent::Told(event)) = (&mut self.global, all, event) {
            global.learn(all, event);
        }
    }

    /// Another block has written so many bytes of this one's shared memory.
    pub(crate) fn written_by_other(&mut self, address: u64, bytes: u32) {
        if let Some(written) = &mut self.shared {
            written.note(address, bytes);
        }
    }
}
