//! The 64-bit state of an mbarrier. The PTX ISA does not specify its encoding.

/// Arrivals and bytes of a phase at most.
const MAX: u32 = (1 << 20) - 1;

/// Magic bits of an initialised mbarrier.
const MARK: u64 = 1 << 63;

const PHASE: u64 = 1 << 62;

/// An mbarrier. Its phase completes when no arrivals and no bytes are pending.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mbarrier {
    /// Pending arrivals, and the arrivals expected per phase.
    pending: u32,
    expected: u32,
    /// The tx-count: pending bytes; negative if bytes completed before they were expected.
    bytes: i32,
    phase: bool,
}

impl Mbarrier {
    pub(crate) fn new(count: u32) -> Result<Self, String> {
        if count == 0 || count > MAX {
            return Err(format!("it expects {count} arrivals; the count is 1 to {MAX}"));
        }
        Ok(Self { pending: count, expected: count, bytes: 0, phase: false })
    }

    /// Decodes an mbarrier, if initialised.
    pub(crate) fn from_bits(bits: u64) -> Option<Self> {
        let bytes = (bits >> 40 & 0x3f_ffff) as i32 - (1 << 21);
        let (pending, expected) = (bits as u32 & MAX, (bits >> 20) as u32 & MAX);
        (bits & MARK != 0).then_some(Self { pending, expected, bytes, phase: phase(bits) })
    }

    pub(crate) fn to_bits(self) -> u64 {
        let bytes = (self.bytes + (1 << 21)) as u64;
        let phase = if self.phase { PHASE } else { 0 };
        u64::from(self.pending) | u64::from(self.expected) << 20 | bytes << 40 | phase | MARK
    }

    /// Pending arrivals, pending bytes, and the parity of the phase.
    pub(crate) fn counts(self) -> (u32, i32, bool) {
        (self.pending, self.bytes, self.phase)
    }

    /// Adds to the tx-count.
    pub(crate) fn expect(&mut self, bytes: i64) -> Result<(), String> {
        let sum = i64::from(self.bytes) + bytes;
        if sum.unsigned_abs() > MAX.into() {
            return Err(format!("{sum} bytes are pending; at most {MAX} can be"));
        }
        self.bytes = sum as i32;
        Ok(())
    }

    /// `count` arrivals; with `drop`, also for all later phases.
    pub(crate) fn arrive(&mut self, count: u32, drop: bool) -> Result<(), String> {
        if count == 0 || count > self.pending {
            return Err(format!("{count} arrivals, but {} pending", self.pending));
        }
        self.pending -= count;
        self.expected -= if drop { count.min(self.expected) } else { 0 };
        Ok(())
    }

    /// Increments the pending count of this phase.
    pub(crate) fn add(&mut self) {
        self.pending = (self.pending + 1).min(MAX);
    }

    /// Completes the phase if nothing is pending. Whether it did.
    pub(crate) fn try_complete(&mut self) -> bool {
        let is_complete = self.pending == 0 && self.bytes == 0;
        if is_complete {
            self.pending = self.expected;
            self.phase = !self.phase;
        }
        is_complete
    }

    /// Whether the phase of this state is complete.
    pub(crate) fn is_past(self, bits: u64) -> bool {
        self.phase != phase(bits)
    }

    /// Whether the phase of that parity is complete.
    pub(crate) fn is_past_parity(self, parity: u32) -> bool {
        self.phase != (parity & 1 != 0)
    }
}

fn phase(bits: u64) -> bool {
    bits & PHASE != 0
}

/// The arrivals expected per phase, in an encoded state.
pub(crate) fn pending(bits: u64) -> u32 {
    bits as u32 & MAX
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phase_ends_when_all_have_arrived_and_all_bytes_have() {
        let mut barrier = Mbarrier::new(3).unwrap();
        let first = barrier.to_bits();
        barrier.arrive(2, false).unwrap();
        barrier.expect(64).unwrap();
        barrier.arrive(1, false).unwrap();
        assert!(!barrier.try_complete() && !barrier.is_past(first) && barrier.is_past_parity(1));
        barrier.expect(-64).unwrap();
        assert!(barrier.try_complete() && !barrier.try_complete());
        assert!(barrier.is_past(first) && barrier.is_past_parity(0) && !barrier.is_past_parity(1));
        assert_eq!(pending(barrier.to_bits()), 3);
    }

    #[test]
    fn states_are_bits() {
        let mut barrier = Mbarrier::new(MAX).unwrap();
        barrier.expect(-i64::from(MAX)).unwrap();
        barrier.arrive(7, true).unwrap();
        assert_eq!(Mbarrier::from_bits(barrier.to_bits()), Some(barrier));
        assert_eq!(Mbarrier::from_bits(0), None);
    }

    #[test]
    fn who_drops_is_not_waited_for_again() {
        let mut barrier = Mbarrier::new(2).unwrap();
        barrier.arrive(1, true).unwrap();
        barrier.arrive(1, false).unwrap();
        assert!(barrier.try_complete());
        barrier.arrive(1, false).unwrap();
        assert!(barrier.try_complete() && barrier.is_past_parity(1));
        barrier.add();
        barrier.arrive(2, false).unwrap();
    }

    #[test]
    fn mistakes_have_words() {
        assert!(Mbarrier::new(0).is_err() && Mbarrier::new(1 << 20).is_err());
        let mut barrier = Mbarrier::new(1).unwrap();
        assert_eq!(barrier.arrive(2, false), Err("2 arrivals, but 1 pending".to_owned()));
        assert!(barrier.arrive(0, false).is_err() && barrier.expect(1 << 20).is_err());
    }
}
