//! The barriers of a block.

use crate::program::Reduction;

/// Barriers that a block has.
pub(super) const BARRIERS: usize = 16;

/// One barrier: who has arrived since it last opened.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct BarrierState {
    /// Threads that have arrived.
    arrived: u32,
    /// Threads that must; 0 for all that have not left the kernel.
    expected: u32,
    /// How often it has opened.
    pub phase: u64,
    /// Threads whose predicate holds, of those that have arrived.
    holds: u32,
    /// What came out when it last opened: threads whose predicate held, of how many.
    result: (u32, u32),
    /// Warps that have arrived.
    pub warps: u32,
}

impl BarrierState {
    /// Threads of a warp arrive, with how many of them a predicate holds for.
    pub(super) fn arrive(&mut self, warp: usize, threads: u32, expected: Option<u32>, holds: u32) {
        self.arrived += threads;
        self.expected = expected.unwrap_or(0);
        self.holds += holds;
        self.warps |= 1 << warp;
    }

    /// Whether some wait for all threads of the block.
    pub(super) fn is_for_all(&self) -> bool {
        self.arrived > 0 && self.expected == 0
    }

    /// Opens the barrier if everybody has arrived. `live` threads have not left the kernel. Returns the warps that it
    /// was opened for.
    pub(super) fn try_open(&mut self, live: u32) -> Option<u32> {
        let expected = if self.expected == 0 { live } else { self.expected };
        if self.arrived == 0 || self.arrived < expected {
            return None;
        }
        let warps = self.warps;
        *self = Self { phase: self.phase + 1, result: (self.holds, self.arrived), ..Self::default() };
        Some(warps)
    }

    /// What a reduction came to when the barrier last opened.
    pub(super) fn reduced(&self, reduction: Reduction) -> u32 {
        let (holds, threads) = self.result;
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

    #[test]
    fn opens_when_all_have_arrived() {
        let mut barrier = BarrierState::default();
        assert_eq!(barrier.try_open(64), None);
        barrier.arrive(0, 32, None, 32);
        assert_eq!(barrier.try_open(64), None);
        barrier.arrive(1, 32, None, 1);
        assert_eq!(barrier.try_open(64), Some(0b11));
        assert_eq!((barrier.phase, barrier.reduced(Reduction::Count), barrier.reduced(Reduction::And)), (1, 33, 0));
        assert_eq!(barrier.try_open(64), None);
    }

    #[test]
    fn opens_when_those_that_are_missing_have_left() {
        let mut barrier = BarrierState::default();
        barrier.arrive(0, 32, None, 0);
        assert_eq!(barrier.try_open(32), Some(1));
        barrier.arrive(0, 32, Some(64), 0);
        assert_eq!(barrier.try_open(32), None, "a count is a count");
    }
}
