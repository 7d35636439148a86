//! What an access of a trace costs, by the rules of the counters.

use super::coalesce;
use crate::lanes::LANES;
use crate::trace::{Access, AccessKind};
use crate::types::Space;

/// Bytes that a lane accesses at most.
const MAX_BYTES: u32 = 32;

impl Access {
    /// Sectors of 32 bytes that the lanes of an access to global or local memory touch; `None` of other spaces, and of asynchronous
    /// copies, whose places are not the lanes'.
    #[must_use]
    pub fn sectors(&self) -> Option<u32> {
        let (addresses, mask) = self.by_lane()?;
        (self.space != Space::Shared).then(|| coalesce::sectors(&addresses, mask, self.bytes))
    }

    /// Wavefronts of an access: more than the minimum where lanes conflict in a bank. `None` where the lanes' addresses do not decide:
    /// of asynchronous copies, and of what tensor cores and `ldmatrix` read.
    #[must_use]
    pub fn wavefronts(&self) -> Option<u32> {
        let (addresses, mask) = self.by_lane()?;
        Some(match self.space {
            Space::Shared => coalesce::shared_wavefronts(&addresses, mask, self.bytes, self.kind == AccessKind::Read),
            _ => coalesce::global_wavefronts(&addresses, mask, self.bytes),
        })
    }

    /// The address of each lane, where each has one.
    fn by_lane(&self) -> Option<([u64; LANES], u32)> {
        let is_counted = matches!(self.space, Space::Global | Space::Shared | Space::Local);
        if self.is_async || !is_counted || !(1..=MAX_BYTES).contains(&self.bytes) {
            return None;
        }
        let (mut addresses, mut mask) = ([0; LANES], 0u32);
        for place in &self.places {
            let lane = usize::from(place.lane) % LANES;
            if mask >> lane & 1 != 0 {
                return None;
            }
            mask |= 1 << lane;
            addresses[lane] = place.address;
        }
        Some((addresses, mask))
    }
}
