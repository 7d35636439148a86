//! `cp.async` copies in flight.

use crate::check::Since;
use crate::lanes::{LANES, Mask, lanes_of};
use crate::program::Pc;

/// The `cp.async` copies of a warp.
#[derive(Debug, Default)]
pub(crate) struct Copies {
    pub pending: Vec<PendingCopy>,
    /// By lane, groups committed.
    pub groups: [u32; LANES],
    /// By lane, groups of bulk copies committed.
    pub bulk_groups: [u32; LANES],
}

/// One instruction's copies.
#[derive(Debug)]
pub(crate) struct PendingCopy {
    pub pc: Pc,
    /// Lanes that have not waited for it.
    pub mask: Mask,
    pub from: [u64; LANES],
    pub to: [u64; LANES],
    /// By lane, bytes to read; and bytes to write.
    pub sizes: [u32; LANES],
    pub bytes: u32,
    /// By lane, the group that it belongs to.
    pub groups: [u32; LANES],
    pub since: Option<Since>,
}

impl Copies {
    /// Commits the group of each of these lanes.
    pub(crate) fn commit(&mut self, mask: Mask) {
        lanes_of(mask).for_each(|lane| self.groups[lane] += 1);
    }

    /// Those of these lanes whose copy is complete once all groups but the last `keep` are.
    pub(crate) fn due(&self, copy: &PendingCopy, mask: Mask, keep: Option<u32>) -> Mask {
        let is_due = |&lane: &usize| match keep {
            Some(keep) => u64::from(copy.groups[lane]) + u64::from(keep) < self.groups[lane].into(),
            None => true,
        };
        lanes_of(copy.mask & mask).filter(is_due).fold(0, |mask, lane| mask | 1 << lane)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pending(groups: [u32; LANES]) -> PendingCopy {
        let (from, to) = ([0; LANES], [0; LANES]);
        PendingCopy { pc: 0, mask: 0b11, from, to, sizes: [4; LANES], bytes: 4, groups, since: None }
    }

    #[test]
    fn each_lane_has_groups_of_its_own() {
        let mut copies = Copies::default();
        let copy = pending(copies.groups);
        assert_eq!(copies.due(&copy, 0b11, Some(0)), 0, "its group is still open");
        assert_eq!(copies.due(&copy, 0b110, None), 0b10);
        copies.commit(0b01);
        assert_eq!(copies.due(&copy, 0b11, Some(0)), 0b01);
        assert_eq!(copies.due(&copy, 0b11, Some(1)), 0);
        copies.commit(0b11);
        assert_eq!([0, 1, 2, u32::MAX].map(|keep| copies.due(&copy, 0b11, Some(keep))), [0b11, 0b01, 0, 0]);
    }
}
