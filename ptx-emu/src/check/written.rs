//! Reads of memory that nobody wrote.

use super::{Discovery, Observed, What};
use crate::finding::{FindingKind, plural};
use crate::lanes::lanes_of;
use crate::registers::LANES;

/// A word of which all bytes are written.
const WHOLE: u8 = 0b1111;

/// Which bytes were written.
#[derive(Debug)]
pub(super) struct Written {
    /// By word, one bit per byte.
    words: Vec<u8>,
    /// Words that are not yet whole: without any, nothing is left to look for.
    left: usize,
}

impl Written {
    pub(super) fn new(bytes: usize) -> Self {
        let words = vec![0; bytes.div_ceil(4)];
        Self { left: words.len(), words }
    }

    /// Forgets everything.
    pub(super) fn start(&mut self) {
        self.words.fill(0);
        self.left = self.words.len();
    }

    /// Notes what is written, and finds the first lane that reads what was not. Accesses are aligned; they lie at `places`.
    pub(super) fn access(&mut self, access: &Observed<'_>, space: &str, places: &[u64; LANES]) -> Option<Discovery> {
        if self.left == 0 {
            return None;
        }
        let bytes = access.bytes as usize;
        let mut first = None;
        for lane in lanes_of(access.mask) {
            let place = places[lane] as usize;
            let mask = if bytes < 4 { ((1 << bytes) - 1) << (place % 4) } else { WHOLE };
            let words = &mut self.words[place / 4..][..bytes.div_ceil(4)];
            if access.kind.reads() && first.is_none() && words.iter().any(|word| word & mask != mask) {
                first = Some(lane);
            }
            if access.kind.writes() {
                for word in words.iter_mut().filter(|word| **word & mask != mask) {
                    *word |= mask;
                    self.left -= usize::from(*word == WHOLE);
                }
            }
        }
        let lane = first?;
        let address = access.addresses[lane];
        let bytes = plural(access.bytes, "byte");
        let what = What::Text(format!("reads {bytes} of {space} memory at {address:#x} that nobody wrote"));
        Some(Discovery { kind: FindingKind::Uninitialized, lane, other: None, what })
    }
}
