//! The barriers of a block.

use crate::program::{Pc, Reduction};

/// Barriers that a block has.
pub(crate) const BARRIERS: usize = 16;

/// Completed phases whose reduction results are kept, for warps that have not resumed.
const RESULTS: u64 = 4;

/// State of one barrier.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct BarrierState {
    /// Threads that have arrived in this phase.
    pub arrived: u32,
    /// Threads expected; 0 for all that have not exited.
    pub expected: u32,
    /// Phases completed.
    pub phase: u64,
    /// First thread that arrived, and its instruction.
    pub first: Option<(usize, Pc)>,
    /// Warps that wait, as a bit mask.
    pub waiters: u32,
    /// Arrived threads whose predicate is true.
    pub holds: u32,
    /// Results of the last phases: threads whose predicate was true, and threads.
    pub results: [(u32, u32); RESULTS as usize],
}

/// An arrival of a warp's threads.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Arrival {
    /// First of them, and its instruction.
    pub first: (usize, Pc),
    pub warp: usize,
    pub threads: u32,
    /// Threads that the barrier expects; 0 for all.
    pub expected: u32,
    /// Threads whose predicate is true.
    pub holds: u32,
    pub waits: bool,
}

impl BarrierState {
    pub(crate) fn arrive(&mut self, arrival: Arrival) {
        self.arrived += arrival.threads;
        self.expected = arrival.expected;
        self.holds += arrival.holds;
        self.waiters |= u32::from(arrival.waits) << arrival.warp;
        self.first.get_or_insert(arrival.first);
    }

    /// Completes the phase if all expected threads have arrived, of `live` threads that have not exited. Returns the
    /// warps that wait.
    pub(crate) fn try_complete(&mut self, live: u32) -> Option<u32> {
        let expected = if self.expected == 0 { live } else { self.expected };
        if self.arrived == 0 || self.arrived < expected {
            return None;
        }
        let (waiters, mut results) = (self.waiters, self.results);
        results[(self.phase % RESULTS) as usize] = (self.holds, self.arrived);
        *self = Self { phase: self.phase + 1, results, ..Self::default() };
        Some(waiters)
    }

    /// The reduction result of phase number `phase`.
    pub(crate) fn reduced(&self, reduction: Reduction, phase: u64) -> u32 {
        let (holds, threads) = self.results[(phase % RESULTS) as usize];
        match reduction {
            Reduction::Count => holds,
            Reduction::And => u32::from(holds == threads),
            Reduction::Or => u32::from(holds > 0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn warp(warp: usize, expected: u32, holds: u32) -> Arrival {
        Arrival { first: (32 * warp, 7), warp, threads: 32, expected, holds, waits: true }
    }

    #[test]
    fn opens_when_all_have_arrived() {
        let mut barrier = BarrierState::default();
        assert_eq!(barrier.try_complete(64), None);
        barrier.arrive(warp(0, 0, 32));
        assert_eq!(barrier.try_complete(64), None);
        barrier.arrive(warp(1, 0, 1));
        assert_eq!(barrier.first, Some((0, 7)));
        assert_eq!(barrier.try_complete(64), Some(0b11));
        assert_eq!((barrier.phase, barrier.reduced(Reduction::Count, 0)), (1, 33));
        assert_eq!((barrier.reduced(Reduction::And, 0), barrier.reduced(Reduction::Or, 0)), (0, 1));
        assert_eq!(barrier.try_complete(64), None);
    }

    #[test]
    fn opens_when_those_that_are_missing_have_left() {
        let mut barrier = BarrierState::default();
        barrier.arrive(warp(0, 0, 0));
        assert_eq!(barrier.try_complete(32), Some(1));
        barrier.arrive(warp(0, 64, 0));
        assert_eq!(barrier.try_complete(32), None, "a count is a count");
    }

    #[test]
    fn who_only_arrives_does_not_wait() {
        let mut barrier = BarrierState::default();
        barrier.arrive(Arrival { waits: false, ..warp(0, 64, 0) });
        barrier.arrive(warp(2, 64, 0));
        assert_eq!(barrier.try_complete(96), Some(0b100));
    }

    #[test]
    fn results_outlast_the_next_opening() {
        let mut barrier = BarrierState::default();
        for holds in [5, 6] {
            barrier.arrive(warp(0, 32, holds));
            assert_eq!(barrier.try_complete(96), Some(1));
        }
        assert_eq!([0, 1].map(|phase| barrier.reduced(Reduction::Count, phase)), [5, 6]);
    }
}
